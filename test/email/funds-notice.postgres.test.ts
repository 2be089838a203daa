import { sql } from "kysely"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { sendFundsNotice } from "../../src/charging/reactions/send-funds-notice.ts"
import { ledgerFacts, serve, spend } from "../effects/spending.ts"
import { rowOf, tryAgain } from "../effects/texts.ts"
import type { Company } from "../support/world.ts"
import { addPerson, makeCompany, ownWorld } from "../support/world.ts"

const world = await ownWorld("time")
await world.operate("clock set", { to: "2040-03-14T12:00:00Z" })
let company: Company
beforeEach(async () => {
  company = await makeCompany(world, { funds: "10" })
})
afterEach(() => {
  vi.restoreAllMocks()
})

const ofCompany = (rest: object = {}) => ({ company: company.companyId, ...rest })
const notice = (rest: object) => world.operate("funds notice", ofCompany(rest))

/** The mails of the company, when everything that is due was done. */
async function mails(): Promise<readonly Record<string, string>[]> {
  await world.operate("wait")
  return (await world.operate("mail list", ofCompany())).mails
}

/** The notices that are not sent. */
async function unsent() {
  const { work } = await world.operate("work list")
  return work.filter((row: Record<string, unknown>) => {
    return row["kind"] === "send-funds-notice" && row["companyId"] === company.companyId
  })
}

describe("a notice of low funds", () => {
  it("is one email to all owners and to nobody else, with company, funds and sum", async () => {
    await addPerson(world, company, { email: "second@example.com", role: "owner" })
    await addPerson(world, company, { role: "admin" })
    await notice({ below: "5" })
    await spend(world, company.companyId, { dollars: 5 })
    expect(await mails()).toEqual([])
    await spend(world, company.companyId, { dollars: 0.25 })
    await spend(world, company.companyId, { dollars: 1 })
    const [mail, ...others] = await mails()
    expect(others).toEqual([])
    expect(mail?.["to"]?.split(", ").toSorted()).toEqual([
      "owner@example.com",
      "second@example.com",
    ])
    expect(mail).toMatchObject({
      subject: expect.stringMatching(/^company \d+: funds are \$4\.75, below \$5\.00$/),
      text: expect.stringContaining("Since: 2040-03-14 12:00 UTC"),
      companyId: company.companyId,
      status: "sent",
    })
  })

  it("comes again only after the funds were at the sum", async () => {
    await notice({ below: "5" })
    await spend(world, company.companyId, { dollars: 6 })
    await world.operate("funds add", ofCompany({ dollars: "0.5" }))
    await spend(world, company.companyId, { dollars: 0.1 })
    expect(await mails()).toHaveLength(1)
    await world.operate("funds add", ofCompany({ dollars: "1" }))
    await world.operate("funds correct", ofCompany({ dollars: "-3" }), "a chargeback")
    expect((await mails()).map(({ subject }) => subject?.split("funds ")[1])).toEqual([
      "are $4.00, below $5.00",
      "are $2.40, below $5.00",
    ])
  })

  it("comes at once for a sum above the funds, and for the calls that a night charges", async () => {
    const { companyId, keyId, ownerId: personId } = company
    await notice({ below: "10.000001" })
    expect(await mails()).toMatchObject([{ to: "owner@example.com" }])
    await notice({ below: "9.5" })
    await serve(world, companyId, [{ via: "own_key", keyId, personId, calls: 10_000 }])
    expect(await mails()).toHaveLength(1)
    await world.operate("clock advance", { duration: "25h" })
    expect((await mails()).at(-1)?.["subject"]).toMatch(/funds are \$9\.00, below \$9\.50$/)
  })

  it("has nobody to tell where everybody was erased", async () => {
    await sql`update people set email = null where company_id = ${company.companyId}`.execute(
      world.ports.readAll,
    )
    await notice({ below: "20" })
    expect(await mails()).toEqual([])
    expect(await ledgerFacts(world, company.companyId, "FundsRanLow")).toHaveLength(1)
    expect(await unsent()).toEqual([])
  })

  it("that a silent mailer did not take is the same mail when it is given again", async () => {
    const sending = vi.spyOn(world.ports.mailer, "send")
    await world.operate("stand-in set", { name: "mail", outcome: "silent", times: 2 })
    await notice({ below: "20" })
    const isDone = async () => (await mails()).length > 0 && (await unsent()).length === 0
    await expect.poll(isDone, { interval: 50 }).toBe(true)
    const [mail, ...others] = await mails()
    expect(others).toEqual([])
    expect(sending.mock.calls.map(([sent]) => sent.mailId)).toEqual(Array(3).fill(mail?.["mailId"]))
  })

  it("waits where the read models of people are behind", async () => {
    await world.operate("stand-in set", { name: "mail", outcome: "unavailable" })
    await notice({ below: "20" })
    await world.operate("wait")
    const [{ name }] = await unsent()
    const work = await rowOf(world, "send-funds-notice", name)
    const projector = { ...world.ports.projector, waitFor: async () => false }
    const ports = { ...world.ports, projector }
    const reason = "the read models of people and keys are behind"
    const retry = { result: "retry", afterMs: 2_000, reason }
    expect(await sendFundsNotice.perform(ports, { ...work, tries: 3 })).toEqual(retry)
    await world.operate("stand-in set", { name: "mail", outcome: "ok" })
    await tryAgain(world, company.companyId, "send-funds-notice")
    expect(await mails()).toHaveLength(1)
  })
})

describe("funds notice", () => {
  it("says what it replaced, and company show what is set", async () => {
    const { companyId } = company
    const shown = async () => (await world.operate("company show", ofCompany())).noticeBelowMicros
    expect(await shown()).toBeNull()
    expect(await notice({ below: "5" })).toEqual({
      companyId,
      belowMicros: 5_000_000,
      replacedMicros: null,
      balanceMicros: 10_000_000,
    })
    expect(await shown()).toBe(5_000_000)
    expect(await notice({ below: "5" })).toMatchObject({ replacedMicros: 5_000_000 })
    expect(await ledgerFacts(world, companyId, "FundsNoticeSet")).toHaveLength(1)
    expect(await notice({ off: true })).toMatchObject({
      belowMicros: null,
      replacedMicros: 5_000_000,
    })
    expect(await shown()).toBeNull()
    await spend(world, companyId, { dollars: 10 })
    expect(await mails()).toEqual([])
  })

  it("wants a sum of 0 or more, and a company that is not deleted", async () => {
    await expect(notice({ below: "-5" })).rejects.toMatchObject({ code: "bad_amount" })
    await world.operate("company delete", ofCompany())
    await expect(notice({ below: "5" })).rejects.toMatchObject({ code: "ledger_closed" })
  })
})
