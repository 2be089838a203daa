/** Read model `recordings`: the calls of which audio was kept, and what of it is held. */
import type { Kysely, Transaction } from "kysely"
import { sql } from "kysely"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { CallId } from "../../domain/recordings/ids.ts"
import type { RecordingEvent } from "../../domain/recordings/recording-events.ts"
import { unnested } from "../kernel/columns.ts"
import type { Projection } from "../kernel/projection.ts"
import { ofCompanies } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import { instant, integer, madeOf, orNull, table, text } from "../kernel/table.ts"

const RECORDINGS = table(
  "recordings",
  {
    company_id: text<CompanyId>(),
    call_id: text<CallId>(),
    called_at: instant(),
    call_seconds: orNull(integer()),
    voicemail_seconds: orNull(integer()),
  },
  ["company_id", "call_id"],
  "(company_id, called_at)",
)

/** A call; the seconds of what is held no more are null. */
export type RecordingRow = RowOf<typeof RECORDINGS>

/** The tables of the read model. */
export type RecordingTables = RowsOf<typeof RECORDINGS>

/** The read model. */
export const recordings: Projection = {
  name: "recordings",
  version: 1,
  categories: ["recordings"],
  ignores: ["KeepDaysSet", "KeptMinutesCounted"],
  ...madeOf(RECORDINGS),
  apply: async (tx: Transaction<RecordingTables>, facts) => {
    const told = ofCompanies(facts).flatMap(({ companyId, fact }) =>
      fact.type === "AudioKept" || fact.type === "AudioDeleted" ? { companyId, fact } : [],
    )
    if (told.length === 0) return
    const rows = await rowsOf(tx, told)
    for (const { companyId, fact } of told) {
      const place = `${companyId} ${fact.callId}`
      const row = after(rows.get(place), companyId, fact)
      if (row !== undefined) rows.set(place, row)
    }
    await RECORDINGS.upsert(tx, [...rows.values()])
  },
}

type AudioFact = Extract<RecordingEvent, { readonly type: "AudioKept" | "AudioDeleted" }>

/** A call's row after a fact; what nobody kept has none. */
function after(
  row: RecordingRow | undefined,
  companyId: CompanyId,
  fact: AudioFact,
): RecordingRow | undefined {
  const column = fact.kind === "call" ? "call_seconds" : "voicemail_seconds"
  if (fact.type === "AudioDeleted") return row && { ...row, [column]: null }
  const fresh = RECORDINGS.rowOf({ companyId, ...fact })
  return { ...(row ?? fresh), [column]: fact.seconds }
}

/** The rows that the facts may change, by company and call. */
async function rowsOf(
  tx: Transaction<RecordingTables>,
  told: readonly { readonly companyId: CompanyId; readonly fact: AudioFact }[],
): Promise<Map<string, RecordingRow>> {
  const asked = told.map(({ companyId, fact }) => ({
    company_id: companyId,
    call_id: fact.callId,
  }))
  const columns = { company_id: "text", call_id: "text" } as const
  const { rows } = await sql<RecordingRow>`
    select * from recordings
    where (company_id, call_id) in (
      select company_id, call_id from ${unnested(columns, asked, "asked")})`.execute(tx)
  return new Map(rows.map((row) => [`${row.company_id} ${row.call_id}`, row]))
}

/** The newest calls of a company of which something is held, newest first. Runs as the API. */
export async function listRecordings(
  db: Kysely<RecordingTables>,
  companyId: CompanyId,
  { before, limit }: { readonly before: Date | null; readonly limit: number },
): Promise<readonly RecordingRow[]> {
  const rows = db
    .selectFrom("recordings")
    .selectAll()
    .where("company_id", "=", companyId)
    .where((where) =>
      where.or([where("call_seconds", "is not", null), where("voicemail_seconds", "is not", null)]),
    )
    .orderBy("called_at", "desc")
    .orderBy("call_id", "desc")
    .limit(limit)
  return (before === null ? rows : rows.where("called_at", "<", before)).execute()
}

/** Whether audio of a call of the company was ever kept. Runs as the API. */
export async function wasRecorded(
  db: Kysely<RecordingTables>,
  companyId: CompanyId,
  callId: CallId,
): Promise<boolean> {
  const row = db
    .selectFrom("recordings")
    .select("call_id")
    .where("company_id", "=", companyId)
    .where("call_id", "=", callId)
  return (await row.executeTakeFirst()) !== undefined
}
