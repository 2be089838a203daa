/** Sending by a relay, which is a real SMTP server: its mails, their copies and their charges. */
import { dkimVerify } from "mailauth"
import PostalMime from "postal-mime"
import { afterAll, beforeEach, describe, expect, it } from "vitest"
import { addPerson, ownWorld } from "../support/world.ts"
import { chargeAmountsOf } from "../phone/text-requests.ts"
import {
  type MailingCompany,
  RECIPIENT_MICROS,
  makeMailingCompany,
  postMail,
} from "./mail-world.ts"
import { openSmtpServer } from "./smtp-server.ts"

const smtp = await openSmtpServer()
afterAll(() => smtp.close())
const settings = { MAIL_URL: smtp.url, MAIL_FROM: "Ledger <ledger@ledger.example>" }
const world = await ownWorld("settings", { rateLimits: "off", settings })
let company: MailingCompany
beforeEach(async () => {
  company = await makeMailingCompany(world)
  smtp.rules = {}
})

const NOTHING = { delivered: [], queued: [], bounced: [] }
const many = (count: number) => Array.from({ length: count }, (_, n) => `a${n}@example.com`)
const advance = (duration: string) => world.operate("clock advance", { duration })
const arrived = () => smtp.arrived.filter(({ from }) => from.endsWith(company.domain))
const expectCharge = async (recipients: number) =>
  expect(await chargeAmountsOf(world, company)).toEqual([
    { micros: recipients * RECIPIENT_MICROS, state: "final" },
  ])

describe("a relay", () => {
  it("gets a signed mail for each recipient that names no other; its acceptance means queued", async () => {
    const to = many(3)
    const sent = await postMail(world, company, { to, replyTo: "x@example.org" })
    expect(sent.body).toEqual({ ...NOTHING, queued: to })
    await expectCharge(3)
    expect(
      arrived()
        .map((one) => one.to)
        .toSorted(),
    ).toEqual(to)
    const record = [[`v=DKIM1; k=rsa; p=${company.publicKey}`]]
    for (const { from, to: one, bytes } of arrived()) {
      expect(from).toMatch(/^b\.[0-9A-Za-z]+\.\d\.[0-9a-f]{10}@cp-bounce\.mail\./)
      const { results } = await dkimVerify(bytes, { resolver: async () => record })
      expect(results[0]?.status.result).toBe("pass")
      const text = bytes.toString()
      expect(text).toContain(`\r\nTo: ${one}\r\n`)
      for (const other of to) if (other !== one) expect(text).not.toContain(other)
    }
  })

  it("gets a mail whose signature is valid with any line endings in its bodies", async () => {
    const text = "one\rtwo\r\nthree\nfour"
    const html = "<p>one\rtwo</p>\r\r<p>three</p>"
    await postMail(world, company, { text, html })
    const [mail] = arrived()
    const bytes = mail?.bytes ?? Buffer.alloc(0)
    const record = [[`v=DKIM1; k=rsa; p=${company.publicKey}`]]
    const { results } = await dkimVerify(bytes, { resolver: async () => record })
    expect(results[0]?.status.result).toBe("pass")
    expect(bytes.toString()).not.toMatch(/\r(?!\n)|(?<!\r)\n/)
    const parsed = await PostalMime.parse(bytes)
    expect(parsed.text?.trimEnd()).toBe("one\ntwo\nthree\nfour")
    expect(parsed.html?.trimEnd()).toBe("<p>one\ntwo</p>\n\n<p>three</p>")
  })

  it("that rejects 49 of 50 recipients gets one mail, and all are charged", async () => {
    smtp.rules = { recipient: (address) => (address.startsWith("a7@") ? null : 550) }
    const to = many(50)
    const { body } = await postMail(world, company, { to })
    expect(body.queued).toEqual(["a7@example.com"])
    expect(body.bounced).toHaveLength(49)
    expect(arrived()).toHaveLength(1)
    await expectCharge(50)
  })

  it.each([
    ...["550 5.1.1 no such user", "550 no such user", "550 5.2.1 switched off"].map(
      (answer) => [answer, true] as const,
    ),
    ...["552 5.2.2 mailbox full", "550 5.7.1 not wanted here", "550 relay denied"].map(
      (answer) => [answer, false] as const,
    ),
  ])("that rejects a recipient with `%s` causes a suppression: %s", async (answer, isDead) => {
    smtp.rules = { recipient: () => answer }
    const { body } = await postMail(world, company, { to: ["gone@example.com"] })
    expect(body.bounced).toEqual(["gone@example.com"])
    await expectCharge(1)
    await world.operate("wait")
    const named = { company: company.companyId }
    const { suppressions } = await world.operate("suppression list", named)
    const dead = { email: "gone@example.com", reason: "bounced", sendingDomainId: null }
    expect(suppressions).toMatchObject(isDead ? [dead] : [])
    expect(suppressions).toHaveLength(isDead ? 1 : 0)
  })

  it("that rejects an unknown recipient after the data causes a suppression", async () => {
    smtp.rules = { data: () => "550 5.1.1 no such user" }
    const { status, body } = await postMail(world, company)
    expect([status, body.bounced]).toEqual([200, ["ada@example.com"]])
    await world.operate("wait")
    const { suppressions } = await world.operate("suppression list", { company: company.companyId })
    expect(suppressions).toHaveLength(1)
  })

  it("that rejects the sender causes not_sent, without a connection for each recipient", async () => {
    smtp.rules = { sender: () => 550 }
    const before = smtp.activity.recipients.length
    const { status, body } = await postMail(world, company, { to: many(50) })
    expect([status, body.error]).toEqual([400, "not_sent"])
    expect(smtp.activity.recipients).toHaveLength(before)
    expect(await chargeAmountsOf(world, company)).toMatchObject([{ state: "given_back" }])
  })

  it("that accepts one recipient and rejects the rest causes bounces for the rest", async () => {
    smtp.rules = { data: (to) => (to === "a0@example.com" ? null : 554) }
    const { status, body } = await postMail(world, company, { to: many(3) })
    const rest = ["a1@example.com", "a2@example.com"]
    expect([status, body]).toEqual([200, { ...NOTHING, queued: ["a0@example.com"], bounced: rest }])
    await expectCharge(3)
  })

  it("that stops answering for half of the recipients gets at most one more copy, of the same bytes", async () => {
    const isSilent = (to: string) => Number(to.slice(1, to.indexOf("@"))) % 2 === 1
    smtp.rules = { data: (to) => (isSilent(to) ? "cut" : null) }
    const headers = { "idempotency-key": "half" }
    const to = many(8)
    const first = await postMail(world, company, { to }, headers)
    expect(first.body).toEqual({ ...NOTHING, queued: to })
    const copies = () => arrived().filter((one) => one.bytes.length > 0)
    const before = copies().length
    await postMail(world, company, { to }, headers)
    await advance("14m")
    expect(copies()).toHaveLength(before)
    await advance("1m")
    await advance("73h")
    for (const one of to) {
      const got = copies().filter((copy) => copy.to === one)
      expect(got.length).toBeLessThanOrEqual(2)
      expect(new Set(got.map(({ bytes }) => bytes.toString())).size).toBeLessThanOrEqual(1)
    }
    await expectCharge(8)
    const { jobs } = await world.operate("job list")
    expect(jobs.filter((row: { stuck: string | null }) => row.stuck !== null)).toMatchObject([
      { kind: "hand-mail", companyId: company.companyId },
    ])
  })

  it("sends the program's own mails once to each person", async () => {
    const { personId } = await addPerson(world, company, {
      email: "ada@people.example",
      role: "owner",
    })
    smtp.rules = { recipient: (address) => (address === "ada@people.example" ? 451 : null) }
    const mail = { mailId: "mail_own", companyId: company.companyId, subject: "Hi", text: "Hi" }
    const [owner, ada] = [company.ownerId, personId]
    const recipients = [
      { personId: owner, address: "owner@people.example" },
      { personId: ada, address: "ada@people.example" },
    ]
    const send = () => world.ports.mailer.sendSystemMail({ ...mail, about: null, recipients })
    await expect(send()).rejects.toThrow("accepted nothing")
    smtp.rules = {}
    expect(await send()).toEqual({ answer: "accepted" })
    expect(await send()).toEqual({ answer: "accepted" })
    const systemMails = smtp.arrived.filter(({ from }) => from === "ledger@ledger.example")
    expect(systemMails.map(({ to }) => to).toSorted()).toEqual([
      "ada@people.example",
      "owner@people.example",
    ])
  })
})
