import type { OwnTable, TablePart } from "./port.ts"

/** Rows of a table that a backup holds. */
export interface RowsInBackup {
  /** What the rows are called in a backup. */
  readonly name: string
  readonly part: TablePart
  /** The table and which of its rows, as a statement selects them; default the whole table. */
  readonly from?: string
  /** In which order rows are read. */
  readonly key: string
  /** How many rows are held at once; default 200. Fewer where each is large. */
  readonly atOnce?: number
}

/** A table that a backup holds. */
export interface TableInBackup {
  readonly table: string
  /** The column that PostgreSQL counts up. */
  readonly counter?: string
  readonly rows: readonly RowsInBackup[]
}

const whole = (table: string, part: TablePart, key: string, counter?: string): TableInBackup => ({
  table,
  ...(counter === undefined ? {} : { counter }),
  rows: [{ name: table, part, key }],
})

const WHOLE_BLOBS = "(select * from ledger.blobs where digest is not null)"

/**
 * Every table of the program itself in the schema `ledger` that a backup holds, in the order they are
 * written in.
 *
 * - `jobs` wait for their time, and a row that is done is gone: read with the place up to which rows
 *   were made, it is neither lost nor made again. It could be made from all events anew, but then
 *   every reminder ever sent would be asked for again.
 * - `idempotent_requests` hold answers for 30 days, those to purchases for ever, for callers who ask again, and what
 *   the ids of their requests derive from. Answers are those given before the events are read: their facts are in the backup. A
 *   request that was begun or answered later is held as one that somebody left in the middle: who asks
 *   again finds what of it is in the backup, and does the rest.
 * - `installation`, `company_keys`, `subject_keys`: without them nothing sealed can be read again.
 * - `signing_key`, `tree_heads`: what auditors were given, and the key that says it was us.
 * - `test_clock`, `simulators`: what an operator set.
 * - `simulated_records`: what the built-in carrier, mailer and payment processor took, and what that one does
 *   with whose card. They stand for things outside, which a restore does not set back.
 * - `expiring_records`: what slices keep for a time; who asks again after a restore finds it still.
 * - `activity_log`: what was done, as people are shown it; nothing else knows of it.
 * - `corrupt_streams`: which streams a backup holds a part of only, and why.
 * - `blobs`, `blob_chunks`: bytes that facts speak of, as far as they are whole.
 */
const KEPT: readonly TableInBackup[] = [
  whole("jobs", "before", "job_id", "job_id"),
  {
    table: "idempotent_requests",
    rows: [
      {
        name: "idempotent_requests",
        part: "before",
        from: "(select * from ledger.idempotent_requests where state = 'done')",
        key: "key_id, idempotency_key",
      },
      {
        name: "idempotent_requests_left",
        part: "after",
        from: `(
          select company_id, key_id, idempotency_key, fingerprint,
            case state when 'free' then 'free' else 'running' end as state,
            '' as process_id, attempt, started, claimed_at, is_permanent
          from ledger.idempotent_requests)`,
        key: "key_id, idempotency_key",
      },
    ],
  },
  whole("installation", "after", "only_one"),
  whole("company_keys", "after", "company_id"),
  whole("subject_keys", "after", "company_id, subject"),
  whole("signing_key", "after", "only_one"),
  whole("tree_heads", "after", "tree, size"),
  whole("test_clock", "after", "only_one"),
  whole("simulators", "after", "name"),
  whole("simulated_records", "after", "record_id", "record_id"),
  whole("expiring_records", "after", "company_id, slice, kind, name"),
  whole("activity_log", "after", "entry_id", "entry_id"),
  whole("corrupt_streams", "after", "stream"),
  {
    table: "blobs",
    rows: [{ name: "blobs", part: "after", from: WHOLE_BLOBS, key: "version_id" }],
  },
  {
    table: "blob_chunks",
    rows: [
      {
        name: "blob_chunks",
        part: "after",
        from: `(select * from ledger.blob_chunks where version_id in (select version_id from ${WHOLE_BLOBS} b))`,
        key: "version_id, index",
        // As text one of them is 128 KiB.
        atOnce: 4,
      },
    ],
  },
]

/** Every table that a backup holds: those of the program, behind them those of its slices. */
export function tablesInBackup(own: readonly OwnTable[]): readonly TableInBackup[] {
  const kept = own.flatMap(({ table, backup, counter }) =>
    "leftOut" in backup ? [] : [whole(table, backup.part, backup.key, counter)],
  )
  return [...KEPT, ...kept]
}

/**
 * Tables of the program itself that no backup holds: `checkpoints`, the edges of `trees` and all read models are folds of events, `processes` are
 * those that run just now, the event store and an unfinished restore are of this place alone; who is
 * online is over when a backup is restored. Of
 * `projections` only the place of what is no fold is held, beside `jobs`.
 */
export const LEFT_OUT: readonly string[] = [
  "checkpoints",
  "event_store",
  "kysely_migration",
  "kysely_migration_lock",
  "online_status",
  "processes",
  "projections",
  "trees",
  "tree_position",
  "unfinished_restore",
]

/** The table of positions, of which a backup holds some rows. */
export const POSITIONS = "projections"
