import type { Pool, PoolClient } from "pg"
import type { Pacer } from "../../machine/clock/port.ts"
import { dropShadowSchema } from "../projector/shadow.ts"
import { LIVE_SCHEMA, inTransaction } from "../projector/tables.ts"
import type { StuckJob } from "../jobs/port.ts"
import type { Erasure } from "./port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { EMBEDDED_CLUSTER_NAME } from "../embedded/folder.ts"

/** So often the log is gone through at most; each time takes what the time before left. */
const MAX_ROUNDS = 8

/** A read model with tables in which personal text stands in the clear. */
interface PersonalReadModel {
  readonly name: string
  readonly personalTables: readonly string[]
}

/** What erasing works with. */
export interface ErasurePorts {
  readonly pool: Pool
  readonly pacer: Pacer
  /** Ends what this process remembers of a company's keys; the others are called out to. */
  readonly forgetKeys: (companyId: CompanyId) => void
  /** The read models; those without personal tables are left alone. */
  readonly readModels: readonly {
    readonly name: string
    readonly personalTables?: readonly string[]
  }[]
  /** Tables of slices, each with a `company_id`, of which a company's rows go as they are. Default none. */
  readonly tables?: readonly string[]
  /** Default none. */
  readonly jobKinds?: {
    /** The kinds that end with their company. */
    readonly ending: readonly string[]
    /** The kinds that carry what people wrote, or speak to them. What is owed goes on. */
    readonly personal: readonly string[]
  }
}

/** Up to this size a table is written anew; a larger one would stand still for too long. */
const MAX_REWRITTEN_BYTES = 64 * 1024 * 1024
const POLL_INTERVAL_MS = 50
const SNAPSHOT_TIMEOUT_MS = 5_000

/** Every table of the program itself in the schema `ledger` that holds anything personal of a company, sealed or not. */
const TABLES = [
  "activity_log",
  "blob_chunks",
  "blobs",
  "checkpoints",
  "company_keys",
  "expiring_records",
  "idempotent_requests",
  "jobs",
  "online_status",
  "simulated_records",
  "subject_keys",
]

/** Of these a company's rows go as they are; what hangs on them goes with them. */
const DELETED_TABLES = [
  "activity_log",
  "blobs",
  "expiring_records",
  "idempotent_requests",
  "online_status",
]

/** Erasing in PostgreSQL. */
export function openPostgresErasure(ports: ErasurePorts): Erasure {
  const { pool, forgetKeys, tables = [], jobKinds = { ending: [], personal: [] } } = ports
  return {
    destroyKeys: async (companyId) => {
      await inTransaction(pool, async (client) => {
        await client.query(
          `insert into ledger.company_keys (company_id, wrapped) values ($1, '')
           on conflict (company_id) do update set wrapped = ''`,
          [companyId],
        )
        await client.query("delete from ledger.subject_keys where company_id = $1", [companyId])
      })
      forgetKeys(companyId)
    },
    destroySubjectKey: async (companyId, subject) => {
      const which = [companyId, subject]
      await inTransaction(pool, async (client) => {
        // The table calls out to the other processes: they forget the company's keys, and load what is there.
        const gone = "delete from ledger.subject_keys where company_id = $1 and subject = $2"
        await client.query(gone, which)
        await client.query("insert into ledger.subject_keys values ($1, $2, '')", which)
      })
      forgetKeys(companyId)
    },
    listOpenJobs: async (companyId) => {
      const { rows } = await pool.query<JobRow>(
        `select job_id, kind, name, subject, payload, stuck from ledger.jobs
         where company_id = $1 and kind = any($2) order by job_id`,
        [companyId, jobKinds.ending],
      )
      return rows.map((row) => toStuckJob(companyId, row))
    },
    deleteRows: (companyId) =>
      inTransaction(pool, async (client) => {
        for (const table of [...DELETED_TABLES, ...tables]) {
          await client.query(`delete from ledger."${table}" where company_id = $1`, [companyId])
        }
        // What a simulated processor took is money: it stays.
        await client.query(
          "delete from ledger.simulated_records where company_id = $1 and not is_permanent",
          [companyId],
        )
        await client.query("delete from ledger.jobs where company_id = $1 and kind = any($2)", [
          companyId,
          jobKinds.personal,
        ])
        // Caches: what they hold is made anew from the events.
        await client.query(
          "delete from ledger.checkpoints where stream ~ ('-' || $1::text || '(-|$)')",
          [companyId],
        )
      }),
    wipeFiles: () => wipeFiles(ports),
  }
}

interface JobRow {
  readonly job_id: number
  readonly kind: string
  readonly name: string
  readonly subject: string
  readonly payload: string
  readonly stuck: string | null
}

function toStuckJob(companyId: CompanyId, row: JobRow): StuckJob {
  const { job_id: jobId, kind, name, subject, stuck } = row
  return { jobId, kind, name, subject, companyId, stuck: stuck, payload: JSON.parse(row.payload) }
}

async function wipeFiles({ pool, pacer, readModels, tables = [] }: ErasurePorts): Promise<boolean> {
  const personal = readModels.filter(
    (one): one is PersonalReadModel => one.personalTables !== undefined,
  )
  for (const { name } of personal) if (!(await dropShadowSchema(pool, name))) return false
  if (!(await waitForOldSnapshots(pool, pacer))) return false
  const client = await pool.connect()
  try {
    await client.query(`set lock_timeout = ${SNAPSHOT_TIMEOUT_MS}`)
    for (const table of [...TABLES, ...tables]) await rewriteTable(client, "ledger", table)
    for (const table of personal.flatMap((one) => one.personalTables)) {
      await rewriteTable(client, LIVE_SCHEMA, table)
    }
    // What the planner knew of the columns: their most common values.
    await client.query("vacuum (full) pg_catalog.pg_statistic")
    return await overwriteWal(client)
  } finally {
    // Its setting is nobody else's.
    client.release(true)
  }
}

/**
 * Waits until whoever may still see what was deleted has ended: for those PostgreSQL keeps it. That
 * are the older transactions of all the server's databases, for a snapshot taken here is as old as
 * the oldest of them, and whoever holds an old snapshot of this database. A long look back, as a
 * backup's, is not waited for.
 */
async function waitForOldSnapshots(pool: Pool, pacer: Pacer): Promise<boolean> {
  const { rows } = await pool.query<{ id: string }>("select pg_current_xact_id()::text as id")
  const until = pacer.elapsedMs() + SNAPSHOT_TIMEOUT_MS
  for (;;) {
    const looking = await pool.query<{ some: boolean }>(HAS_OLD_SNAPSHOTS, [rows[0]?.id])
    if (looking.rows[0]?.some === false) return true
    if (pacer.elapsedMs() >= until) return false
    await pacer.pause(POLL_INTERVAL_MS)
  }
}

const HAS_OLD_SNAPSHOTS = `
  select pg_snapshot_xmin(pg_current_snapshot()) <= $1::text::xid8 or exists (
    select from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()
      and age(backend_xmin) > age($1::text::xid8::xid)) as some`

/** Writes a table anew without what was deleted from it, and what is known of its columns. */
async function rewriteTable(client: PoolClient, schema: string, table: string): Promise<void> {
  const name = `"${schema}"."${table}"`
  if (await canClearStatistics(client)) await client.query(CLEAR_STATISTICS, [schema, table])
  const { rows } = await client.query<{ bytes: string }>(
    "select pg_total_relation_size($1::regclass)::text as bytes",
    [name],
  )
  const full = Number(rows[0]?.bytes) <= MAX_REWRITTEN_BYTES
  await client.query(`vacuum (${full ? "full, " : ""}analyze) ${name}`)
}

/** PostgreSQL can since its version 18; an older one keeps some values of a table that became empty. */
async function canClearStatistics(client: PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ can: boolean }>(
    "select to_regproc('pg_catalog.pg_clear_attribute_stats') is not null as can",
  )
  return rows[0]?.can === true
}

/**
 * An empty table is not analysed, so what is known of its columns is forgotten first, and what is known of the
 * expressions of its indexes.
 */
const CLEAR_STATISTICS = `
  select pg_clear_attribute_stats($1::text, relname::text, attname::text, false)
  from pg_class join pg_attribute on attrelid = pg_class.oid and attnum > 0 and not attisdropped
  where pg_class.oid = format('%I.%I', $1::text, $2::text)::regclass or pg_class.oid in (
    select indexrelid from pg_index
    where indrelid = format('%I.%I', $1::text, $2::text)::regclass and indexprs is not null)`

/**
 * Overwrites or removes every file of the write-ahead log that was written before, where the server is
 * the embedded one and nobody else's: then only this installation waits for the checkpoints.
 *
 * A switch to the next file fills the rest of the one before with zeros, and a checkpoint makes the
 * files behind it free to be used again, with what is in them. So switching through as many files as
 * there are leaves nothing old in them.
 *
 * @returns false where an older file is still there: to be done again later
 */
async function overwriteWal(client: PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ cluster_name: string }>("show cluster_name")
  if (rows[0]?.cluster_name !== EMBEDDED_CLUSTER_NAME) return true
  // The file that is written to now is left first, so that nothing is added to what stands in it; and
  // a file's time is told in whole seconds: what was written in this one is old as well.
  await switchWalFile(client)
  await client.query("set synchronous_commit = on")
  await flushWal(client)
  await client.query("select pg_sleep(1.1)")
  const begun = await client.query<{ at: Date }>("select date_trunc('second', now()) as at")
  const since = begun.rows[0]?.at as Date
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const files = await client.query<{ old: number; all: number }>(
      `select count(*) filter (where modification < $1)::integer as old, count(*)::integer as all
       from pg_ls_waldir()`,
      [since],
    )
    const { old = 0, all = 0 } = files.rows[0] ?? {}
    if (round > 0 && old === 0) {
      // Another's checkpoint may have brought back a file that is written to now: behind that it is old.
      await switchWalFile(client)
      await flushWal(client)
      return true
    }
    for (let file = 0; file <= all; file += 1) await switchWalFile(client)
    await client.query("checkpoint")
  }
  return false
}

async function switchWalFile(client: PoolClient): Promise<void> {
  // Without something in it a file is not switched away from.
  await client.query("select pg_logical_emit_message(false, 'wipe', '')")
  await client.query("select pg_switch_wal()")
}

/** What was written is not on the disk yet; it is once a later commit is. */
async function flushWal(client: PoolClient): Promise<void> {
  await client.query("select pg_logical_emit_message(true, 'wipe', '')")
}
