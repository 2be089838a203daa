/** Attempts to reach more recipients than are paid for, by the content of a mail, against a real SMTP server. */
import PostalMime from "postal-mime"
import { afterAll, beforeEach, describe, expect, it } from "vitest"
import { chargeAmountsOf } from "../phone/text-requests.ts"
import { type World, openWorld } from "../support/world.ts"
import {
  type MailingCompany,
  RECIPIENT_MICROS,
  makeMailingCompany,
  postMail,
} from "./mail-world.ts"
import { openSmtpServer } from "./smtp-server.ts"

const ADA = "ada@example.com"
let world: World
let company: MailingCompany
beforeEach(async () => {
  company = await makeMailingCompany(world)
  smtp.rules = {}
  smtp.activity.recipients.length = 0
})
afterAll(async () => {
  await world.close()
  await smtp.close()
})

const arrived = () => smtp.arrived.filter(({ from }) => from.endsWith(company.domain))

/** Each reaches another recipient in one mail program or another. */
const addresses = (ownDomain: string) => [
  "all: a@example.com, b@example.com;",
  "x@example.com, z@example.com",
  "a@b@example.com",
  "x@example.com> SIZE=1\r\nRCPT TO:<evil@example.org>",
  "x@example.com\r\nBcc: evil@example.org",
  "x@example.com\nDATA",
  "a@[127.0.0.1]",
  "a@localhost",
  "a..b@example.com",
  `${"a".repeat(65)}@example.com`,
  "a\u202e@example.com",
  "a\0@example.com",
  "ä@example.com",
  "<@route.example:a@example.com>",
  `a@${ownDomain}, b@evil.example`,
  `"a@${ownDomain}" b@evil.example`,
  `x\r\nTo: e@x.example <a@${ownDomain}>`,
  `a@${ownDomain}\r\nReply-To: evil@example.org`,
  `=?utf-8?q?a?= <a@${ownDomain}> <b@evil.example>`,
]

const smtp = await openSmtpServer()
world = await openWorld("start", { rateLimits: "off", settings: { MAIL_URL: smtp.url } })

describe("an address that is more than one", () => {
  it.each(addresses("mail.example").map((_text, n) => n))(
    "is 400 in every field, charges nothing and contacts no server: %#",
    async (n) => {
      const text = addresses(company.domain)[n] ?? expect.fail("no such address")
      const { connections } = smtp.activity
      const mails = [{ from: text }, { to: text }, { to: [ADA, text] }, { replyTo: text }]
      for (const mail of mails) {
        const { status, body } = await postMail(world, company, mail)
        expect([mail, status, body.error]).toEqual([mail, 400, "validation"])
      }
      expect(await chargeAmountsOf(world, company)).toEqual([])
      expect(smtp.activity).toEqual({ connections, recipients: [] })
    },
  )
})

describe("a subject of more than one line", () => {
  it.each(["a\r\nBcc: evil@example.org", "a\nb", "a\r", "a\0", "a\u0085b", "a\u001bb"])(
    "is 400: %j",
    async (subject) => {
      const { status, body } = await postMail(world, company, { subject })
      expect([status, Object.keys(body.fields)]).toEqual([400, ["subject"]])
      expect(await chargeAmountsOf(world, company)).toEqual([])
      expect(smtp.activity.recipients).toEqual([])
    },
  )
})

describe("a mail's text", () => {
  const commands = "\r\n.\r\nMAIL FROM:<evil@example.org>\r\nRCPT TO:<eve@example.org>\r\nDATA\r\n"
  it.each([
    commands,
    commands.replaceAll("\r\n", "\n"),
    commands.replaceAll("\r\n", "\r"),
    "\n.\r\n",
    "\r\n.\n",
    "Bcc: evil@example.org\r\n\r\nHi",
    "--=_mail\r\nContent-Type: text/html\r\n\r\n<b>",
  ])("neither ends the mail nor starts another: %j", async (content) => {
    const html = `<p>${content}</p>`
    const sent = await postMail(world, company, { text: `a${content}b`, html })
    expect(sent.body.queued).toEqual([ADA])
    expect(smtp.activity.recipients).toEqual([ADA])
    expect(arrived()).toHaveLength(1)
    const parsed = await PostalMime.parse(arrived()[0]?.bytes ?? "")
    expect([parsed.bcc, parsed.attachments, parsed.to?.map(({ address }) => address)]).toEqual([
      undefined,
      [],
      [ADA],
    ])
    const lines = (text: string | undefined) => text?.replaceAll(/\r\n?/g, "\n").trimEnd()
    expect(lines(parsed.text)).toBe(lines(`a${content}b`))
    expect(lines(parsed.html)).toBe(lines(html))
  })

  it("cannot add header fields by a display name", async () => {
    const name = "Eve, Bcc: evil@example.org;"
    const from = `"${name}" <hello@${company.domain}>`
    expect((await postMail(world, company, { from, to: `"${name}" <${ADA}>` })).status).toBe(200)
    const parsed = await PostalMime.parse(arrived()[0]?.bytes ?? "")
    expect(parsed.from).toEqual({ name, address: `hello@${company.domain}` })
    expect(parsed.to).toEqual([{ name, address: ADA }])
    expect(smtp.activity.recipients).toEqual([ADA])
  })
})

describe("many recipients", () => {
  const many = (count: number) => Array.from({ length: count }, (_, n) => `a${n}@example.com`)

  it("are each charged and written to once, however they are spelled", async () => {
    const to = many(10).flatMap((one) => {
      const local = one.split("@")[0]
      const domain = "bücher.example"
      const spellings = [`${local}@${domain}`, `${local?.toUpperCase()}@${domain.toUpperCase()}`]
      return [...spellings, `x <${local}@xn--bcher-kva.example>`, one, one.toUpperCase()]
    })
    expect(to).toHaveLength(50)
    expect((await postMail(world, company, { to })).body.queued).toHaveLength(20)
    expect(smtp.activity.recipients).toHaveLength(20)
    expect(new Set(smtp.activity.recipients.map((one) => one.toLowerCase())).size).toBe(20)
    expect(await chargeAmountsOf(world, company)).toMatchObject([{ micros: 20 * RECIPIENT_MICROS }])
  })

  it("get no second mail from a retried request, even after an unknown outcome and a restart", async () => {
    const to = many(3)
    smtp.rules = { data: (one) => (one === to[1] ? "cut" : null) }
    const headers = { "idempotency-key": "again" }
    const first = await postMail(world, company, { to }, headers)
    expect(first.body.queued).toEqual(to)
    smtp.rules = {}
    expect((await postMail(world, company, { to }, headers)).body).toEqual(first.body)
    world = await world.restart()
    expect((await postMail(world, company, { to }, headers)).body).toEqual(first.body)
    await world.operate("clock advance", { duration: "16m" })
    expect((await postMail(world, company, { to }, headers)).body.queued).toEqual(to)
    const copies = to.map((one) => arrived().filter((mail) => mail.to === one))
    // The cut ends all open sessions, so other recipients may have two copies.
    expect(Math.max(...copies.map(({ length }) => length))).toBeLessThanOrEqual(2)
    for (const same of copies) {
      expect(new Set(same.map(({ bytes }) => bytes.toString())).size).toBe(1)
    }
    expect(copies[1]).toHaveLength(2)
    expect(await chargeAmountsOf(world, company)).toEqual([
      { micros: 3 * RECIPIENT_MICROS, state: "final" },
    ])
  })
})
