/**
 * Read model `calls`: incoming calls with outcome and cost, as callers list them.
 *
 * `created_at` is assigned here in global order: the event's time, or 1 ms after the company's newest call if that
 * is later. So a reader who asks for rows after the newest seen one never misses any, and a rebuild gives the same
 * times (docs/decisions/api.md).
 */
import type { Kysely, Transaction } from "kysely"
import { sql } from "kysely"
import type { LedgerFact } from "../../domain/charging/ledger-events.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { NumberId } from "../../domain/phone/ids.ts"
import type { CallFact, CallOutcome } from "../../domain/voice/call-events.ts"
import { callSecondsOf } from "../../domain/voice/call-minutes.ts"
import { isVoicemailLeft } from "../../domain/voice/call-state.ts"
import type { CallId } from "../../domain/kernel/calls.ts"
import { parseCallId } from "../../domain/kernel/calls.ts"
import type { CompanyFact, FactOfType, Unsealer } from "../kernel/projection.ts"
import { companyFacts, defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import {
  bigintColumn,
  booleanColumn,
  instantColumn,
  integerColumn,
  tablesOf,
  nullableColumn,
  defineTable,
  textColumn,
} from "../kernel/table.ts"
import type { CalledNumberTables } from "./called-numbers.ts"
import { CALLED_NUMBERS_TABLE, applyNumberFact } from "./called-numbers.ts"

/** The status of a call, as callers see it. */
export type CallStatus = "ringing" | "in_progress" | "completed"

const CALLS = defineTable(
  "calls",
  {
    company_id: textColumn<CompanyId>(),
    call_id: textColumn<CallId>(),
    number_id: textColumn<NumberId>(),
    direction: textColumn<"in">(),
    from_number: nullableColumn(textColumn()),
    to_number: nullableColumn(textColumn()),
    forwarded_to: nullableColumn(textColumn()),
    status: textColumn<CallStatus>(),
    outcome: nullableColumn(textColumn<CallOutcome>()),
    answered_at: nullableColumn(instantColumn()),
    gone_at: nullableColumn(instantColumn()),
    seconds: integerColumn(),
    recorded: booleanColumn(),
    recording_seconds: integerColumn(),
    voicemail_seconds: nullableColumn(integerColumn()),
    charged_micros: bigintColumn(),
    created_at: instantColumn(),
  },
  ["company_id", "call_id"],
  "unique (company_id, created_at)",
  "(call_id)",
)

/** A call; numbers are null once erased, and the caller's also if none was shown. */
export type CallRow = RowOf<typeof CALLS>

export type CallTables = RowsOf<typeof CALLS> & CalledNumberTables

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof CALLS> {}
}

const ON = [
  "Charged",
  "NumberAdded",
  "NumberReleased",
  "CallOffered",
  "CallAccepted",
  "CallerAnswered",
  "CallerHungUp",
  "CallEnded",
  "RecordingAvailable",
  "ChargeReduced",
] as const
type Handled = FactOfType<(typeof ON)[number]>

/** The read model `calls`. */
export const callsReadModel = defineReadModel({
  name: "calls",
  version: 1,
  on: ON,
  ...tablesOf(CALLS, CALLED_NUMBERS_TABLE),
  erased: { calls: ["from_number", "to_number", "forwarded_to"], called_numbers: ["number"] },
  apply: async (tx: Transaction<CallTables>, facts, opener) => {
    for (const recorded of companyFacts(facts)) await applyOne(tx, recorded, opener)
  },
})

async function applyOne(
  tx: Transaction<CallTables>,
  { fact, companyId }: CompanyFact<Handled>,
  opener: Unsealer,
): Promise<void> {
  const update = (callId: CallId, changes: Partial<CallRow>) =>
    change(tx, companyId, callId, changes)
  switch (fact.type) {
    case "NumberAdded":
    case "NumberReleased":
      return applyNumberFact(tx, companyId, fact, opener)
    case "Charged":
    case "ChargeReduced":
      return applyChargeFact(tx, companyId, fact)
    case "CallOffered":
      return offer(tx, companyId, fact, opener)
    case "CallAccepted":
      return update(fact.callId, { forwarded_to: await opener.unseal(companyId, fact.phone) })
    case "CallerAnswered":
      await update(fact.callId, { answered_at: new Date(fact.answeredAt) })
      // If the end was reported first, the call stays completed.
      await sql`
        update calls set status = 'in_progress'
        where company_id = ${companyId} and call_id = ${fact.callId} and status = 'ringing'`.execute(
        tx,
      )
      return count(tx, companyId, fact.callId)
    case "CallerHungUp":
      await update(fact.callId, { gone_at: new Date(fact.goneAt) })
      return count(tx, companyId, fact.callId)
    case "CallEnded":
      return update(fact.callId, { status: "completed", outcome: fact.outcome })
    case "RecordingAvailable":
      return saveAudio(tx, companyId, fact)
  }
}

async function offer(
  tx: Transaction<CallTables>,
  companyId: CompanyId,
  fact: CallFact<"CallOffered">,
  opener: Unsealer,
): Promise<void> {
  const newest = await tx
    .selectFrom("calls")
    .select("created_at")
    .where("company_id", "=", companyId)
    .orderBy("created_at", "desc")
    .limit(1)
    .executeTakeFirst()
  const createdAt = Math.max(fact.at, (newest?.created_at.getTime() ?? 0) + 1)
  const fromNumber = fact.from === null ? null : await opener.unseal(companyId, fact.from)
  const toNumber = await opener.unseal(companyId, fact.to)
  const row = { ...fact, companyId, direction: "in", fromNumber, toNumber, createdAt } as const
  const initial = { status: "ringing", seconds: 0, recorded: false } as const
  const unknown = { recordingSeconds: 0, chargedMicros: 0, answeredAt: null, goneAt: null }
  await CALLS.insert(tx, [CALLS.rowOf({ ...row, ...initial, ...unknown })])
}

async function change(
  tx: Transaction<CallTables>,
  companyId: CompanyId,
  callId: CallId,
  changes: Partial<CallRow>,
): Promise<void> {
  await tx
    .updateTable("calls")
    .set(changes)
    .where("company_id", "=", companyId)
    .where("call_id", "=", callId)
    .execute()
}

/** Calculates a call's seconds from the carrier's times. */
async function count(
  tx: Transaction<CallTables>,
  companyId: CompanyId,
  callId: CallId,
): Promise<void> {
  const row = await tx
    .selectFrom("calls")
    .select(["answered_at", "gone_at"])
    .where("company_id", "=", companyId)
    .where("call_id", "=", callId)
    .executeTakeFirst()
  if (row === undefined) return
  const [answeredAt, goneAt] = [row.answered_at?.getTime() ?? null, row.gone_at?.getTime() ?? null]
  await change(tx, companyId, callId, { seconds: callSecondsOf({ answeredAt, goneAt }) })
}

async function saveAudio(
  tx: Transaction<CallTables>,
  companyId: CompanyId,
  { callId, kind, seconds }: CallFact<"RecordingAvailable">,
): Promise<void> {
  if (kind === "call") {
    return change(tx, companyId, callId, { recorded: true, recording_seconds: seconds })
  }
  await change(tx, companyId, callId, { voicemail_seconds: seconds })
  if (!isVoicemailLeft(kind, seconds)) return
  await sql`
    update calls set outcome = 'voicemail'
    where company_id = ${companyId} and call_id = ${callId} and outcome = 'missed'`.execute(tx)
}

/** Adds the charges of a call's minutes and subtracts refunds. */
async function applyChargeFact(
  tx: Transaction<CallTables>,
  companyId: CompanyId,
  fact: LedgerFact<"Charged" | "ChargeReduced">,
): Promise<void> {
  const callId = fact.resource === null ? null : parseCallId(fact.resource)
  if (callId === null) return
  const micros = fact.type === "Charged" ? fact.amountMicros : -fact.amountMicros
  await sql`
    update calls set charged_micros = charged_micros + ${micros}
    where company_id = ${companyId} and call_id = ${callId}`.execute(tx)
}

/** Selects the newest calls between two instants, both exclusive. */
interface CallsQuery {
  readonly companyId: CompanyId
  readonly since: Date | null
  readonly before: Date | null
  readonly limit: number
}

/** Lists the selected calls, oldest first. */
export async function listCalls(
  db: Kysely<CallTables>,
  { companyId, since, before, limit }: CallsQuery,
): Promise<readonly CallRow[]> {
  let rows = db
    .selectFrom("calls")
    .selectAll()
    .where("company_id", "=", companyId)
    .orderBy("created_at", "desc")
    .limit(limit)
  if (since !== null) rows = rows.where("created_at", ">", since)
  if (before !== null) rows = rows.where("created_at", "<", before)
  return (await rows.execute()).toReversed()
}

/** Finds a call of any company; null if there is none. For operators and for reports of the carrier. */
export async function findCallRow(db: Kysely<CallTables>, callId: CallId): Promise<CallRow | null> {
  const row = await db
    .selectFrom("calls")
    .selectAll()
    .where("call_id", "=", callId)
    .executeTakeFirst()
  return row ?? null
}

/** Counts calls by status. */
export async function countCalls(
  db: Kysely<CallTables>,
): Promise<readonly { readonly status: CallStatus; readonly count: number }[]> {
  const rows = await db
    .selectFrom("calls")
    .select(["status", (eb) => eb.fn.countAll<string>().as("count")])
    .groupBy("status")
    .execute()
  return rows.map(({ status, count: calls_ }) => ({ status, count: Number(calls_) }))
}
