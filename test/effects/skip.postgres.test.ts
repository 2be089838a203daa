/** Jobs that an operator discards, or retries before they are due. */
import { sql } from "kysely"
import { beforeEach, expect, it, vi, describe } from "vitest"
import type { Company } from "../support/world.ts"
import { fundsMicrosOf, makeCompany, ownWorld } from "../support/world.ts"
import {
  setCarrierOutcome,
  textChargeLinesOf,
  messageRowOf,
  callChargesMicros,
  sendTextForId,
  silenceStatusChecks,
  pendingJobsOf,
} from "./texts.ts"
import type { StoredJob } from "../../adapters/postgres/jobs/port.ts"
import { PROGRAM } from "../../src/slices.ts"

const FUNDS = 50_000_000

const world = await ownWorld("store")
let company: Company
beforeEach(async () => {
  vi.restoreAllMocks()
  company = await makeCompany(world)
})

/** Marks the company's job of a kind as stuck; returns its id. */
async function markStuck(kind: string): Promise<number> {
  const { rows } = await sql<{ job_id: number }>`
    update ledger.jobs set stuck = 'a test', process_id = null, leased_until = null
    where kind = ${kind} and company_id = ${company.companyId} returning job_id`.execute(
    world.ports.readAll,
  )
  return Number(rows[0]?.job_id)
}

async function addStuckJob(kind: string, payload: object): Promise<number> {
  const name = `stuck ${company.companyId}`
  const { rows } = await sql<{ job_id: number }>`
    insert into ledger.jobs (kind, name, subject, company_id, payload, due_at, stuck)
    values (${kind}, ${name}, ${name}, ${company.companyId}, ${JSON.stringify(payload)}, now(),
      'a test')
    returning job_id`.execute(world.ports.readAll)
  return Number(rows[0]?.job_id)
}

const discard = (jobId: number) => world.operate("job discard", { jobId })

it("a discarded text counts as failed and costs nothing, and no job remains", async () => {
  silenceStatusChecks(world)
  await setCarrierOutcome(world, "silent", 1)
  const id = await sendTextForId(world, company)
  await world.operate("wait")
  const jobId = await markStuck("ask-text")
  expect(await discard(jobId)).toEqual({ jobId, discarded: true })
  expect(await messageRowOf(world, id)).toMatchObject({ status: "failed", error_code: "given_up" })
  const { companyId } = company
  expect(
    (await textChargeLinesOf(world, companyId)).map(({ kind, state }) => [kind, state]),
  ).toEqual([
    ["charge", "given_back"],
    ["give_back", null],
  ])
  const spent =
    FUNDS -
    (await fundsMicrosOf(world, { companyId })) -
    (await callChargesMicros(world, companyId))
  expect(spent).toBe(0)
  expect(await pendingJobsOf(world, companyId)).toEqual([])
  await expect(discard(jobId)).rejects.toThrow(`no job ${jobId}`)
})

it("a discarded reminder is not sent", async () => {
  const jobId = await addStuckJob("send-reminder", {})
  expect(await discard(jobId)).toEqual({ jobId, discarded: true })
  expect(await pendingJobsOf(world, company.companyId)).toEqual([])
})

it("a job that is not stuck cannot be discarded", async () => {
  silenceStatusChecks(world)
  await setCarrierOutcome(world, "silent", 1)
  await sendTextForId(world, company)
  await world.operate("wait")
  const jobId = await markStuck("ask-text")
  await sql`update ledger.jobs set stuck = null where job_id = ${jobId}`.execute(
    world.ports.readAll,
  )
  await expect(discard(jobId)).rejects.toThrow("runs automatically")
})

const OPEN_CHARGE = { chargeId: "chg_1", item: "text_segment", resource: null, countedAt: 0 }

it.each([
  ["reconcile-charge", OPEN_CHARGE, 'end it with "charge refund chg_1"'],
  ["charge-calls", { day: 0 }, 'Fix the cause, then run "job retry".'],
  ["open-company", {}, 'Fix the cause, then run "job retry".'],
  ["wash-car", {}, "does not know jobs of the kind wash-car"],
])("a job of the kind %s cannot be discarded", async (kind, payload, message) => {
  const jobId = await addStuckJob(kind, payload)
  await expect(discard(jobId)).rejects.toThrow(message)
  const { jobs } = await world.operate("job list")
  expect(jobs).toContainEqual(expect.objectContaining({ jobId, stuck: "a test" }))
})

/** The kinds of jobs that an operator may retry early, and why that is safe. */
const SAFE: Readonly<Record<string, string>> = {
  "check-domain": "it looks up DNS records",
  "check-sender": "it looks up DNS records",
  "check-part": "it asks the registry for the state of a review",
  "register-numbers": "it registers missing numbers and asks for their state",
  "send-text": "it asks the carrier first",
  "ask-text": "it asks the carrier",
  "buy-number": "it asks the carrier first",
  "ask-number": "it asks the carrier",
  "create-box": "it asks the host first",
  "submit-part": "it asks the registry first",
  "ask-part": "it asks the registry",
  "pay-purchase": "it asks the processor",
  "check-card": "it asks the processor first",
  "ask-hold": "it asks the processor",
}
/** The kind that may be retried early from the time in its payload. */
const RENT = "rent"
const holder = await makeCompany(world)

/** Adds a job that is due in a day. */
async function addFutureJob(kind: string, name = "early"): Promise<number> {
  const { rows } = await sql<{ jobId: number }>`
    insert into ledger.jobs (kind, name, subject, company_id, payload, due_at)
    values (${kind}, ${name}, ${name}, ${holder.companyId}, '{}',
      ${new Date(world.ports.clock.now() + 86_400_000)})
    returning job_id as "jobId"`.execute(world.ports.readAll)
  return rows[0]?.jobId ?? 0
}

describe("a job that is not due", () => {
  it("may be retried early only if that is known to be safe", () => {
    const early = PROGRAM.reactions.filter(({ earliestRetryAt }) => earliestRetryAt !== undefined)
    const kinds = early.map(({ kind }) => kind)
    expect(kinds.toSorted()).toEqual([...Object.keys(SAFE), RENT].toSorted())
    const free = early.filter(({ kind }) => kind !== RENT)
    expect(free.map(({ earliestRetryAt }) => earliestRetryAt?.({}))).toEqual(free.map(() => 0))
  })

  const others = PROGRAM.reactions.filter(({ kind }) => SAFE[kind] === undefined)
  it.each(others.map(({ kind }) => kind))(
    "of the kind %s can neither be retried nor discarded",
    async (kind) => {
      const jobId = await addFutureJob(kind)
      const before = (await world.ports.jobs.find(jobId)) as StoredJob
      for (const operation of ["job retry", "job discard"]) {
        await expect(world.operate(operation, { jobId })).rejects.toMatchObject({
          code: "conflict",
          message: `Job ${jobId} (${kind}) runs automatically at ${before.dueAt}.`,
          details: { dueAt: before.dueAt },
        })
      }
      expect(await world.ports.jobs.find(jobId)).toEqual(before)
    },
  )

  it("does not become due if it postponed itself a moment before", async () => {
    const jobId = await addFutureJob("close-month", "postponed")
    expect(await world.ports.jobs.retry(jobId, world.ports.clock.now(), false)).toBe(false)
    expect(await world.ports.jobs.retry(jobId, world.ports.clock.now(), true)).toBe(true)
  })
})
