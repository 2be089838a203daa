/** Read model `recordings`: the stored recordings of calls, listed together with the read model `calls`. */
import type { Kysely, Transaction } from "kysely"
import { sql } from "kysely"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { RecordingEvent } from "../../domain/recordings/recording-events.ts"
import type { CallId } from "../../domain/kernel/calls.ts"
import { unnestRows } from "../kernel/columns.ts"
import { companyFacts, defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import {
  integerColumn,
  tablesOf,
  nullableColumn,
  defineTable,
  textColumn,
} from "../kernel/table.ts"
import type { CallRow, CallTables } from "../voice/calls.ts"

const RECORDINGS = defineTable(
  "recordings",
  {
    company_id: textColumn<CompanyId>(),
    call_id: textColumn<CallId>(),
    call_seconds: nullableColumn(integerColumn()),
    voicemail_seconds: nullableColumn(integerColumn()),
  },
  ["company_id", "call_id"],
)

type RecordingRow = RowOf<typeof RECORDINGS>

type RecordingTables = RowsOf<typeof RECORDINGS>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof RECORDINGS> {}
}

/** A call with at least one stored recording. */
export type RecordedCallRow = Pick<RecordingRow, "call_id" | "call_seconds"> &
  Pick<RecordingRow, "voicemail_seconds"> &
  Pick<CallRow, "direction" | "from_number" | "to_number" | "created_at">

/** The read model `recordings`. */
export const recordingsReadModel = defineReadModel({
  name: "recordings",
  version: 1,
  on: ["RecordingStored", "RecordingDeleted"],
  ...tablesOf(RECORDINGS),
  apply: async (tx: Transaction<RecordingTables>, facts) => {
    const recordingFacts = companyFacts(facts)
    if (recordingFacts.length === 0) return
    const rows = await rowsOf(tx, recordingFacts)
    for (const { companyId, fact } of recordingFacts) {
      const key = `${companyId} ${fact.callId}`
      const row = after(rows.get(key), companyId, fact)
      if (row !== undefined) rows.set(key, row)
    }
    await RECORDINGS.upsert(tx, [...rows.values()])
  },
})

type AudioFact = Extract<RecordingEvent, { readonly type: "RecordingStored" | "RecordingDeleted" }>

/** A call's row after an event; undefined if nothing was ever stored. */
function after(
  row: RecordingRow | undefined,
  companyId: CompanyId,
  fact: AudioFact,
): RecordingRow | undefined {
  const column = fact.kind === "call" ? "call_seconds" : "voicemail_seconds"
  if (fact.type === "RecordingDeleted") return row && { ...row, [column]: null }
  const initial = RECORDINGS.rowOf({ companyId, ...fact })
  return { ...(row ?? initial), [column]: fact.seconds }
}

async function rowsOf(
  tx: Transaction<RecordingTables>,
  recordingFacts: readonly { readonly companyId: CompanyId; readonly fact: AudioFact }[],
): Promise<Map<string, RecordingRow>> {
  const requested = recordingFacts.map(({ companyId, fact }) => ({
    company_id: companyId,
    call_id: fact.callId,
  }))
  const columns = { company_id: "text", call_id: "text" } as const
  const { rows } = await sql<RecordingRow>`
    select * from recordings
    where (company_id, call_id) in (
      select company_id, call_id from ${unnestRows(columns, requested, "requested")})`.execute(tx)
  return new Map(rows.map((row) => [`${row.company_id} ${row.call_id}`, row]))
}

/** Lists a company's calls with stored recordings, newest first. Runs as the API. */
export async function listRecordings(
  db: Kysely<RecordingTables & CallTables>,
  companyId: CompanyId,
  { before, limit }: { readonly before: Date | null; readonly limit: number },
): Promise<readonly RecordedCallRow[]> {
  const rows = db
    .selectFrom("recordings")
    .innerJoin("calls", (join) =>
      join
        .onRef("calls.company_id", "=", "recordings.company_id")
        .onRef("calls.call_id", "=", "recordings.call_id"),
    )
    .select(["recordings.call_id", "recordings.call_seconds", "recordings.voicemail_seconds"])
    .select(["calls.direction", "calls.from_number", "calls.to_number", "calls.created_at"])
    .where("recordings.company_id", "=", companyId)
    .where((where) =>
      where.or([
        where("recordings.call_seconds", "is not", null),
        where("recordings.voicemail_seconds", "is not", null),
      ]),
    )
    .orderBy("calls.created_at", "desc")
    .limit(limit)
  return (before === null ? rows : rows.where("calls.created_at", "<", before)).execute()
}
