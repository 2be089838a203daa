import type { Pool, PoolClient } from "pg"
import { inTransaction, readStoredProjections } from "../projector/tables.ts"
import type {
  InstallationState,
  StoreIdentity,
  EventStoreKind,
  StoreMigration,
  SliceTable,
  BackupPhase,
} from "./port.ts"

interface Row {
  readonly kind: EventStoreKind
  readonly first_event: string
  readonly first_commit: number
  readonly first_prepare: number
}

/**
 * The memory in the tables `ledger.event_store` and `ledger.unfinished_restore`.
 *
 * @param hints the projections that are written once and never folded anew
 */
export function openInstallationState(pool: Pool, hints: readonly string[]): InstallationState {
  return {
    eventStore: async () => {
      const { rows } = await pool.query<Row>("select * from ledger.event_store")
      return rows[0] === undefined ? null : identityOf(rows[0])
    },
    saveEventStore: async (identity) => {
      await pool.query(`${INSERT} on conflict do nothing`, [...valuesOf(identity), 0])
    },
    generation: () => readGeneration(pool),
    saveMigration: (identity, handledPositions) =>
      inTransaction(pool, async (client) => {
        const { rows } = await client.query<{ generation: number }>(
          "delete from ledger.event_store returning generation",
        )
        const generation = (rows[0]?.generation ?? 0) + 1
        await writeStoreMigration(client, { identity, generation, handledPositions }, hints)
      }),
    handledPositions: async () => {
      const rows = (await readStoredProjections(pool)).filter(({ name }) => hints.includes(name))
      return new Map(rows.map(({ name, position }) => [name, position]))
    },
    unfinishedRestore: async () => {
      const { rows } = await pool.query<{ backup: string }>(
        "select backup from ledger.unfinished_restore",
      )
      return rows[0]?.backup ?? null
    },
  }
}

/** How often the events have moved. */
export async function readGeneration(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ generation: number }>(
    "select generation from ledger.event_store",
  )
  return rows[0]?.generation ?? 0
}

const INSERT = `
  insert into ledger.event_store (kind, first_event, first_commit, first_prepare, generation)
  values ($1, $2, $3, $4, $5)`

/** Writes in a transaction what `moveTo` says, where no event store is remembered. */
export async function writeStoreMigration(
  client: PoolClient,
  { identity, generation, handledPositions }: StoreMigration,
  hints: readonly string[],
): Promise<void> {
  await client.query(INSERT, [...valuesOf(identity), generation])
  // A read model of which nothing is known is made anew by whoever starts next.
  await client.query("delete from ledger.projections where not (name = any($1))", [hints])
  for (const [hint, { commit, prepare }] of handledPositions) {
    await client.query(
      `update ledger.projections
       set commit_position = $2, prepare_position = $3, last_event = null, fault = null
       where name = $1`,
      [hint, commit, prepare],
    )
  }
}

function valuesOf({ kind, firstEvent, first }: StoreIdentity): unknown[] {
  return [kind, firstEvent, first.commit, first.prepare]
}

function identityOf({ kind, first_event, first_commit, first_prepare }: Row): StoreIdentity {
  const first = { commit: BigInt(first_commit), prepare: BigInt(first_prepare) }
  return { kind, firstEvent: first_event, first }
}

/** Rows of a table that a backup holds. */
export interface BackupRows {
  /** What the rows are called in a backup. */
  readonly name: string
  readonly phase: BackupPhase
  /** The table and which of its rows, as a statement selects them; default the whole table. */
  readonly from?: string
  /** In which order rows are read. */
  readonly orderBy: string
  /** How many rows are held at once; default 200. Fewer where each is large. */
  readonly batchSize?: number
}

/** A table that a backup holds. */
export interface BackupTable {
  readonly table: string
  /** The column that PostgreSQL counts up. */
  readonly identityColumn?: string
  readonly rows: readonly BackupRows[]
}

const wholeTable = (
  table: string,
  phase: BackupPhase,
  orderBy: string,
  identityColumn?: string,
): BackupTable => ({
  table,
  ...(identityColumn === undefined ? {} : { identityColumn }),
  rows: [{ name: table, phase, orderBy }],
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
const PROGRAM_TABLES: readonly BackupTable[] = [
  wholeTable("jobs", "before", "job_id", "job_id"),
  {
    table: "idempotent_requests",
    rows: [
      {
        name: "idempotent_requests",
        phase: "before",
        from: "(select * from ledger.idempotent_requests where state = 'done')",
        orderBy: "key_id, idempotency_key",
      },
      {
        name: "idempotent_requests_left",
        phase: "after",
        from: `(
          select company_id, key_id, idempotency_key, fingerprint,
            case state when 'free' then 'free' else 'running' end as state,
            '' as process_id, attempt, started, claimed_at, is_permanent
          from ledger.idempotent_requests)`,
        orderBy: "key_id, idempotency_key",
      },
    ],
  },
  wholeTable("installation", "after", "only_one"),
  wholeTable("company_keys", "after", "company_id"),
  wholeTable("subject_keys", "after", "company_id, subject"),
  wholeTable("signing_key", "after", "only_one"),
  wholeTable("tree_heads", "after", "tree, size"),
  wholeTable("test_clock", "after", "only_one"),
  wholeTable("simulators", "after", "name"),
  wholeTable("simulated_records", "after", "record_id", "record_id"),
  wholeTable("expiring_records", "after", "company_id, slice, kind, name"),
  wholeTable("activity_log", "after", "entry_id", "entry_id"),
  wholeTable("corrupt_streams", "after", "stream"),
  {
    table: "blobs",
    rows: [{ name: "blobs", phase: "after", from: WHOLE_BLOBS, orderBy: "version_id" }],
  },
  {
    table: "blob_chunks",
    rows: [
      {
        name: "blob_chunks",
        phase: "after",
        from: `(select * from ledger.blob_chunks where version_id in (select version_id from ${WHOLE_BLOBS} b))`,
        orderBy: "version_id, index",
        // As text one of them is 128 KiB.
        batchSize: 4,
      },
    ],
  },
]

/** Every table that a backup holds: those of the program, behind them those of its slices. */
export function listBackupTables(own: readonly SliceTable[]): readonly BackupTable[] {
  const kept = own.flatMap(({ table, backup, identityColumn }) =>
    "excludedBecause" in backup
      ? []
      : [wholeTable(table, backup.phase, backup.orderBy, identityColumn)],
  )
  return [...PROGRAM_TABLES, ...kept]
}

/**
 * Tables of the program itself that no backup holds: `checkpoints`, the edges of `trees` and all read models are folds of events, `processes` are
 * those that run just now, the event store and an unfinished restore are of this place alone; who is
 * online is over when a backup is restored. Of
 * `projections` only the place of what is no fold is held, beside `jobs`.
 */
export const TABLES_NOT_IN_BACKUP: readonly string[] = [
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
export const POSITIONS_TABLE = "projections"
