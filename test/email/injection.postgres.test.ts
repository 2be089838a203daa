/** What callers write into a mail to reach others than they pay for, before a real server of mail. */
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
  stand.rules = {}
  stand.asked.recipients.length = 0
})
afterAll(async () => {
  await world.close()
  await stand.close()
})

const arrived = () => stand.arrived.filter(({ from }) => from.endsWith(company.domain))

/** Each reaches, or is read by, somebody else in one mail program or another. */
const addresses = (ours: string) => [
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
  `a@${ours}, b@evil.example`,
  `"a@${ours}" b@evil.example`,
  `x\r\nTo: e@x.example <a@${ours}>`,
  `a@${ours}\r\nReply-To: evil@example.org`,
  `=?utf-8?q?a?= <a@${ours}> <b@evil.example>`,
]

const stand = await openSmtpServer()
world = await openWorld("start", { rateLimits: "off", settings: { MAIL_URL: stand.url } })

describe("an address that is more than one", () => {
  it.each(addresses("mail.example").map((_text, n) => n))(
    "is 400 in every field, charges nothing and asks for nobody: %#",
    async (n) => {
      const text = addresses(company.domain)[n] ?? expect.fail("there is one")
      const { connections } = stand.asked
      const mails = [{ from: text }, { to: text }, { to: [ADA, text] }, { replyTo: text }]
      for (const mail of mails) {
        const { status, body } = await postMail(world, company, mail)
        expect([mail, status, body.error]).toEqual([mail, 400, "validation"])
      }
      expect(await chargeAmountsOf(world, company)).toEqual([])
      expect(stand.asked).toEqual({ connections, recipients: [] })
    },
  )
})

describe("a subject of more than a line", () => {
  it.each(["a\r\nBcc: evil@example.org", "a\nb", "a\r", "a\0", "a\u0085b", "a\u001bb"])(
    "is 400: %j",
    async (subject) => {
      const { status, body } = await postMail(world, company, { subject })
      expect([status, Object.keys(body.fields)]).toEqual([400, ["subject"]])
      expect(await chargeAmountsOf(world, company)).toEqual([])
      expect(stand.asked.recipients).toEqual([])
    },
  )
})

describe("what a mail says", () => {
  const talk = "\r\n.\r\nMAIL FROM:<evil@example.org>\r\nRCPT TO:<eve@example.org>\r\nDATA\r\n"
  it.each([
    talk,
    talk.replaceAll("\r\n", "\n"),
    talk.replaceAll("\r\n", "\r"),
    "\n.\r\n",
    "\r\n.\n",
    "Bcc: evil@example.org\r\n\r\nHi",
    "--=_mail\r\nContent-Type: text/html\r\n\r\n<b>",
  ])("ends no mail and begins none: %j", async (said) => {
    const html = `<p>${said}</p>`
    const sent = await postMail(world, company, { text: `a${said}b`, html })
    expect(sent.body.queued).toEqual([ADA])
    expect(stand.asked.recipients).toEqual([ADA])
    expect(arrived()).toHaveLength(1)
    const read = await PostalMime.parse(arrived()[0]?.bytes ?? "")
    expect([read.bcc, read.attachments, read.to?.map(({ address }) => address)]).toEqual([
      undefined,
      [],
      [ADA],
    ])
    const lines = (text: string | undefined) => text?.replaceAll(/\r\n?/g, "\n").trimEnd()
    expect(lines(read.text)).toBe(lines(`a${said}b`))
    expect(lines(read.html)).toBe(lines(html))
  })

  it("stays out of the header, also as a name", async () => {
    const name = "Eve, Bcc: evil@example.org;"
    const from = `"${name}" <hello@${company.domain}>`
    expect((await postMail(world, company, { from, to: `"${name}" <${ADA}>` })).status).toBe(200)
    const read = await PostalMime.parse(arrived()[0]?.bytes ?? "")
    expect(read.from).toEqual({ name, address: `hello@${company.domain}` })
    expect(read.to).toEqual([{ name, address: ADA }])
    expect(stand.asked.recipients).toEqual([ADA])
  })
})

describe("many recipients", () => {
  const many = (count: number) => Array.from({ length: count }, (_, n) => `a${n}@example.com`)

  it("are each charged and written to once, however they are written", async () => {
    const to = many(10).flatMap((one) => {
      const local = one.split("@")[0]
      const domain = "bücher.example"
      const ways = [`${local}@${domain}`, `${local?.toUpperCase()}@${domain.toUpperCase()}`]
      return [...ways, `x <${local}@xn--bcher-kva.example>`, one, one.toUpperCase()]
    })
    expect(to).toHaveLength(50)
    expect((await postMail(world, company, { to })).body.queued).toHaveLength(20)
    expect(stand.asked.recipients).toHaveLength(20)
    expect(new Set(stand.asked.recipients.map((one) => one.toLowerCase())).size).toBe(20)
    expect(await chargeAmountsOf(world, company)).toMatchObject([{ micros: 20 * RECIPIENT_MICROS }])
  })

  it("get no second mail by the same request again, after silence and a restart either", async () => {
    const to = many(3)
    stand.rules = { data: (one) => (one === to[1] ? "cut" : null) }
    const headers = { "idempotency-key": "again" }
    const first = await postMail(world, company, { to }, headers)
    expect(first.body.queued).toEqual(to)
    stand.rules = {}
    expect((await postMail(world, company, { to }, headers)).body).toEqual(first.body)
    world = await world.restart()
    expect((await postMail(world, company, { to }, headers)).body).toEqual(first.body)
    await world.operate("clock advance", { duration: "16m" })
    expect((await postMail(world, company, { to }, headers)).body.queued).toEqual(to)
    const copies = to.map((one) => arrived().filter((mail) => mail.to === one))
    // Cut off were all talks that were under way with the one that it meant, so those may have two.
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
