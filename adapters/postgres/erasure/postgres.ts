import type { Pool, PoolClient } from "pg"
import type { Pacer } from "../../machine/clock/port.ts"
import { dropShadowSchema } from "../projector/shadow.ts"
import { LIVE_SCHEMA, inTransaction } from "../projector/tables.ts"
import type { StuckJob } from "../jobs/port.ts"
import type { Erasure } from "./port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { EMBEDDED_CLUSTER_NAME } from "../embedded/folder.ts"

/** Maximum number of passes over the write-ahead log; each handles files that the one before left. */
const MAX_ROUNDS = 8

interface PersonalReadModel {
  readonly name: string
  readonly personalTables: readonly string[]
}

export interface ErasurePorts {
  readonly pool: Pool
  readonly pacer: Pacer
  /** Makes this process forget a company's keys; the other processes are notified. */
  readonly forgetKeys: (companyId: CompanyId) => void
  /** The read models; only those with `personalTables` are rewritten. */
  readonly readModels: readonly {
    readonly name: string
    readonly personalTables?: readonly string[]
  }[]
  /** Tables of slices with a `company_id`, whose rows of the company are deleted. Default none. */
  readonly tables?: readonly string[]
  readonly jobKinds?: {
    readonly ending: readonly string[]
    /** Kinds that contain text of people or contact them. Jobs of other kinds continue. */
    readonly personal: readonly string[]
  }
}

/** Rewriting a larger table would lock it for too long. */
const MAX_REWRITTEN_BYTES = 64 * 1024 * 1024
const POLL_INTERVAL_MS = 50
const SNAPSHOT_TIMEOUT_MS = 5_000

/** All tables of the program in the schema `ledger` with personal data of a company, sealed or not. */
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

/** Tables whose rows of a company are deleted, with dependent rows. */
const DELETED_TABLES = [
  "activity_log",
  "blobs",
  "expiring_records",
  "idempotent_requests",
  "online_status",
]

/** Opens erasure in PostgreSQL. */
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
      const key = [companyId, subject]
      await inTransaction(pool, async (client) => {
        // A trigger notifies the other processes, which forget the company's keys and reload them.
        const deletion = "delete from ledger.subject_keys where company_id = $1 and subject = $2"
        await client.query(deletion, key)
        await client.query("insert into ledger.subject_keys values ($1, $2, '')", key)
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
        // Permanent records of a simulated card processor are about money: they stay.
        await client.query(
          "delete from ledger.simulated_records where company_id = $1 and not is_permanent",
          [companyId],
        )
        await client.query("delete from ledger.jobs where company_id = $1 and kind = any($2)", [
          companyId,
          jobKinds.personal,
        ])
        // Checkpoints are caches; they are rebuilt from the events.
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
  return { jobId, kind, name, subject, companyId, stuck, payload: JSON.parse(row.payload) }
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
    // The planner's statistics contain common values of the columns.
    await client.query("vacuum (full) pg_catalog.pg_statistic")
    return await overwriteWal(client)
  } finally {
    // Discards the connection because of its lock_timeout.
    client.release(true)
  }
}

/**
 * Waits for transactions that may still see deleted rows, because PostgreSQL keeps the rows for
 * them: older transactions of all databases of the server, and old snapshots of this database.
 * Gives up on long ones, such as a backup's.
 */
async function waitForOldSnapshots(pool: Pool, pacer: Pacer): Promise<boolean> {
  const { rows } = await pool.query<{ id: string }>("select pg_current_xact_id()::text as id")
  const until = pacer.elapsedMs() + SNAPSHOT_TIMEOUT_MS
  for (;;) {
    const check = await pool.query<{ some: boolean }>(HAS_OLD_SNAPSHOTS, [rows[0]?.id])
    if (check.rows[0]?.some === false) return true
    if (pacer.elapsedMs() >= until) return false
    await pacer.pause(POLL_INTERVAL_MS)
  }
}

const HAS_OLD_SNAPSHOTS = `
  select pg_snapshot_xmin(pg_current_snapshot()) <= $1::text::xid8 or exists (
    select from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()
      and age(backend_xmin) > age($1::text::xid8::xid)) as some`

/** Rewrites a table without its deleted rows, and its statistics. */
async function rewriteTable(client: PoolClient, schema: string, table: string): Promise<void> {
  const name = `"${schema}"."${table}"`
  if (await canClearStatistics(client)) await client.query(CLEAR_STATISTICS, [schema, table])
  const { rows } = await client.query<{ bytes: string }>(
    "select pg_total_relation_size($1::regclass)::text as bytes",
    [name],
  )
  const isSmall = Number(rows[0]?.bytes) <= MAX_REWRITTEN_BYTES
  await client.query(`vacuum (${isSmall ? "full, " : ""}analyze) ${name}`)
}

/** PostgreSQL 18 and later can; older versions keep statistics of a table that became empty. */
async function canClearStatistics(client: PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ can: boolean }>(
    "select to_regproc('pg_catalog.pg_clear_attribute_stats') is not null as can",
  )
  return rows[0]?.can === true
}

/** Empty tables are not analyzed, so their statistics, including those of index expressions, are cleared first. */
const CLEAR_STATISTICS = `
  select pg_clear_attribute_stats($1::text, relname::text, attname::text, false)
  from pg_class join pg_attribute on attrelid = pg_class.oid and attnum > 0 and not attisdropped
  where pg_class.oid = format('%I.%I', $1::text, $2::text)::regclass or pg_class.oid in (
    select indexrelid from pg_index
    where indrelid = format('%I.%I', $1::text, $2::text)::regclass and indexprs is not null)`

/**
 * Overwrites or removes every old file of the write-ahead log. Runs on the embedded server only, because other
 * installations would wait for the checkpoints.
 *
 * Switching to the next file fills the rest of the current one with zeros, and a checkpoint frees older files for
 * reuse with their old content. Switching through as many files as exist overwrites all of them.
 *
 * @returns false if an older file still exists: retry later
 */
async function overwriteWal(client: PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ cluster_name: string }>("show cluster_name")
  if (rows[0]?.cluster_name !== EMBEDDED_CLUSTER_NAME) return true
  // Leave the current file first, so that its content becomes old. File times have a resolution of
  // one second, so wait longer than that.
  await switchWalFile(client)
  await client.query("set synchronous_commit = on")
  await flushWal(client)
  await client.query("select pg_sleep(1.1)")
  const startedAt = await client.query<{ at: Date }>("select date_trunc('second', now()) as at")
  const since = startedAt.rows[0]?.at as Date
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const files = await client.query<{ old: number; all: number }>(
      `select count(*) filter (where modification < $1)::integer as old, count(*)::integer as all
       from pg_ls_waldir()`,
      [since],
    )
    const { old = 0, all = 0 } = files.rows[0] ?? {}
    if (round > 0 && old === 0) {
      // A concurrent checkpoint may have recycled a file that is now in use: leave it too.
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
  // PostgreSQL does not switch away from an empty file.
  await client.query("select pg_logical_emit_message(false, 'wipe', '')")
  await client.query("select pg_switch_wal()")
}

/** A transactional message that is committed flushes everything before it. */
async function flushWal(client: PoolClient): Promise<void> {
  await client.query("select pg_logical_emit_message(true, 'wipe', '')")
}
