/** The domain rules of mails, mailboxes and suppressions. */
import { describe, expect, it } from "vitest"
import type { MailEvent, MailOutcome } from "../../domain/email/mail-events.ts"
import {
  type MailCommand,
  type MailView,
  mailDecider,
  viewOfMail,
} from "../../domain/email/mail.ts"
import type { AddressTag } from "../../domain/email/ids.ts"
import { domainToASCII } from "node:url"
import fc from "fast-check"
import { normalizedAddress, formatMailbox, parseMailbox } from "../../domain/email/mailbox.ts"
import type { SuppressionCommand } from "../../domain/email/suppressions.ts"
import {
  isSuppressed,
  isUnsubscribeOffered,
  suppressionsDecider,
  suppressionsCheckpoint,
  isDeadAddressCode,
} from "../../domain/email/suppressions.ts"
import { parseBounceStatus } from "../../adapters/providers/mailer/bounce-listener.ts"
import { deliveryAnswerFromError } from "../../adapters/providers/mailer/smtp-answers.ts"

const MAIL_ID = "mail_1" as const
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const ACCEPT: MailCommand = {
  type: "AcceptMail",
  mailId: MAIL_ID,
  chargeId: "chg_1",
  keyId: null,
  personId: null,
  sendingDomainId: "sdom_1",
  from: "s1.company.a",
  bodyHash: "ab",
  hasUnsubscribe: false,
  recipients: [0, 1].map((recipientIndex) => ({
    recipientIndex,
    to: "s1.ab.a",
    tag: `a${recipientIndex}` as AddressTag,
  })),
}

class Mailing {
  #state = mailDecider.initial()
  at = 0

  execute(command: MailCommand): readonly MailEvent[] | string {
    const decided = mailDecider.decide(command, this.#state, { at: this.at })
    if (!Array.isArray(decided)) return (decided as { code: string }).code
    for (const event of decided as readonly MailEvent[])
      this.#state = mailDecider.evolve(this.#state, event)
    return decided as readonly MailEvent[]
  }

  progress(recipientIndex: number, result: MailOutcome["result"], code: string | null = null) {
    return this.execute({
      type: "RecordMailOutcomes",
      mailId: MAIL_ID,
      outcomes: [{ recipientIndex, result, code }],
    })
  }

  get view(): MailView {
    return viewOfMail(this.#state) ?? expect.fail("the mail was not accepted")
  }

  copy(n: number) {
    return this.view.copies[n] ?? expect.fail("the mail has no such copy")
  }
}

function accepted(): Mailing {
  const mailing = new Mailing()
  mailing.execute(ACCEPT)
  return mailing
}

describe("a mail", () => {
  it("is accepted once", () => {
    const mailing = new Mailing()
    expect(mailing.progress(0, "delivered")).toBe("no_mail")
    expect(mailing.execute(ACCEPT)).toHaveLength(1)
    expect(mailing.execute(ACCEPT)).toEqual([])
    expect(mailing.execute({ type: "AbandonMail", mailId: MAIL_ID })).toEqual([])
  })

  it("cannot be accepted after it was abandoned", () => {
    const mailing = new Mailing()
    expect(mailing.execute({ type: "AbandonMail", mailId: MAIL_ID })).toHaveLength(1)
    expect(mailing.execute(ACCEPT)).toBe("no_mail")
  })

  it("is retried after 1, 5 and 15 minutes, an hour and then every four hours, and bounces after 72 hours", () => {
    const mailing = accepted()
    const waits: number[] = []
    while (mailing.copy(0).status !== "bounced") {
      mailing.progress(0, "deferred", "451")
      const { dueAt } = mailing.copy(0)
      if (dueAt === null) break
      waits.push(dueAt - mailing.at)
      mailing.at = dueAt
    }
    expect(waits.slice(0, 6).map((ms) => ms / MINUTE)).toEqual([1, 5, 15, 60, 240, 240])
    expect(mailing.copy(0)).toMatchObject({ status: "bounced", code: "4.4.7", dueAt: null })
    expect(mailing.at).toBeGreaterThanOrEqual(72 * HOUR)
    expect(mailing.at).toBeLessThan(77 * HOUR)
  })

  it("with an unknown outcome is retried once, after 15 minutes", () => {
    const mailing = accepted()
    mailing.progress(0, "unknown")
    expect(mailing.copy(0).dueAt).toBe(15 * MINUTE)
    mailing.at = 15 * MINUTE
    mailing.progress(0, "unknown")
    expect(mailing.copy(0).dueAt).toBeNull()
    expect(mailing.progress(0, "delivered")).toEqual([])
    expect(mailing.view.isChargeSettled).toBe(true)
  })

  it("keeps a copy's final status", () => {
    const mailing = accepted()
    mailing.progress(0, "delivered")
    expect(mailing.progress(0, "bounced", "550")).toEqual([])
    expect(mailing.copy(0).status).toBe("delivered")
  })

  it("is rejected if no recipient has it", () => {
    const mailing = accepted()
    mailing.progress(0, "bounced", "550")
    mailing.execute({ type: "RefuseMail", mailId: MAIL_ID, recipientIndexes: [1], code: "554" })
    expect(mailing.view).toMatchObject({ refused: "554", isChargeSettled: false })
    expect(mailing.view.copies.map(({ dueAt }) => dueAt)).toEqual([null, null])
    expect(mailing.progress(1, "delivered")).toEqual([])
  })

  it.each(["delivered", "relayed", "unknown"] as const)(
    "bounces for the other recipients if one copy is %s",
    (result) => {
      const mailing = accepted()
      mailing.progress(0, result)
      mailing.execute({ type: "RefuseMail", mailId: MAIL_ID, recipientIndexes: [1], code: "554" })
      expect(mailing.view).toMatchObject({ refused: null, isChargeSettled: true })
      expect(mailing.copy(1)).toMatchObject({ status: "bounced", code: "554" })
    },
  )

  it("is settled once a recipient has it or all bounced", () => {
    const mailing = accepted()
    mailing.progress(0, "deferred", "451")
    expect(mailing.view.isChargeSettled).toBe(false)
    mailing.progress(1, "bounced", "550")
    expect(mailing.view.isChargeSettled).toBe(false)
    mailing.progress(0, "bounced", "550")
    expect(mailing.view.isChargeSettled).toBe(true)
  })

  it("bounces once, only from a recipient who seemed to have it", () => {
    const mailing = accepted()
    const bounce = { type: "BounceMail", mailId: MAIL_ID, code: "5.1.1" } as const
    expect(mailing.execute({ ...bounce, recipientIndex: 0 })).toEqual([])
    mailing.progress(0, "relayed")
    expect(mailing.execute({ ...bounce, recipientIndex: 0 })).toHaveLength(1)
    expect(mailing.execute({ ...bounce, recipientIndex: 0 })).toEqual([])
    expect(mailing.execute({ ...bounce, recipientIndex: 7 })).toEqual([])
  })
})

describe("a copy that bounces after delivery", () => {
  const bounce: MailCommand = {
    type: "BounceMail",
    mailId: MAIL_ID,
    recipientIndex: 0,
    code: "5.1.1",
  }

  it("is not sent again, even if its outcome was unknown", () => {
    const mailing = accepted()
    mailing.progress(0, "unknown")
    expect(mailing.execute(bounce)).toHaveLength(1)
    expect(mailing.copy(0)).toMatchObject({ status: "returned", dueAt: null })
    expect(mailing.execute(bounce)).toEqual([])
  })

  it("is returned, even if a retry was deferred after an unknown outcome", () => {
    const mailing = accepted()
    mailing.progress(0, "unknown")
    mailing.progress(0, "deferred", "451")
    expect(mailing.execute(bounce)).toHaveLength(1)
    expect(mailing.copy(0)).toMatchObject({ status: "returned", dueAt: null })
  })

  it("is ignored if no attempt can have reached the recipient", () => {
    const mailing = accepted()
    expect(mailing.execute(bounce)).toEqual([])
    mailing.progress(0, "deferred", "451")
    expect(mailing.execute(bounce)).toEqual([])
  })
})

const parse = (text: string) => parseMailbox(text, domainToASCII)

describe("a mailbox", () => {
  it.each([
    ["ada@example.com", null, "ada@example.com"],
    ["  ada@example.com ", null, "ada@example.com"],
    ["Ada Lovelace <ada@example.com>", "Ada Lovelace", "ada@example.com"],
    ['"Lovelace, Ada" <ada@example.com>', "Lovelace, Ada", "ada@example.com"],
    ['"a \\"b\\" \\\\ c" <ada@example.com>', 'a "b" \\ c', "ada@example.com"],
    ["J. Doe 漢 <ada@example.com>", "J. Doe 漢", "ada@example.com"],
    ["<ada@example.com>", null, "ada@example.com"],
    ["Ada+Tag@Example.COM", null, "Ada+Tag@example.com"],
    ["ada@bücher.example", null, "ada@xn--bcher-kva.example"],
  ])("is parsed: %s", (text, name, address) => {
    const domain = address.slice(address.indexOf("@") + 1)
    expect(parse(text)).toEqual({ name, address, domain })
  })

  it.each([
    "",
    "ada",
    "@example.com",
    "ada@",
    "ada@localhost",
    "ada@[127.0.0.1]",
    "ada@127.0.0.1",
    "all: a@example.com, b@example.com;",
    "a@example.com, b@example.com",
    "a@b@example.com",
    "a@example.com> SIZE=1\r\nRCPT TO:<b@example.com>",
    "a..b@example.com",
    ".a@example.com",
    "a\r\nBcc: b@example.com <a@example.com>",
    "a b@example.com",
    '"a b"@example.com',
    "a@exa mple.com",
    "a@example..com",
    "a@-example.com",
    "a@example.com.",
    "a@ex%61mple.com",
    "a@0x7f.1",
    "a@example.com/b",
    "ä@example.com",
    "a\u202e <a@example.com>",
    "a\0@example.com",
    "a@ours.example, b@evil.example <a@ours.example>",
    "a (b) <a@example.com>",
    "a <a@example.com> b",
    "a <b <a@example.com>",
    'a "b" <a@example.com>',
    "a\u2028@example.com",
    `${"a".repeat(65)}@example.com`,
    `a@${"b".repeat(64)}.com`,
    `a@${"b.".repeat(126)}com`,
    "a@example.c_m",
    "a@ex\u00adample.com",
  ])("is rejected: %j", (text) => {
    expect(parse(text)).toBeNull()
  })

  it("has the same normalized address in every spelling", () => {
    const spellings = ["Ada@Bücher.example", "x <aDA@XN--BCHER-KVA.example>"]
    const keys = spellings.map((text) => normalizedAddress(parse(text) ?? expect.fail(text)))
    expect(keys).toEqual(Array(2).fill("ada@xn--bcher-kva.example"))
  })

  it("survives formatting and parsing", () => {
    const name = fc.option(fc.string({ unit: "grapheme", minLength: 1, maxLength: 30 }))
    fc.assert(
      fc.property(name, (displayName) => {
        const text = formatMailbox({
          name: displayName,
          address: "a@example.com",
          domain: "example.com",
        })
        const found = parse(text)
        // A name that cannot be formatted is rejected, never parsed as another address.
        if (found !== null) expect(found.address).toBe("a@example.com")
        if (found !== null && found.name !== null)
          expect(parse(formatMailbox(found))).toEqual(found)
      }),
    )
  })
})

const TAG = "aa" as AddressTag

function after(...commands: readonly SuppressionCommand[]) {
  const counts: number[] = []
  const state = commands.reduce((known, command) => {
    const events = suppressionsDecider.decide(command, known, { at: 0 })
    if (!Array.isArray(events)) throw new Error("the command was rejected")
    counts.push(events.length)
    return events.reduce(suppressionsDecider.evolve, known)
  }, suppressionsDecider.initial())
  return { state: suppressionsCheckpoint.load(suppressionsCheckpoint.save(state)), counts }
}

const suppress = (sendingDomainId: string | null): SuppressionCommand => ({
  type: "SuppressRecipient",
  tag: TAG,
  to: "s1.aa.a",
  reason: "bounced",
  sendingDomainId,
})

const LIFT: SuppressionCommand = { type: "LiftSuppression", tag: TAG }

describe("a suppression", () => {
  it("covers one sending domain or all", () => {
    const { state } = after(suppress("sdom_1"))
    expect(isSuppressed(TAG, "sdom_1")(state)).toBe(true)
    expect(isSuppressed(TAG, "sdom_2")(state)).toBe(false)
    expect(isSuppressed(TAG, "sdom_2")(after(suppress(null)).state)).toBe(true)
    expect(isSuppressed("bb" as AddressTag, "sdom_1")(state)).toBe(false)
  })

  it("is recorded once, and lifted for all domains", () => {
    const { state, counts } = after(
      suppress("sdom_1"),
      suppress("sdom_1"),
      suppress(null),
      LIFT,
      LIFT,
    )
    expect(counts).toEqual([1, 0, 1, 1, 0])
    expect(isSuppressed(TAG, "sdom_1")(state)).toBe(false)
  })

  it("is offered by unsubscribe links only if they are switched on", () => {
    const switchTo = (isOn: boolean): SuppressionCommand => {
      return { type: "SwitchUnsubscribe", sendingDomainId: "sdom_1", isOn }
    }
    const { state, counts } = after(switchTo(false), switchTo(true), switchTo(true))
    expect(counts).toEqual([0, 1, 0])
    expect(isUnsubscribeOffered("sdom_1")(state)).toBe(true)
    expect(isUnsubscribeOffered("sdom_1")(after(switchTo(true), switchTo(false)).state)).toBe(false)
  })
})

const answerTo = (command: string, response: string) =>
  deliveryAnswerFromError({ command, response, responseCode: Number(response.slice(0, 3)) })

describe("an address", () => {
  it.each(["5.1.1", "5.1.2", "5.1.10", "5.2.1", "550", "551", "553", "556"])(
    "is dead for code %s",
    (code) => {
      expect(isDeadAddressCode(code)).toBe(true)
    },
  )

  it.each([
    "5.2.2",
    "5.2.3",
    "5.7.1",
    "5.4.4",
    "4.4.7",
    "552",
    "554",
    "suppressed",
    "policy",
    null,
  ])("may be alive for code %s", (code) => {
    expect(isDeadAddressCode(code)).toBe(false)
  })
})

describe("a rejection of the recipient without an enhanced status code", () => {
  it.each([
    ["550 no such user", "550"],
    ["550 relaying is not allowed", "policy"],
    ["553 blocked, see our policy", "policy"],
    ["554 blocked", "554"],
  ])("%s gets the code %s", (response, code) => {
    expect(answerTo("RCPT TO", response)).toEqual({ answer: "rejected", code })
  })
})

describe("a report with the generic status 5.0.0", () => {
  const report = (diagnostic: string) => {
    const fields = `Reporting-MTA: dns; a.test\r\n\r\nAction: failed\r\nStatus: 5.0.0\r\nDiagnostic-Code: ${diagnostic}\r\n`
    const head = "Content-Type: multipart/report; report-type=delivery-status; boundary=b"
    const part = `--b\r\nContent-Type: message/delivery-status\r\n\r\n${fields}\r\n--b--\r\n`
    return Buffer.from(`MIME-Version: 1.0\r\n${head}\r\n\r\n${part}`)
  }
  it.each([
    ["smtp; 550 user unknown", "550"],
    ["smtp;550-5.1.1 user unknown", "5.1.1"],
    ["smtp; 550 blocked by policy", "policy"],
    ["smtp; 554 no", "554"],
    ["x-unix; unknown user", "5.0.0"],
  ])("gets the code of its diagnostic: %s", async (diagnostic, code) => {
    expect(await parseBounceStatus(report(diagnostic))).toBe(code)
  })
})
