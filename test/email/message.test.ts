/** Composed mails, the texts of reminders and alerts, and the meaning of SMTP replies. */
import { generateKeyPairSync } from "node:crypto"
import fc from "fast-check"
import { dkimVerify } from "mailauth"
import PostalMime from "postal-mime"
import { describe, expect, it } from "vitest"
import { messageComposer, encodeSubject } from "../../adapters/providers/mailer/message-composer.ts"
import { deliveryAnswerFromError } from "../../adapters/providers/mailer/smtp-answers.ts"
import {
  type MessageCopy,
  type MessageContent,
  UnsignedMail,
} from "../../adapters/providers/mailer/port.ts"
import type { Reminder } from "../../src/charging/reactions.ts"
import { reminderText, lowFundsText } from "../../src/charging/reactions.ts"
import { simulatedMailOperations } from "../../src/email/operate/emails.ts"

const pair = generateKeyPairSync("rsa", {
  modulusLength: 2_048,
  publicKeyEncoding: { type: "spki", format: "der" },
  privateKeyEncoding: { type: "pkcs8", format: "pem" },
})

const SIGNER = { domain: "mail.example.com", selector: "cp1", privateKey: pair.privateKey }
const RECORD = `v=DKIM1; k=rsa; p=${pair.publicKey.toString("base64")}`
const CONTENT: MessageContent = {
  mailId: "mail_1",
  from: { name: "Acme", address: "a@mail.example.com" },
  replyTo: null,
  subject: "Hello",
  text: "Hi",
  html: null,
  date: Date.UTC(2026, 10, 24),
}

const COPY: MessageCopy = {
  to: { name: "", address: "ada@example.com" },
  messageId: "<1.0@mail.example.com>",
  unsubscribeUrl: null,
}

async function bytesOf(
  content: Partial<MessageContent> = {},
  copy: Partial<MessageCopy> = {},
): Promise<Buffer> {
  const copyFor = await messageComposer.compose({ ...CONTENT, ...content })
  return messageComposer.sign(copyFor({ ...COPY, ...copy }), SIGNER)
}

async function verdictOf(bytes: Buffer): Promise<string | undefined> {
  const resolver = async (name: string) => {
    expect(name).toBe("cp1._domainkey.mail.example.com")
    return [[RECORD]]
  }
  const { results } = await dkimVerify(bytes, { resolver })
  return results[0]?.status.result
}

const words = fc.string({ unit: "grapheme", minLength: 1, maxLength: 120 })
const line = words.map((text) => text.replaceAll(/\p{Cc}/gu, "")).filter((text) => text !== "")

describe("a composed mail", () => {
  it("passes DKIM with any content, sender and recipient", async () => {
    await fc.assert(
      fc.asyncProperty(line, words, words, line, async (subject, text, html, name) => {
        const from = { name, address: "a@mail.example.com" }
        const to = { name, address: "ada@example.com" }
        const bytes = await bytesOf({ subject, text, html, from }, { to })
        expect(await verdictOf(bytes)).toBe("pass")
        const parsed = await PostalMime.parse(bytes)
        expect(parsed.subject).toBe(subject)
        expect(parsed.from?.address).toBe("a@mail.example.com")
        expect(parsed.to?.map(({ address }) => address)).toEqual(["ada@example.com"])
      }),
      { numRuns: 60 },
    )
  }, 60_000)

  it("is the same when composed again, and names only its recipient", async () => {
    const html = "<p>Hi</p>"
    const [one, again] = await Promise.all([bytesOf({ html }), bytesOf({ html })])
    expect(one?.equals(again ?? Buffer.alloc(0))).toBe(true)
    const other = await bytesOf({ html }, { to: { name: "", address: "bob@example.com" } })
    expect(other.toString()).not.toContain("ada@example.com")
  })

  it("includes the unsubscribe link in its signature", async () => {
    const bytes = await bytesOf({}, { unsubscribeUrl: "https://ledger.test/u/1.0.ab" })
    const { results } = await dkimVerify(bytes, { resolver: async () => [[RECORD]] })
    expect(results[0]?.status.result).toBe("pass")
    const signed = (results[0]?.signingHeaders?.keys ?? "").toLowerCase()
    expect(signed).toContain("list-unsubscribe-post")
    expect(bytes.toString()).toContain("List-Unsubscribe: <https://ledger.test/u/1.0.ab>\r\n")
  })

  it.each(["not a key", ""])("is not sent unsigned: %j", async (privateKey) => {
    const copyFor = await messageComposer.compose(CONTENT)
    const signing = messageComposer.sign(copyFor(COPY), { ...SIGNER, privateKey })
    await expect(signing).rejects.toThrow(UnsignedMail)
  })

  it("is not sent with an Ed25519 signature, which receivers do not check", async () => {
    const { privateKey } = generateKeyPairSync("ed25519", {
      publicKeyEncoding: { type: "spki", format: "pem" },
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
    })
    const copyFor = await messageComposer.compose(CONTENT)
    const signing = messageComposer.sign(copyFor(COPY), { ...SIGNER, privateKey })
    await expect(signing).rejects.toThrow(UnsignedMail)
  })

  it.each(["x".repeat(998), "漢".repeat(998), "😀".repeat(998), "=?UTF-8?Q?a?=", " edges "])(
    "keeps its subject exactly, in short lines: %#",
    async (subject) => {
      const bytes = await bytesOf({ subject })
      expect((await PostalMime.parse(bytes)).subject).toBe(subject)
      const longest = Math.max(
        ...bytes
          .toString()
          .split("\r\n")
          .map((one) => one.length),
      )
      expect(longest).toBeLessThanOrEqual(998)
      const lines = encodeSubject(subject).split("\r\n")
      expect(Math.max(...lines.map((one) => one.length))).toBeLessThanOrEqual(76)
    },
  )

  it("does not load a file that its text names", async () => {
    const text = "file:///etc/passwd"
    const parsed = await PostalMime.parse(await bytesOf({ text }))
    expect(parsed.text?.trim()).toBe(text)
  })
})

const REMINDER: Reminder = {
  at: Date.UTC(2026, 10, 21, 12, 30, 59, 999),
  holder: "company",
  holderId: null,
  class: "ai",
  period: "month",
  limitMicros: 50_000_000,
  reminderMicros: 40_000_000,
  usedMicros: 40_009_000,
  windowStart: Date.UTC(2026, 10, 1),
  resetsAt: Date.UTC(2026, 11, 1),
}

const COMPANY = { company: "acme", holder: null }

describe("a reminder", () => {
  it("names the holder, the reminder, the spending and the reset of the limit", () => {
    expect(reminderText(REMINDER, COMPANY)).toEqual({
      subject: "acme used $40.009 of the $50.00 monthly limit for AI spending",
      text: [
        "Spending has reached one of your reminders.",
        "",
        "Company: acme",
        "Limit: monthly limit for AI spending of the company",
        "Reminder at: $40.00",
        "Reached: 2026-11-21 12:30 UTC",
        "Used at that time: $40.009",
        "Limit: $50.00",
        "Left: $9.991",
        "Resets: 2026-12-01 00:00 UTC",
        "",
        "This is only a reminder and stops nothing: spending goes on until the limit is used up.",
      ].join("\n"),
    })
  })

  it.each([
    ["day", "all", "daily limit for all spending"],
    ["week", "general", "weekly limit for general spending"],
    ["month", "ai", "monthly limit for AI spending"],
  ] as const)("of a %s limit for %s spending names both", (period, counted, limit) => {
    const reminder = { ...REMINDER, holder: "key", holderId: "key_1", period, class: counted }
    const names = { company: "acme", holder: 'the key "laptop" (key_1)' }
    const { subject, text } = reminderText(reminder as Reminder, names)
    expect(subject).toBe(`acme: the key "laptop" (key_1) used $40.009 of the $50.00 ${limit}`)
    expect(text).toContain(`Limit: ${limit} of the key "laptop" (key_1)`)
  })

  it.each([50_000_000, 50_000_001])(
    "of an exhausted limit (%i) says that it is used up",
    (usedMicros) => {
      const { text } = reminderText({ ...REMINDER, usedMicros }, COMPANY)
      expect(text).toContain("\nLeft: $0.00\n")
      expect(text).toMatch(/The limit is used up: no more spending passes it until it resets/)
    },
  )

  it("keeps every name on one line, in the subject and in the text", () => {
    const names = { company: "acme", holder: "Ada\r\nBcc: eve@example.com\u2028x\0y" }
    const { subject, text } = reminderText(REMINDER, names)
    expect(subject).toContain("acme: Ada Bcc: eve@example.com x y used")
    expect(text.split("\n").filter((one) => one.startsWith("Bcc"))).toEqual([])
    expect(text).not.toMatch(/[\r\0\u2028]/)
    expect(text.split("\n")).toHaveLength(12)
  })
})

const LOW = {
  at: Date.UTC(2026, 10, 21, 12, 30, 59, 999),
  belowMicros: 20_000_000,
  fundsMicros: 19_991_000,
}

it("an alert of low funds names the company, the funds, the threshold and the time", () => {
  expect(lowFundsText(LOW, "acme")).toEqual({
    subject: "acme: funds are $19.991, below $20.00",
    text: [
      "The funds are below your alert threshold.",
      "",
      "Company: acme",
      "Funds: $19.991",
      "Alert below: $20.00",
      "Since: 2026-11-21 12:30 UTC",
      "",
      "This is only an alert and stops nothing.",
      "You get the next alert after the funds have reached $20.00 and fallen below it again.",
    ].join("\n"),
  })
})

it("an alert of funds below zero writes the sign once", () => {
  const { subject } = lowFundsText({ ...LOW, fundsMicros: -500_000 }, "acme")
  expect(subject).toBe("acme: funds are -$0.50, below $20.00")
})

it("an alert keeps the company's name on one line", () => {
  const { subject, text } = lowFundsText(LOW, "acme\r\nBcc: eve@example.com")
  expect(subject).toBe("acme Bcc: eve@example.com: funds are $19.991, below $20.00")
  expect(text.split("\n")).toHaveLength(9)
})

describe("an SMTP reply", () => {
  it.each([
    ["DATA", 354, "unknown"],
    ["DATA", 250, "unknown"],
    ["DATA", 421, "deferred"],
    ["DATA", 451, "deferred"],
    ["DATA", 554, "refused"],
    ["MAIL FROM", 450, "deferred"],
    ["MAIL FROM", 550, "refused"],
    ["RCPT TO", 450, "deferred"],
    ["RCPT TO", 550, "rejected"],
    ["EHLO", 550, "deferred"],
  ])("to %s of %i means %s", (command, responseCode, answer) => {
    const error = { command, responseCode, response: `${responseCode} no` }
    expect(deliveryAnswerFromError(error)).toMatchObject({ answer })
  })

  it.each([
    [{ code: "ECONNECTION", originalCode: "ECONNREFUSED" }, "deferred"],
    [{ code: "EDNS", originalCode: "ENOTFOUND" }, "deferred"],
    [{ code: "ECONNECTION", originalCode: "EAI_AGAIN" }, "deferred"],
    [{ code: "ETIMEDOUT", timeoutType: "GREETING_TIMEOUT" }, "deferred"],
    [{ code: "ETIMEDOUT", timeoutType: "SOCKET_TIMEOUT" }, "unknown"],
    [{ code: "ECONNECTION", originalCode: "ECONNRESET", command: "DATA" }, "unknown"],
  ])("that never arrived, with the error %j, means %s", (error, answer) => {
    expect(deliveryAnswerFromError(error)).toMatchObject({ answer })
  })
})

const PLAIN = { isTTY: false, columns: 80 }
const [list] = simulatedMailOperations

function shown(result: object): string {
  if (list?.render === undefined) throw new Error("mail list has no table")
  return list.render(result, PLAIN)
}

describe("mail list", () => {
  it("prints a line per mail, without its text", () => {
    const mail = { companyId: "co_1", mailId: "mail_1", text: "many\nlines", status: "sent" }
    const at = "2026-11-21T12:00:00.000Z"
    const mails = [
      { ...mail, to: "ada@example.com, bob@example.com", subject: "acme: reminder", at },
      { ...mail, to: "", subject: null, at, status: "bounced" },
    ]
    expect(shown({ mails })).toBe(
      "at                        to                                subject         status\n" +
        `${at}  ada@example.com, bob@example.com  acme: reminder  sent\n` +
        `${at}                                    -               bounced\n`,
    )
  })

  it("says if there are no mails", () => {
    expect(shown({ mails: [] })).toBe("No mails.\n")
  })
})
