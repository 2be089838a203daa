/** Sending by the simulated mailer: answers, charges and copies. */
import { afterEach, describe, expect, it } from "vitest"
import { unsubscribeTokenOf } from "../../src/email/mail-copy-tokens.ts"
import { makeCompany, ownWorld } from "../support/world.ts"
import { chargeAmountsOf } from "../phone/text-requests.ts"
import {
  type MailingCompany,
  RECIPIENT_MICROS,
  setMailerOutcome,
  mailsOf,
  makeMailingCompany,
  postMail,
} from "./mail-world.ts"

const world = await ownWorld("time", { rateLimits: "off" })
const company = await makeMailingCompany(world)
afterEach(() => setMailerOutcome(world, "ok"))

const ADA = "ada@example.com"
const NOTHING = { delivered: [], queued: [], bounced: [] }
const advance = (duration: string) => world.operate("clock advance", { duration })
const statusesOf = async (of: MailingCompany) => {
  const { emails } = await world.operate("email list", { company: of.companyId })
  return emails.map(({ to, status, code }: Record<string, string>) => [to, status, code])
}

describe("a mail", () => {
  it("is delivered, charged for each recipient, and shown", async () => {
    const sender = await makeMailingCompany(world)
    const to = [ADA, "Bob <bob@example.com>"]
    const sent = await postMail(world, sender, { to, html: "<p>Hi</p>" })
    expect(sent.status).toBe(200)
    expect(sent.body).toEqual({ ...NOTHING, delivered: [ADA, "bob@example.com"] })
    expect(await chargeAmountsOf(world, sender)).toEqual([
      { micros: 2 * RECIPIENT_MICROS, state: "final" },
    ])
    const [mail] = await mailsOf(world, sender)
    expect(mail).toMatchObject({ subject: "Hello", text: expect.stringContaining("Hi") })
    expect(mail?.to.split(", ").toSorted()).toEqual([ADA, "bob@example.com"])
    const { body } = await world.call(sender.key, "GET", "/api/v1/email/domains")
    expect(body.senders).toEqual([`"Acme" <hello@${sender.domain}>`])
    const audit = await world.operate("audit verify", { company: sender.companyId })
    expect(audit.checks.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([])
  })
})

describe("400", () => {
  const list = Array.from({ length: 51 }, (_, n) => `a${n}@example.com`)
  it.each([
    { to: [] },
    { to: list },
    { subject: "" },
    { subject: "a\r\nBcc: evil@example.com" },
    { subject: " \u200b" },
    { text: " \n\t" },
    { text: "\ufeff", html: "\u00a0\n" },
    { subject: "x".repeat(999) },
    { text: "x".repeat(200_001) },
    { text: "", html: "" },
    { html: "x".repeat(500_001) },
    { text: { path: "/etc/passwd" } },
    { to: { address: ADA } },
  ])("validation, without a charge or a mail: %#", async (mail) => {
    const before = (await chargeAmountsOf(world, company)).length
    const sent = await postMail(world, company, mail)
    expect([sent.status, sent.body.error]).toEqual([400, "validation"])
    expect((await chargeAmountsOf(world, company)).length).toBe(before)
    expect(await mailsOf(world, company)).toEqual([])
  })

  it("not_sent, from a domain that is not a verified sending domain of the company", async () => {
    const other = await makeMailingCompany(world)
    const none = await makeCompany(world)
    const parent = company.domain.replace("mail.", "")
    const froms = [other.domain, parent, `sub.${company.domain}`, "example.org"]
    for (const domain of froms) {
      const sent = await postMail(world, { ...company, domain })
      expect([sent.status, sent.body.error]).toEqual([400, "not_sent"])
    }
    const sent = await postMail(world, { key: none.key, domain: company.domain })
    expect(sent.body.error).toBe("not_sent")
    expect(await chargeAmountsOf(world, none)).toEqual([])
  })

  it("not_sent, with a full refund, if the mailer rejects the mail for all recipients", async () => {
    const sender = await makeMailingCompany(world)
    await setMailerOutcome(world, "refuse")
    const headers = { "idempotency-key": "refused" }
    const to = Array.from({ length: 10 }, (_, n) => `a${n}@example.com`)
    const sent = await postMail(world, sender, { to }, headers)
    expect([sent.status, sent.body.error]).toEqual([400, "not_sent"])
    expect(await chargeAmountsOf(world, sender)).toEqual([
      { micros: 10 * RECIPIENT_MICROS, state: "given_back" },
    ])
    await setMailerOutcome(world, "ok")
    // A rejected request releases its idempotency key, so the retry is a new attempt.
    expect((await postMail(world, sender, { to }, headers)).body.delivered).toHaveLength(10)
    expect(await chargeAmountsOf(world, sender)).toMatchObject([
      { state: "given_back" },
      { state: "final" },
    ])
  })
})

describe("a mail that is not delivered immediately", () => {
  it("bounces, and stays charged", async () => {
    const sender = await makeMailingCompany(world)
    await setMailerOutcome(world, "bounce")
    expect((await postMail(world, sender)).body).toEqual({ ...NOTHING, bounced: [ADA] })
    expect(await chargeAmountsOf(world, sender)).toEqual([
      { micros: RECIPIENT_MICROS, state: "final" },
    ])
    expect(await statusesOf(sender)).toEqual([[ADA, "bounced", "5.1.1"]])
  })

  it("is queued, and delivered later", async () => {
    const sender = await makeMailingCompany(world)
    await setMailerOutcome(world, "defer", 2)
    expect((await postMail(world, sender)).body).toEqual({ ...NOTHING, queued: [ADA] })
    expect(await chargeAmountsOf(world, sender)).toMatchObject([{ state: "open" }])
    await advance("1m")
    expect(await statusesOf(sender)).toEqual([[ADA, "deferred", "451"]])
    await advance("5m")
    expect(await statusesOf(sender)).toEqual([[ADA, "delivered", null]])
    expect(await chargeAmountsOf(world, sender)).toEqual([
      { micros: RECIPIENT_MICROS, state: "final" },
    ])
  })

  it("bounces after 72 hours", async () => {
    const sender = await makeMailingCompany(world)
    await setMailerOutcome(world, "unavailable")
    await postMail(world, sender)
    await advance("80h")
    expect(await statusesOf(sender)).toEqual([[ADA, "bounced", "4.4.7"]])
    expect(await chargeAmountsOf(world, sender)).toEqual([
      { micros: RECIPIENT_MICROS, state: "final" },
    ])
  })

  it("is retried once after a lost answer, then waits for an operator, and stays charged", async () => {
    const sender = await makeMailingCompany(world)
    await setMailerOutcome(world, "silent")
    expect((await postMail(world, sender)).body).toEqual({ ...NOTHING, queued: [ADA] })
    await advance("14m")
    const mailJobs = async () => {
      const { jobs } = await world.operate("job list")
      return jobs.filter(
        ({ companyId, kind }: Record<string, string>) =>
          companyId === sender.companyId && kind === "hand-mail",
      )
    }
    expect(await mailJobs()).toMatchObject([{ kind: "hand-mail", stuck: null }])
    await advance("1m")
    expect(await mailJobs()).toMatchObject([
      { kind: "hand-mail", stuck: expect.stringContaining("did not answer twice") },
    ])
    expect(await chargeAmountsOf(world, sender)).toEqual([
      { micros: RECIPIENT_MICROS, state: "final" },
    ])
  })
})

describe("an unsubscribe link", () => {
  it("is added if switched on, unsubscribes by POST only, and stops mails of that sending domain", async () => {
    const sender = await makeMailingCompany(world)
    const turned = { company: sender.companyId, domain: sender.domain, enabled: "yes" }
    await world.operate("suppression offer", turned)
    await postMail(world, sender)
    await world.operate("wait")
    const { emails } = await world.operate("email list", { company: sender.companyId })
    const name = { mailId: emails[0].mailId, recipientIndex: 0 }
    const url = `/u/${unsubscribeTokenOf(world.ports.sealing, name)}`
    const shown = await world.app.inject({ method: "GET", url })
    expect([shown.statusCode, shown.body]).toEqual([200, expect.stringContaining("<button")])
    expect((await postMail(world, sender)).body.delivered).toEqual([ADA])
    const headers = { "content-type": "application/x-www-form-urlencoded" }
    const payload = "List-Unsubscribe=One-Click"
    expect((await world.app.inject({ method: "POST", url, headers, payload })).statusCode).toBe(200)
    expect((await postMail(world, sender)).body).toEqual({ ...NOTHING, bounced: [ADA] })
    const { suppressions } = await world.operate("suppression list", { company: sender.companyId })
    expect(suppressions).toMatchObject([{ email: ADA, reason: "unsubscribed" }])
    await world.operate("suppression lift", { company: sender.companyId, email: "ADA@example.com" })
    expect((await postMail(world, sender)).body.delivered).toEqual([ADA])
    const forged = await world.app.inject({ method: "POST", url: `${url.slice(0, -1)}x`, headers })
    expect(forged.statusCode).toBe(404)
  })

  it("has no page if it was not offered", async () => {
    const sender = await makeMailingCompany(world)
    await postMail(world, sender)
    await world.operate("wait")
    const { emails } = await world.operate("email list", { company: sender.companyId })
    const token = unsubscribeTokenOf(world.ports.sealing, {
      mailId: emails[0].mailId,
      recipientIndex: 0,
    })
    expect((await world.app.inject({ method: "GET", url: `/u/${token}` })).statusCode).toBe(404)
  })
})

it("an operator's test mail is free", async () => {
  const sender = await makeMailingCompany(world)
  const sent = await world.operate("email test", { company: sender.companyId, to: ADA })
  expect(sent).toMatchObject({ from: `test@${sender.domain}`, to: ADA, result: "accepted" })
  expect(await mailsOf(world, sender)).toMatchObject([{ subject: "A test mail", to: ADA }])
  expect(await chargeAmountsOf(world, sender)).toEqual([])
})
