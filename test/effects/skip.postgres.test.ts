/** Work that an operator skips, or calls before it is due: what is given up, and what stays owed. */
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

/** Parks the company's row of a kind; answers its number. */
async function park(kind: string): Promise<number> {
  const { rows } = await sql<{ job_id: number }>`
    update ledger.jobs set stuck = 'a test', process_id = null, leased_until = null
    where kind = ${kind} and company_id = ${company.companyId} returning job_id`.execute(
    world.ports.readAll,
  )
  return Number(rows[0]?.job_id)
}

/** Adds a parked row beside those that there may be; answers its number. */
async function addParked(kind: string, payload: object): Promise<number> {
  const name = `parked ${company.companyId}`
  const { rows } = await sql<{ job_id: number }>`
    insert into ledger.jobs (kind, name, subject, company_id, payload, due_at, stuck)
    values (${kind}, ${name}, ${name}, ${company.companyId}, ${JSON.stringify(payload)}, now(),
      'a test')
    returning job_id`.execute(world.ports.readAll)
  return Number(rows[0]?.job_id)
}

const skip = (workId: number) => world.operate("job discard", { jobId: workId })

it("a text that is given up counts as failed, costs nothing, and nothing stays open", async () => {
  silenceStatusChecks(world)
  await setCarrierOutcome(world, "silent", 1)
  const id = await sendTextForId(world, company)
  await world.operate("wait")
  const workId = await park("ask-text")
  expect(await skip(workId)).toEqual({ jobId: workId, discarded: true })
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
  await expect(skip(workId)).rejects.toThrow(`no job ${workId}`)
})

it("a reminder that is given up is not sent", async () => {
  const workId = await addParked("send-reminder", {})
  expect(await skip(workId)).toEqual({ jobId: workId, discarded: true })
  expect(await pendingJobsOf(world, company.companyId)).toEqual([])
})

it("what is not parked goes on by itself", async () => {
  silenceStatusChecks(world)
  await setCarrierOutcome(world, "silent", 1)
  await sendTextForId(world, company)
  await world.operate("wait")
  const workId = await park("ask-text")
  await sql`update ledger.jobs set stuck = null where job_id = ${workId}`.execute(
    world.ports.readAll,
  )
  await expect(skip(workId)).rejects.toThrow("runs by itself")
})

const OPEN_CHARGE = { chargeId: "chg_1", item: "text_segment", resource: null, countedAt: 0 }

it.each([
  ["reconcile-charge", OPEN_CHARGE, 'end it with "charge refund chg_1"'],
  ["charge-calls", { day: 0 }, 'Fix the cause, then run "job retry".'],
  ["open-company", {}, 'Fix the cause, then run "job retry".'],
  ["wash-car", {}, "does not know jobs of the kind wash-car"],
])("%s cannot be given up", async (kind, payload, said) => {
  const workId = await addParked(kind, payload)
  await expect(skip(workId)).rejects.toThrow(said)
  const { jobs: work } = await world.operate("job list")
  expect(work).toContainEqual(expect.objectContaining({ jobId: workId, stuck: "a test" }))
})

/** The kinds that an operator may call early, and why that is safe. */
const SAFE: Readonly<Record<string, string>> = {
  "check-domain": "it looks the records up",
  "check-sender": "it looks the records up",
  "check-part": "it asks the registry how a review stands",
  "register-numbers": "it registers what is not registered, and asks how that stands",
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
/** The kind that may be called early from the instant that its row carries. */
const RENT = "rent"
const holder = await makeCompany(world)

/** A row that is due in a day. */
async function waiting(kind: string, name = "early"): Promise<number> {
  const { rows } = await sql<{ workId: number }>`
    insert into ledger.jobs (kind, name, subject, company_id, payload, due_at)
    values (${kind}, ${name}, ${name}, ${holder.companyId}, '{}',
      ${new Date(world.ports.clock.now() + 86_400_000)})
    returning job_id as "workId"`.execute(world.ports.readAll)
  return rows[0]?.workId ?? 0
}

describe("work that is not due", () => {
  it("may be called early only where that is known to be safe", () => {
    const early = PROGRAM.reactions.filter(({ earliestRetryAt }) => earliestRetryAt !== undefined)
    const kinds = early.map(({ kind }) => kind)
    expect(kinds.toSorted()).toEqual([...Object.keys(SAFE), RENT].toSorted())
    const free = early.filter(({ kind }) => kind !== RENT)
    expect(free.map(({ earliestRetryAt }) => earliestRetryAt?.({}))).toEqual(free.map(() => 0))
  })

  const others = PROGRAM.reactions.filter(({ kind }) => SAFE[kind] === undefined)
  it.each(others.map(({ kind }) => kind))("%s is neither tried nor given up", async (kind) => {
    const workId = await waiting(kind)
    const before = (await world.ports.jobs.find(workId)) as StoredJob
    for (const operation of ["job retry", "job discard"]) {
      await expect(world.operate(operation, { jobId: workId })).rejects.toMatchObject({
        code: "conflict",
        message: `Job ${workId} (${kind}) runs by itself when it is due, at ${before.dueAt}.`,
        details: { dueAt: before.dueAt },
      })
    }
    expect(await world.ports.jobs.find(workId)).toEqual(before)
  })

  it("is not made due where it put itself off a moment before", async () => {
    const workId = await waiting("close-month", "put off")
    expect(await world.ports.jobs.retry(workId, world.ports.clock.now(), false)).toBe(false)
    expect(await world.ports.jobs.retry(workId, world.ports.clock.now(), true)).toBe(true)
  })
})
