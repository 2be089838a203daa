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

const WHOLE_BLOBS = "(select * from ledger.blobs where mark is not null)"

/**
 * Every table of the program itself in the schema `ledger` that a backup holds, in the order they are
 * written in.
 *
 * - `work` waits for its time, and a row that is done is gone: read with the place up to which rows
 *   were made, it is neither lost nor made again. It could be made from all events anew, but then
 *   every reminder ever sent would be asked for again.
 * - `claims` hold answers for 30 days, those to purchases for ever, for callers who ask again, and what
 *   the ids of their requests derive from. Answers are those given before the events are read: their facts are in the backup. A
 *   request that was begun or answered later is held as one that somebody left in the middle: who asks
 *   again finds what of it is in the backup, and does the rest.
 * - `installation`, `company_keys`, `subject_keys`: without them nothing sealed can be read again.
 * - `signing_key`, `tree_heads`: what auditors were given, and the key that says it was us.
 * - `test_clock`, `stand_ins`: what an operator set.
 * - `simulated`: what the built-in carrier, mailer and payment processor took, and what that one does
 *   with whose card. They stand for things outside, which a restore does not set back.
 * - `kept`: what slices keep for a time; who asks again after a restore finds it still.
 * - `journal`: what was done, as people are shown it; nothing else knows of it.
 * - `corrupt_streams`: which streams a backup holds a part of only, and why.
 * - `blobs`, `blob_chunks`: bytes that facts speak of, as far as they are whole.
 */
const KEPT: readonly TableInBackup[] = [
  whole("work", "before", "work_id", "work_id"),
  {
    table: "claims",
    rows: [
      {
        name: "claims",
        part: "before",
        from: "(select * from ledger.claims where state = 'done')",
        key: "key_id, idempotency_key",
      },
      {
        name: "claims_left",
        part: "after",
        from: `(
          select company_id, key_id, idempotency_key, fingerprint,
            case state when 'free' then 'free' else 'running' end as state,
            '' as process_id, attempt, begun, claimed_at, lasting
          from ledger.claims)`,
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
  whole("stand_ins", "after", "name"),
  whole("simulated", "after", "place", "place"),
  whole("kept", "after", "company_id, slice, kind, name"),
  whole("journal", "after", "place", "place"),
  whole("corrupt_streams", "after", "stream"),
  {
    table: "blobs",
    rows: [{ name: "blobs", part: "after", from: WHOLE_BLOBS, key: "edition" }],
  },
  {
    table: "blob_chunks",
    rows: [
      {
        name: "blob_chunks",
        part: "after",
        from: `(select * from ledger.blob_chunks where edition in (select edition from ${WHOLE_BLOBS} b))`,
        key: "edition, index",
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
 * online and which app asks to be connected is over when a backup is restored. Of
 * `projections` only the place of what is no fold is held, beside `work`.
 */
export const LEFT_OUT: readonly string[] = [
  "checkpoints",
  "connect_codes",
  "event_store",
  "kysely_migration",
  "kysely_migration_lock",
  "presence",
  "processes",
  "projections",
  "trees",
  "trees_read",
  "unfinished_restore",
]

/** The table of positions, of which a backup holds some rows. */
export const POSITIONS = "projections"
