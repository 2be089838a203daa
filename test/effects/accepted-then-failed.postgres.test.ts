/**
 * A provider accepted a request, or may have, and the request that follows fails: the outcome is unknown. The job
 * asks again until it knows; meanwhile the charge stays, and the provider does the thing once.
 */
import { sql } from "kysely"
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest"
import { selectChargeRows } from "../../projections/charging/charges.ts"
import type { TelnyxInstallation, TelnyxTextingCompany } from "../phone/telnyx-installation.ts"
import { openTelnyxInstallation } from "../phone/telnyx-installation.ts"
import { requestNumber } from "../phone/number-orders.ts"
import { newPhoneNumber, postText } from "../phone/text-requests.ts"
import {
  setReviewOutcome,
  requestBusinessReview,
  requestCampaignReview,
  saveRegistration,
} from "../registration/registration-world.ts"
import type { TelnyxCallFailure } from "../support/telnyx-server.ts"
import type { Company } from "../support/world.ts"
import { makeCompany } from "../support/world.ts"

let by: TelnyxInstallation
let texting: TelnyxTextingCompany
beforeAll(async () => {
  by = await openTelnyxInstallation()
  texting = await by.makeTexting()
})
beforeEach(() => {
  const { pacer } = by.world.ports
  const pause = pacer.pause.bind(pacer)
  // The carrier is asked about an order again after a second: no test waits for that. Loops of the world pass a
  // signal; without their pause they would send thousands of statements.
  vi.spyOn(pacer, "pause").mockImplementation((ms, signal) =>
    ms === 1_000 && signal === undefined ? Promise.resolve() : pause(ms, signal),
  )
  by.server.callFailure = null
  by.server.nextBehavior = null
})
afterAll(() => by.close())

/** What is done outside for a charge. */
interface ChargedEffect {
  readonly name: string
  /** The company that pays, ready to begin. */
  readonly company: () => Promise<Company>
  /** Begins it by the API. */
  readonly begin: (company: Company) => Promise<unknown>
  /** The job that the request runs itself, before its fact enqueues it; absent where it does not. */
  readonly job?: string
  /** What the provider accepts, once. */
  readonly accepts: string
  /** The requests that follow the accepted one. */
  readonly follows: RegExp
  /** Whether the answer to the accepted request is lost, so that only asking tells. */
  readonly isLost: boolean
}

const ready = async () => {
  const company = await makeCompany(by.world)
  await saveRegistration(by.world, company)
  return company
}
const texts = {
  company: async () => texting,
  begin: (company: Company) =>
    postText(by.world, company.key, { from: texting.number, to: newPhoneNumber() }),
  accepts: "POST /messages",
  follows: /^GET \/(detail_records|messages)/,
}
const OF_NUMBERS = /^GET \/(phone_numbers|number_orders)/
const numbers = {
  company: () => makeCompany(by.world),
  begin: (company: Company) => requestNumber(by.world, company, [...by.server.orderableNumbers][0]),
  job: "buy-number",
  accepts: "POST /number_orders",
}
const business = {
  company: ready,
  begin: (company: Company) => requestBusinessReview(by.world, company, { live: true }),
  job: "submit-part",
  accepts: "POST /10dlc/brand",
  follows: /^GET \/10dlc\/brand/,
}
const campaign = {
  company: async () => {
    const company = await ready()
    await requestBusinessReview(by.world, company, { live: true })
    await setReviewOutcome(by.world, company, "business")
    return company
  },
  begin: (company: Company) => requestCampaignReview(by.world, company),
  job: "submit-part",
  accepts: "POST /10dlc/campaignBuilder",
  follows: /^GET \/10dlc\/(brand|campaign)/,
}

const EFFECTS: readonly ChargedEffect[] = [
  { name: "a text whose answer is lost", ...texts, isLost: true },
  { name: "a number", ...numbers, follows: /^GET \/phone_numbers/, isLost: false },
  { name: "a number whose order is lost", ...numbers, follows: /^GET \/number_o/, isLost: true },
  { name: "a number of which nothing is told", ...numbers, follows: OF_NUMBERS, isLost: false },
  { name: "a business whose answer is lost", ...business, isLost: true },
  { name: "a campaign whose answer is lost", ...campaign, isLost: true },
]
const FAULTS: readonly TelnyxCallFailure["failure"][] = [429, 401, 500, "cut"]
const ROWS = EFFECTS.flatMap((effect) => FAULTS.map((how) => [effect.name, how, effect] as const))

/** What a company was charged and refunded, in order. */
async function charges({ companyId }: Company) {
  await by.world.operate("wait")
  const rows = await selectChargeRows(by.world.ports.readAll)
    .where("company_id", "=", companyId)
    .where("kind", "in", ["charge", "rent", "give_back"])
    .orderBy("revision")
    .execute()
  return rows.map(({ kind, state }) => (kind === "give_back" ? "refunded" : state))
}

/** Enqueues a job as its fact does where that is late: the request ran the job, and another row asks about it. */
async function enqueueLate({ companyId }: Company, kind: string) {
  const { jobs, runJobNow } = by.world.ports
  const { rows } = await sql<{ name: string; payload: string }>`
    select name, payload from ledger.jobs where company_id = ${companyId} and kind like 'ask-%'
  `.execute(by.world.ports.readAll)
  const [row] = rows
  if (row === undefined) throw new Error("nothing is asked about")
  const { name } = row
  const job = { kind, name, subject: name, companyId, payload: JSON.parse(row.payload), dueAt: 0 }
  expect(await runJobNow(job, new AbortController().signal)).toBe(true)
  expect(await jobs.findByName(kind, name)).toBeNull()
}

describe("accepted, then the request that follows fails", () => {
  it.each(ROWS)(
    "%s, %s: unknown, asked again, charged and done once",
    async (_name, failure, effect) => {
      const { world, server } = by
      const company = await effect.company()
      await world.operate("wait")
      const before = await charges(company)
      const done = () => server.requests.filter(({ call }) => call === effect.accepts).length
      const doneBefore = done()

      if (effect.isLost) server.nextBehavior = { status: 500, code: "10007", isDone: true }
      // What must be looked up before it is accepted is not what fails here.
      server.callFailure = { calls: effect.follows, failure }
      await effect.begin(company)
      expect(await charges(company)).toEqual([...before, "open"])
      if (effect.job !== undefined) await enqueueLate(company, effect.job)
      expect(await charges(company)).toEqual([...before, "open"])
      expect(done() - doneBefore).toBe(1)

      await world.operate("clock advance", { duration: "2m" })
      expect(await charges(company)).toEqual([...before, "open"])
      expect(done() - doneBefore).toBe(1)

      server.callFailure = null
      await world.operate("clock advance", { duration: "1h" })
      expect(await charges(company)).toEqual([...before, "final"])
      expect(done() - doneBefore).toBe(1)
    },
  )
})

describe("answered by 500 and never accepted", () => {
  it.each(EFFECTS.filter(({ isLost }) => isLost).map((effect) => [effect.name, effect] as const))(
    "%s: asked about until Telnyx's own time is over, then refunded once, and never done again",
    async (_name, effect) => {
      const { world, server } = by
      const company = await effect.company()
      const before = await charges(company)
      const sent = () => server.requests.filter(({ call }) => call === effect.accepts).length
      const sentBefore = sent()
      server.nextBehavior = { status: 500, code: "10007" }
      await effect.begin(company)
      await world.operate("clock advance", { duration: "29m" })
      expect(await charges(company)).toEqual([...before, "open"])
      await world.operate("clock advance", { duration: "2m" })
      expect(await charges(company)).toEqual([...before, "given_back", "refunded"])
      await world.operate("clock advance", { duration: "3h" })
      expect(await charges(company)).toEqual([...before, "given_back", "refunded"])
      expect(sent() - sentBefore).toBe(1)
    },
  )
})
