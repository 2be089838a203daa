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
 * Opens the state in the tables `ledger.event_store` and `ledger.unfinished_restore`.
 *
 * @param jobProjections the projections that are never rebuilt
 */
export function openInstallationState(
  pool: Pool,
  jobProjections: readonly string[],
): InstallationState {
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
        await writeStoreMigration(
          client,
          { identity, generation, handledPositions },
          jobProjections,
        )
      }),
    handledPositions: async () => {
      const rows = (await readStoredProjections(pool)).filter(({ name }) =>
        jobProjections.includes(name),
      )
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

/** How often the events have been migrated. */
export async function readGeneration(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ generation: number }>(
    "select generation from ledger.event_store",
  )
  return rows[0]?.generation ?? 0
}

const INSERT = `
  insert into ledger.event_store (kind, first_event, first_commit, first_prepare, generation)
  values ($1, $2, $3, $4, $5)`

/** Writes a migration in a transaction in which `ledger.event_store` is empty. */
export async function writeStoreMigration(
  client: PoolClient,
  { identity, generation, handledPositions }: StoreMigration,
  jobProjections: readonly string[],
): Promise<void> {
  await client.query(INSERT, [...valuesOf(identity), generation])
  // The next start rebuilds read models without a row.
  await client.query("delete from ledger.projections where not (name = any($1))", [jobProjections])
  for (const [projection, { commit, prepare }] of handledPositions) {
    await client.query(
      `update ledger.projections
       set commit_position = $2, prepare_position = $3, last_event = null, fault = null
       where name = $1`,
      [projection, commit, prepare],
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

export interface BackupRows {
  readonly name: string
  readonly phase: BackupPhase
  /** The SQL of the rows, a table or a subquery; default the whole table. */
  readonly from?: string
  readonly orderBy: string
  /** Rows per fetch; default 200. Lower for large rows. */
  readonly batchSize?: number
}

export interface BackupTable {
  readonly table: string
  /** The column with an identity sequence. */
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

const COMPLETE_BLOBS = "(select * from ledger.blobs where digest is not null)"

/**
 * The tables of the program in the schema `ledger` that a backup contains, in the order in which they are written.
 *
 * - `jobs`: finished jobs are deleted, so jobs are read together with the position up to which they were created,
 *   and are neither lost nor created again. Rebuilding them from all events would send every reminder again.
 * - `idempotent_requests`: answers, stored for 30 days (those to purchases forever) for retries, and the origin of
 *   the requests' ids. Only answers given before the events are read are included, because their facts are in the
 *   backup. A request that started or was answered later is stored as abandoned: a retry finds its facts in the
 *   backup and does the rest.
 * - `installation`, `company_keys`, `subject_keys`: without them sealed data is unreadable.
 * - `signing_key`, `tree_heads`: heads that auditors have, and the key that proves we signed them.
 * - `test_clock`, `simulators`: settings of an operator.
 * - `simulated_records`: records of the simulated carrier, mailer and card processor. They represent the outside
 *   world, which a restore does not set back.
 * - `expiring_records`: slices still need them after a restore.
 * - `activity_log`: entries that exist nowhere else.
 * - `corrupt_streams`: the streams of which a backup contains only a part, and why.
 * - `blobs`, `blob_chunks`: bytes that facts refer to, if they are complete.
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
    rows: [{ name: "blobs", phase: "after", from: COMPLETE_BLOBS, orderBy: "version_id" }],
  },
  {
    table: "blob_chunks",
    rows: [
      {
        name: "blob_chunks",
        phase: "after",
        from: `(select * from ledger.blob_chunks where version_id in (select version_id from ${COMPLETE_BLOBS} b))`,
        orderBy: "version_id, index",
        // As text each of them is 128 KiB.
        batchSize: 4,
      },
    ],
  },
]

/** All tables that a backup contains: the program's, then those of its slices. */
export function listBackupTables(sliceTables: readonly SliceTable[]): readonly BackupTable[] {
  const included = sliceTables.flatMap(({ table, backup, identityColumn }) =>
    "excludedBecause" in backup
      ? []
      : [wholeTable(table, backup.phase, backup.orderBy, identityColumn)],
  )
  return [...PROGRAM_TABLES, ...included]
}

/**
 * Tables of the program that no backup contains: `checkpoints`, `trees` and read models derive from
 * events; `processes` are those running now; the event store and an unfinished restore belong to
 * this database; the online status is outdated after a restore. Of `projections` only the positions
 * of job projections are included, with `jobs`.
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

/** The table of positions, of which a backup contains some rows. */
export const POSITIONS_TABLE = "projections"
