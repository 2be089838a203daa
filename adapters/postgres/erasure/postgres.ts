import type { Pool, PoolClient } from "pg"
import type { Pacer } from "../../machine/clock/port.ts"
import { dropShadow } from "../projector/shadow.ts"
import { LIVE_SCHEMA, inTransaction } from "../projector/tables.ts"
import type { ParkedWork } from "../jobs/port.ts"
import type { Erasure } from "./port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { OWN_CLUSTER } from "../embedded/folder.ts"

/** So often the log is gone through at most; each time takes what the time before left. */
const MOST_ROUNDS = 8

/** A read model with tables in which personal text stands in the clear. */
interface PersonalReadModel {
  readonly name: string
  readonly personal: readonly string[]
}

/** What erasing works with. */
export interface ErasurePorts {
  readonly pool: Pool
  readonly pacer: Pacer
  /** Ends what this process remembers of a company's keys; the others are called out to. */
  readonly forgetKeys: (companyId: CompanyId) => void
  /** The read models; those without personal tables are left alone. */
  readonly readModels: readonly { readonly name: string; readonly personal?: readonly string[] }[]
  /** Tables of slices, each with a `company_id`, of which a company's rows go as they are. Default none. */
  readonly tables?: readonly string[]
  /** Default none. */
  readonly work?: {
    /** The kinds that end with their company. */
    readonly ending: readonly string[]
    /** The kinds that carry what people wrote, or speak to them. What is owed goes on. */
    readonly personal: readonly string[]
  }
}

/** Up to this size a table is written anew; a larger one would stand still for too long. */
const MOST_REWRITTEN_BYTES = 64 * 1024 * 1024
const LOOK_MS = 50
const LOOK_MOST_MS = 5_000

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
const DELETED = [
  "activity_log",
  "blobs",
  "expiring_records",
  "idempotent_requests",
  "online_status",
]

/** Erasing in PostgreSQL. */
export function openPostgresErasure(ports: ErasurePorts): Erasure {
  const { pool, forgetKeys, tables = [], work = { ending: [], personal: [] } } = ports
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
    destroySubject: async (companyId, subject) => {
      const which = [companyId, subject]
      await inTransaction(pool, async (client) => {
        // The table calls out to the other processes: they forget the company's keys, and load what is there.
        const gone = "delete from ledger.subject_keys where company_id = $1 and subject = $2"
        await client.query(gone, which)
        await client.query("insert into ledger.subject_keys values ($1, $2, '')", which)
      })
      forgetKeys(companyId)
    },
    openWork: async (companyId) => {
      const { rows } = await pool.query<WorkRow>(
        `select job_id, kind, name, subject, payload, stuck from ledger.jobs
         where company_id = $1 and kind = any($2) order by job_id`,
        [companyId, work.ending],
      )
      return rows.map((row) => workOf(companyId, row))
    },
    deleteRows: (companyId) =>
      inTransaction(pool, async (client) => {
        for (const table of [...DELETED, ...tables]) {
          await client.query(`delete from ledger."${table}" where company_id = $1`, [companyId])
        }
        // What a simulated processor took is money: it stays.
        await client.query(
          "delete from ledger.simulated_records where company_id = $1 and not is_permanent",
          [companyId],
        )
        await client.query("delete from ledger.jobs where company_id = $1 and kind = any($2)", [
          companyId,
          work.personal,
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

interface WorkRow {
  readonly job_id: number
  readonly kind: string
  readonly name: string
  readonly subject: string
  readonly payload: string
  readonly stuck: string | null
}

function workOf(companyId: CompanyId, row: WorkRow): ParkedWork {
  const { job_id: workId, kind, name, subject, stuck } = row
  return { workId, kind, name, subject, companyId, parked: stuck, payload: JSON.parse(row.payload) }
}

async function wipeFiles({ pool, pacer, readModels, tables = [] }: ErasurePorts): Promise<boolean> {
  const personal = readModels.filter((one): one is PersonalReadModel => one.personal !== undefined)
  for (const { name } of personal) if (!(await dropShadow(pool, name))) return false
  if (!(await nobodyLooksBack(pool, pacer))) return false
  const client = await pool.connect()
  try {
    await client.query(`set lock_timeout = ${LOOK_MOST_MS}`)
    for (const table of [...TABLES, ...tables]) await wipe(client, "ledger", table)
    for (const table of personal.flatMap((one) => one.personal)) {
      await wipe(client, LIVE_SCHEMA, table)
    }
    // What the planner knew of the columns: their most common values.
    await client.query("vacuum (full) pg_catalog.pg_statistic")
    return await overwriteLog(client)
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
async function nobodyLooksBack(pool: Pool, pacer: Pacer): Promise<boolean> {
  const { rows } = await pool.query<{ id: string }>("select pg_current_xact_id()::text as id")
  const until = pacer.elapsedMs() + LOOK_MOST_MS
  for (;;) {
    const looking = await pool.query<{ some: boolean }>(LOOKS_BACK, [rows[0]?.id])
    if (looking.rows[0]?.some === false) return true
    if (pacer.elapsedMs() >= until) return false
    await pacer.pause(LOOK_MS)
  }
}

const LOOKS_BACK = `
  select pg_snapshot_xmin(pg_current_snapshot()) <= $1::text::xid8 or exists (
    select from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()
      and age(backend_xmin) > age($1::text::xid8::xid)) as some`

/** Writes a table anew without what was deleted from it, and what is known of its columns. */
async function wipe(client: PoolClient, schema: string, table: string): Promise<void> {
  const name = `"${schema}"."${table}"`
  if (await canForgetColumns(client)) await client.query(FORGET_COLUMNS, [schema, table])
  const { rows } = await client.query<{ bytes: string }>(
    "select pg_total_relation_size($1::regclass)::text as bytes",
    [name],
  )
  const full = Number(rows[0]?.bytes) <= MOST_REWRITTEN_BYTES
  await client.query(`vacuum (${full ? "full, " : ""}analyze) ${name}`)
}

/** PostgreSQL can since its version 18; an older one keeps some values of a table that became empty. */
async function canForgetColumns(client: PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ can: boolean }>(
    "select to_regproc('pg_catalog.pg_clear_attribute_stats') is not null as can",
  )
  return rows[0]?.can === true
}

/**
 * An empty table is not analysed, so what is known of its columns is forgotten first, and what is known of the
 * expressions of its indexes.
 */
const FORGET_COLUMNS = `
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
async function overwriteLog(client: PoolClient): Promise<boolean> {
  const { rows } = await client.query<{ cluster_name: string }>("show cluster_name")
  if (rows[0]?.cluster_name !== OWN_CLUSTER) return true
  // The file that is written to now is left first, so that nothing is added to what stands in it; and
  // a file's time is told in whole seconds: what was written in this one is old as well.
  await nextFile(client)
  await client.query("set synchronous_commit = on")
  await flush(client)
  await client.query("select pg_sleep(1.1)")
  const begun = await client.query<{ at: Date }>("select date_trunc('second', now()) as at")
  const since = begun.rows[0]?.at as Date
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const files = await client.query<{ old: number; all: number }>(
      `select count(*) filter (where modification < $1)::integer as old, count(*)::integer as all
       from pg_ls_waldir()`,
      [since],
    )
    const { old = 0, all = 0 } = files.rows[0] ?? {}
    if (round > 0 && old === 0) {
      // Another's checkpoint may have brought back a file that is written to now: behind that it is old.
      await nextFile(client)
      await flush(client)
      return true
    }
    for (let file = 0; file <= all; file += 1) await nextFile(client)
    await client.query("checkpoint")
  }
  return false
}

async function nextFile(client: PoolClient): Promise<void> {
  // Without something in it a file is not switched away from.
  await client.query("select pg_logical_emit_message(false, 'wipe', '')")
  await client.query("select pg_switch_wal()")
}

/** What was written is not on the disk yet; it is once a later commit is. */
async function flush(client: PoolClient): Promise<void> {
  await client.query("select pg_logical_emit_message(true, 'wipe', '')")
}
