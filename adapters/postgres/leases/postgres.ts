import { randomBytes } from "node:crypto"
import { hostname } from "node:os"
import { setTimeout as pause } from "node:timers/promises"
import pg from "pg"
import type { Pool, Client } from "pg"
import { openPool } from "../database.ts"
import type { DatabaseWatch } from "../watch.ts"
import type { ProcessSession } from "./leases.ts"
import { LeaseRegistry, openProcessSession } from "./leases.ts"
import type { ProcessNotifications, Leases, Processes } from "./port.ts"
import { Unavailable } from "../../eventstore/port.ts"

export interface RegisteredProcess extends Processes, Leases, ProcessNotifications {
  readonly close: () => Promise<void>
}

/** First key of the two-key advisory lock that each process holds. */
const LOCK_SPACE = 7_001
/** How often leases are requested: a dead process's tasks wait no longer. */
const HEARTBEAT_MS = 250
const DEREGISTER_EVERY_HEARTBEATS = 4

/**
 * Registers this process: it holds a session lock while it lives, so a free lock means a dead process. After
 * losing the connection with the lock, it registers again as soon as the database is available. Once a second it
 * releases the jobs of processes that ended without deregistering, and a second later it deregisters them.
 *
 * @throws InstallationLocked if another process holds the installation exclusively
 * @throws the driver's error if the first registration fails
 */
export async function registerProcess(
  url: string,
  warn: (message: string, error: unknown) => void,
  watch: DatabaseWatch | null = null,
): Promise<RegisteredProcess> {
  const ownId = `prc_${randomBytes(9).toString("hex")}`
  // Queries use a connection of their own, so that they work while the session reconnects.
  const queryPool = openPool(url, 1, (error) => warn("an idle connection was lost", error), watch)
  const listeners = new Map<string, (text: string | null) => void>()
  let session: ProcessSession | null = null
  const leases = new LeaseRegistry(() => session?.client() ?? null, warn)
  const deregisterDead = openDeregistration(queryPool, ownId)
  try {
    session = await openProcessSession(url, {
      onConnected: async (client) => {
        await shareInstallation(client)
        await lockProcess(client, ownId)
        for (const name of listeners.keys()) await client.query(`listen ${name}`)
      },
      onReconnected: () => listeners.forEach((onNotification) => onNotification(null)),
      onLost: () => leases.markAllLost(),
      onNotification: (name, text) => listeners.get(name)?.(text),
      warn,
      watch,
    })
    await deregisterDead()
  } catch (error) {
    await queryPool.end()
    throw error
  }
  const stopping = new AbortController()
  const heartbeat = runHeartbeat(session, leases, stopping.signal, () =>
    deregisterDead().catch((error: unknown) =>
      warn("processes that ended without deregistering could not be deregistered", error),
    ),
  )
  return {
    ownId,
    isAlive: async (processId) => processId === ownId || isAlive(queryPool, processId),
    listOtherProcesses: () => readOtherProcesses(queryPool, ownId),
    notify: async (name, text) => {
      await queryPool.query("select pg_notify($1, $2)", [name, text])
    },
    request: async (names, onChange) => {
      const request = leases.add(names, onChange)
      await acquireLeases(session, leases)
      return request
    },
    listen: async (name, onNotification) => {
      const client = session.client()
      listeners.set(name, onNotification)
      if (client !== null) await client.query(`listen ${name}`)
    },
    close: async () => {
      stopping.abort()
      await heartbeat
      let isDeregistered = false
      await session.close(async (client) => {
        await client.query("delete from ledger.processes where process_id = $1", [ownId])
        isDeregistered = true
      })
      // Its row stays until another process deletes it.
      if (!isDeregistered) warn("this process could not deregister", null)
      await queryPool.end()
    },
  }
}

/** Requests leases and deregisters dead processes until stopped. */
async function runHeartbeat(
  session: ProcessSession,
  leases: LeaseRegistry,
  stopping: AbortSignal,
  deregisterDead: () => Promise<void>,
): Promise<void> {
  for (let beats = 1; ; beats += 1) {
    await pause(HEARTBEAT_MS, undefined, { ref: false, signal: stopping }).catch(() => undefined)
    if (stopping.aborted) return
    await acquireLeases(session, leases)
    if (beats % DEREGISTER_EVERY_HEARTBEATS === 0) await deregisterDead()
  }
}

/** Tries once; a failing connection counts as lost. */
async function acquireLeases(session: ProcessSession, leases: LeaseRegistry): Promise<void> {
  const client = session.client()
  if (client === null) return
  try {
    await leases.acquire(client)
  } catch (error) {
    session.drop(client, error as Error)
  }
}

/** Takes the lock that shows that this process lives. */
async function lockProcess(client: Client, ownId: string): Promise<void> {
  // The row becomes visible when the lock is held, so the process never appears dead.
  await client.query("begin")
  const { rows } = await client.query<{ lock_key: number }>(
    `insert into ledger.processes (process_id, machine, lock_key)
     values ($1, $2, nextval('ledger.process_lock_keys'))
     on conflict (process_id) do update set lock_key = excluded.lock_key
     returning lock_key`,
    [ownId, hostname()],
  )
  await client.query("select pg_advisory_lock($1, $2)", [LOCK_SPACE, rows[0]?.lock_key])
  await client.query("commit")
}

/**
 * The lock of the process in `p`, if held. It is looked up and never tried, because trying would
 * hold it for a moment.
 */
const PROCESS_LOCK = `
  select 1 from pg_locks l
  where l.locktype = 'advisory' and l.objsubid = 2
    and l.classid = ${LOCK_SPACE} and l.objid::bigint = p.lock_key and l.granted
    and l.database = (select oid from pg_database where datname = current_database())`

async function isAlive(pool: Pool, processId: string): Promise<boolean> {
  const found = await pool.query(
    `select 1 from ledger.processes p where p.process_id = $1 and exists (${PROCESS_LOCK})`,
    [processId],
  )
  return found.rowCount !== 0
}

/** Includes processes without a lock: one that lost its connection may still answer from memory. */
async function readOtherProcesses(pool: Pool, ownId: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ process_id: string }>(
    "select process_id from ledger.processes where process_id <> $1",
    [ownId],
  )
  return rows.map(({ process_id }) => process_id)
}

interface Registration {
  readonly process_id: string
  readonly lock_key: number
}

const ENDED_PROCESSES = `
  select process_id, lock_key from ledger.processes p
  where process_id <> $1 and not exists (${PROCESS_LOCK})`

/** Registrations that still exist: a process that registers again gets another lock key. */
const IS_SAME_REGISTRATION = `
  (process_id, lock_key) in (select * from unnest($1::text[], $2::bigint[]))`

const RELEASE_JOBS = `
  with ended as materialized (
    select process_id from ledger.processes where ${IS_SAME_REGISTRATION} for update)
  update ledger.jobs w set process_id = null, leased_until = null
  from ended where w.process_id = ended.process_id`

/**
 * Releases the jobs of dead processes, and deletes the rows of those that were already dead the
 * time before: until then one may only have lost its connection.
 */
function openDeregistration(pool: Pool, ownId: string): () => Promise<void> {
  let previouslyEnded: ReadonlySet<number> = new Set()
  const listsOf = (found: readonly Registration[]) => [
    found.map(({ process_id }) => process_id),
    found.map(({ lock_key }) => lock_key),
  ]
  return async () => {
    const { rows: ended } = await pool.query<Registration>(ENDED_PROCESSES, [ownId])
    const deadBefore = ended.filter(({ lock_key }) => previouslyEnded.has(lock_key))
    if (ended.length > 0) await pool.query(RELEASE_JOBS, listsOf(ended))
    if (deadBefore.length > 0) {
      await pool.query(
        `delete from ledger.processes where ${IS_SAME_REGISTRATION}`,
        listsOf(deadBefore),
      )
    }
    previouslyEnded = new Set(ended.map(({ lock_key }) => lock_key))
  }
}

// Exclusive use of an installation. Every process holds a shared lock while its session lasts;
// copying or restoring the installation needs the exclusive lock.

const INSTALLATION_LOCK_KEYS = "7007, 1"

/** Another process holds the installation exclusively. */
export class InstallationLocked extends Error {
  override readonly name = "InstallationLocked"
}

/** Shares the installation while the session lasts. @throws InstallationLocked */
async function shareInstallation(client: Client): Promise<void> {
  const { rows } = await client.query<{ shared: boolean }>(
    `select pg_try_advisory_lock_shared(${INSTALLATION_LOCK_KEYS}) as shared`,
  )
  if (rows[0]?.shared === true) return
  throw new InstallationLocked(
    "Another process is copying or restoring this installation. Wait until it has ended.",
  )
}

interface InstallationLock {
  /** Aborts with Unavailable when the lock's connection was lost: another process may take it. */
  readonly lost: AbortSignal
  readonly release: () => Promise<void>
}

/** Locks the installation for this process; null if another process uses it. */
export async function lockInstallation(url: string): Promise<InstallationLock | null> {
  const lost = new AbortController()
  const client = new pg.Client({
    connectionString: url,
    application_name: "company-ledger exclusive",
    keepAlive: true,
  })
  const lose = () => lost.abort(new Unavailable("The connection to the database broke"))
  client.on("error", lose)
  try {
    await client.connect()
    const { rows } = await client.query<{ exclusive: boolean }>(
      `select pg_try_advisory_lock(${INSTALLATION_LOCK_KEYS}) as exclusive`,
    )
    client.on("end", lose)
    if (rows[0]?.exclusive === true) return { lost: lost.signal, release: () => client.end() }
  } catch (error) {
    await client.end()
    throw error
  }
  await client.end()
  return null
}
