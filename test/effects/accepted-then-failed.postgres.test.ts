/**
 * A provider accepts a request, or may have, and the next request fails: the outcome is unknown. The job checks the
 * status until it knows; meanwhile the charge stays pending, and the provider executes the request once.
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

let installation: TelnyxInstallation
let texting: TelnyxTextingCompany
beforeAll(async () => {
  installation = await openTelnyxInstallation()
  texting = await installation.makeTextingCompany()
})
beforeEach(() => {
  const { pacer } = installation.world.ports
  const pause = pacer.pause.bind(pacer)
  // Skips the second before an order's status is checked again. Background loops pass a signal; without their
  // pause they would send thousands of statements.
  vi.spyOn(pacer, "pause").mockImplementation((ms, signal) =>
    ms === 1_000 && signal === undefined ? Promise.resolve() : pause(ms, signal),
  )
  installation.server.callFailure = null
  installation.server.nextBehavior = null
})
afterAll(() => installation.close())

/** A charged request to a provider. */
interface ChargedEffect {
  readonly name: string
  /** Creates the company that pays. */
  readonly company: () => Promise<Company>
  /** Sends the request through the API. */
  readonly begin: (company: Company) => Promise<unknown>
  /** The job that the API request runs itself, before its fact enqueues it. */
  readonly job?: string
  /** The call that the provider accepts. */
  readonly accepts: string
  /** The calls that follow the accepted one. */
  readonly follows: RegExp
  /** Whether the answer to the accepted call is lost, so that only a status check tells its outcome. */
  readonly isLost: boolean
}

const ready = async () => {
  const company = await makeCompany(installation.world)
  await saveRegistration(installation.world, company)
  return company
}
const texts = {
  company: async () => texting,
  begin: (company: Company) =>
    postText(installation.world, company.key, { from: texting.number, to: newPhoneNumber() }),
  accepts: "POST /messages",
  follows: /^GET \/(detail_records|messages)/,
}
const OF_NUMBERS = /^GET \/(phone_numbers|number_orders)/
const numbers = {
  company: () => makeCompany(installation.world),
  begin: (company: Company) =>
    requestNumber(installation.world, company, [...installation.server.orderableNumbers][0]),
  job: "buy-number",
  accepts: "POST /number_orders",
}
const business = {
  company: ready,
  begin: (company: Company) => requestBusinessReview(installation.world, company, { live: true }),
  job: "submit-part",
  accepts: "POST /10dlc/brand",
  follows: /^GET \/10dlc\/brand/,
}
const campaign = {
  company: async () => {
    const company = await ready()
    await requestBusinessReview(installation.world, company, { live: true })
    await setReviewOutcome(installation.world, company, "business")
    return company
  },
  begin: (company: Company) => requestCampaignReview(installation.world, company),
  job: "submit-part",
  accepts: "POST /10dlc/campaignBuilder",
  follows: /^GET \/10dlc\/(brand|campaign)/,
}

const EFFECTS: readonly ChargedEffect[] = [
  { name: "a text whose answer is lost", ...texts, isLost: true },
  { name: "a number", ...numbers, follows: /^GET \/phone_numbers/, isLost: false },
  { name: "a number whose order is lost", ...numbers, follows: /^GET \/number_o/, isLost: true },
  { name: "a number without any status", ...numbers, follows: OF_NUMBERS, isLost: false },
  { name: "a business whose answer is lost", ...business, isLost: true },
  { name: "a campaign whose answer is lost", ...campaign, isLost: true },
]
const FAULTS: readonly TelnyxCallFailure["failure"][] = [429, 401, 500, "cut"]
const ROWS = EFFECTS.flatMap((effect) =>
  FAULTS.map((fault) => [effect.name, fault, effect] as const),
)

/** The states of a company's charges, and its refunds, in order. */
async function charges({ companyId }: Company) {
  await installation.world.operate("wait")
  const rows = await selectChargeRows(installation.world.ports.readAll)
    .where("company_id", "=", companyId)
    .where("kind", "in", ["charge", "rent", "give_back"])
    .orderBy("revision")
    .execute()
  return rows.map(({ kind, state }) => (kind === "give_back" ? "refunded" : state))
}

/** Enqueues a job that the request already ran itself, as its fact does later; a status job exists by then. */
async function enqueueLate({ companyId }: Company, kind: string) {
  const { jobs, runJobNow } = installation.world.ports
  const { rows } = await sql<{ name: string; payload: string }>`
    select name, payload from ledger.jobs where company_id = ${companyId} and kind like 'ask-%'
  `.execute(installation.world.ports.readAll)
  const [row] = rows
  if (row === undefined) throw new Error("there is no status job")
  const { name } = row
  const job = { kind, name, subject: name, companyId, payload: JSON.parse(row.payload), dueAt: 0 }
  expect(await runJobNow(job, new AbortController().signal)).toBe(true)
  expect(await jobs.findByName(kind, name)).toBeNull()
}

describe("an accepted request whose next call fails", () => {
  it.each(ROWS)(
    "(%s, %s) has an unknown outcome, is checked again, and is charged and executed once",
    async (_name, failure, effect) => {
      const { world, server } = installation
      const company = await effect.company()
      await world.operate("wait")
      const before = await charges(company)
      const done = () => server.requests.filter(({ call }) => call === effect.accepts).length
      const doneBefore = done()

      if (effect.isLost) server.nextBehavior = { status: 500, code: "10007", isDone: true }
      // Calls before the accepted one do not fail here.
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

describe("a request that got 500 and was never accepted", () => {
  it.each(EFFECTS.filter(({ isLost }) => isLost).map((effect) => [effect.name, effect] as const))(
    "(%s) is checked until Telnyx's time limit, then refunded once and never sent again",
    async (_name, effect) => {
      const { world, server } = installation
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
