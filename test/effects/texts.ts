/** Sends texts in a test world and reads their outcomes. */
import { recipientStreamOf } from "../../domain/phone/aggregates.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { sql } from "kysely"
import { expect, vi } from "vitest"
import { ProviderOutcomeUnknown } from "../../adapters/providers/provider-errors.ts"
import type { ListedJob } from "../../adapters/postgres/jobs/port.ts"
import type { Job } from "../../src/frame/effects/reaction.ts"
import type { ChargeRow } from "../../projections/charging/charges.ts"
import type { MessageRow } from "../../projections/phone/messages.ts"
import { collectEvents } from "../contracts/event-store-fixture.ts"
import { selectChargeRows } from "../../projections/charging/charges.ts"
import type { Company, World } from "../support/world.ts"

export const TEXT_RECIPIENT = "+14155550123"
/** Price of one segment, in micros. */
export const SEGMENT_MICROS = 9_000
const URL = "/api/v1/phone/messages"

/** Sends a text and returns its id. The worker may or may not have sent it yet. */
export async function sendTextForId(
  world: World,
  { key }: Company,
  to = TEXT_RECIPIENT,
  body = "Hi",
): Promise<string> {
  const { status, body: answer } = await world.call(key, "POST", URL, { body: { to, body } })
  expect({ status, answer }).toMatchObject({ status: 200 })
  return answer.id
}

/** Sets the next outcomes of the carrier simulator. */
export async function setCarrierOutcome(
  world: World,
  outcome: string,
  times?: number,
): Promise<void> {
  await world.operate("simulator set", { name: "carrier", outcome, times })
}

/** Leaves status checks with the carrier unanswered until the test ends. */
export function silenceStatusChecks(world: World, onAsked: () => void = () => undefined): void {
  vi.spyOn(world.ports.carrier, "checkTextStatus").mockImplementation(() => {
    onAsked()
    return Promise.reject(new ProviderOutcomeUnknown("no answer"))
  })
}

/** A message in the read model. */
export async function messageRowOf(world: World, id: string): Promise<MessageRow> {
  await world.operate("wait")
  const { rows } = await sql<MessageRow>`select * from messages where message_id = ${id}`.execute(
    world.ports.readAll,
  )
  return rows[0] as MessageRow
}

/** The charges and refunds of a company's texts, without opening funds and API calls. */
export async function textChargeLinesOf(
  world: World,
  companyId: CompanyId,
): Promise<readonly ChargeRow[]> {
  await world.operate("wait")
  return selectChargeRows(world.ports.readAll)
    .where("company_id", "=", companyId)
    .where("kind", "in", ["charge", "give_back"])
    .orderBy("revision")
    .execute()
}

/** The sum of a company's charges for API calls, in micros. */
export async function callChargesMicros(world: World, companyId: CompanyId): Promise<number> {
  const { rows } = await sql<{ sum: number }>`
    select coalesce(sum(-amount_micros), 0)::bigint as sum from charges
    where company_id = ${companyId} and kind = 'api_calls'`.execute(world.ports.readAll)
  return rows[0]?.sum ?? 0
}

/** Kinds of jobs that every company has, due by the calendar. */
const CALENDAR_JOB_KINDS = new Set(["close-month", "charge-calls"])

/** A company's pending jobs, without those due by the calendar. */
export async function pendingJobsOf(world: World, companyId: CompanyId) {
  await world.operate("wait")
  const { jobs } = await world.operate("job list")
  return (jobs as ListedJob[]).filter(
    (row) => row.companyId === companyId && !CALENDAR_JOB_KINDS.has(row.kind),
  )
}

/**
 * Retries a company's jobs of some kinds immediately and waits for them. A job may be done already, because a backoff
 * follows the machine's own time.
 */
export async function retryJobsOf(
  world: World,
  companyId: CompanyId,
  ...kinds: readonly string[]
): Promise<void> {
  const { jobs } = await world.operate("job list")
  const rows = (jobs as ListedJob[]).filter(
    (row) => row.companyId === companyId && kinds.includes(row.kind),
  )
  for (const { jobId } of rows) await world.ports.jobs.retry(jobId, world.ports.clock.now(), true)
  await world.operate("wait")
}

/** The types of the facts about a recipient, in order. */
export async function recipientFactTypes(
  world: World,
  companyId: CompanyId,
  to = TEXT_RECIPIENT,
): Promise<readonly string[]> {
  const stream = recipientStreamOf(companyId, await world.ports.sealing.tag(companyId, to)).stream
  return (await collectEvents(world.ports.store.read(stream))).map(({ type }) => type)
}

/** A job as a reaction gets it, whether or not a worker has claimed it. */
export async function jobOf(world: World, kind: string, name: string): Promise<Job<unknown>> {
  const { rows } = await sql<Job<unknown> & { payload: string }>`
    select job_id as "jobId", kind, name, subject, company_id as "companyId", payload, attempts,
      dispatched_at is not null as "isDispatched"
    from ledger.jobs where kind = ${kind} and name = ${name}`.execute(world.ports.readAll)
  const row = rows[0]
  if (row === undefined) throw new Error(`there is no job ${kind} ${name}`)
  const { signal } = new AbortController()
  return { ...row, payload: JSON.parse(row.payload) as unknown, signal }
}
