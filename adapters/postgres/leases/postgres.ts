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

/** A registered process. */
export interface RegisteredProcess extends Processes, Leases, ProcessNotifications {
  readonly close: () => Promise<void>
}

/** First key of the two-key advisory locks that processes hold on themselves. */
const LOCK_SPACE = 7_001
/** So often leases are tried for: a dead process's work stands still for no longer. */
const HEARTBEAT_MS = 250
const SIGN_OFF_EVERY_HEARTBEATS = 4

/**
 * Registers this process: it holds a session lock of its own for as long as it lives, so a lock
 * that is free means that its process is dead, whatever became of its row. When the connection that
 * holds the lock is lost, the process registers again as soon as the database is back. Once a second
 * it lets go the work of processes that ended without signing off, and a second later it signs them off.
 *
 * @throws InstallationLocked where another process has the installation to itself
 * @throws the driver's error where the first registration fails
 */
export async function registerProcess(
  url: string,
  warn: (message: string, error: unknown) => void,
  watch: DatabaseWatch | null = null,
): Promise<RegisteredProcess> {
  const ownId = `prc_${randomBytes(9).toString("hex")}`
  // Questions go another way: they can be asked while the connection with the lock is made anew.
  const questions = openPool(url, 1, (error) => warn("an idle connection was lost", error), watch)
  const listeners = new Map<string, (text: string | null) => void>()
  let session: ProcessSession | null = null
  const leases = new LeaseRegistry(() => session?.client() ?? null, warn)
  const signOff = openSignOff(questions, ownId)
  try {
    session = await openProcessSession(url, {
      onConnected: async (client) => {
        await shareInstallation(client)
        await lockProcess(client, ownId)
        for (const name of listeners.keys()) await client.query(`listen ${name}`)
      },
      onReconnected: () => listeners.forEach((onCall) => onCall(null)),
      onLost: () => leases.markAllLost(),
      onNotification: (name, text) => listeners.get(name)?.(text),
      warn,
      watch,
    })
    await signOff()
  } catch (error) {
    await questions.end()
    throw error
  }
  const stopping = new AbortController()
  const beating = runHeartbeat(session, leases, stopping.signal, () =>
    signOff().catch((error: unknown) =>
      warn("processes that ended without signing off could not be signed off", error),
    ),
  )
  return {
    ownId,
    isAlive: async (processId) => processId === ownId || isAlive(questions, processId),
    listOtherProcesses: () => readOtherProcesses(questions, ownId),
    notify: async (name, text) => {
      await questions.query("select pg_notify($1, $2)", [name, text])
    },
    request: async (names, onChange) => {
      const asked = leases.add(names, onChange)
      await acquireLeases(session, leases)
      return asked
    },
    listen: async (name, onCall) => {
      const client = session.client()
      listeners.set(name, onCall)
      if (client !== null) await client.query(`listen ${name}`)
    },
    close: async () => {
      stopping.abort()
      await beating
      let signedOff = false
      await session.close(async (client) => {
        await client.query("delete from ledger.processes where process_id = $1", [ownId])
        signedOff = true
      })
      // Its row stays, and is buried by the next.
      if (!signedOff) warn("this process could not sign off", null)
      await questions.end()
    },
  }
}

/** Tries for what is asked for, now and again until it is stopped. */
async function runHeartbeat(
  session: ProcessSession,
  leases: LeaseRegistry,
  stopping: AbortSignal,
  signOff: () => Promise<void>,
): Promise<void> {
  for (let beats = 1; ; beats += 1) {
    await pause(HEARTBEAT_MS, undefined, { ref: false, signal: stopping }).catch(() => undefined)
    if (stopping.aborted) return
    await acquireLeases(session, leases)
    if (beats % SIGN_OFF_EVERY_HEARTBEATS === 0) await signOff()
  }
}

/** Tries once; a connection that cannot be asked counts as lost. */
async function acquireLeases(session: ProcessSession, leases: LeaseRegistry): Promise<void> {
  const client = session.client()
  if (client === null) return
  try {
    await leases.acquire(client)
  } catch (error) {
    session.drop(client, error as Error)
  }
}

/** Takes the lock that says this process lives. */
async function lockProcess(client: Client, own: string): Promise<void> {
  // The row becomes visible with the lock already held: nobody takes it for a dead process's.
  await client.query("begin")
  const { rows } = await client.query<{ lock_key: number }>(
    `insert into ledger.processes (process_id, machine, lock_key)
     values ($1, $2, nextval('ledger.process_lock_keys'))
     on conflict (process_id) do update set lock_key = excluded.lock_key
     returning lock_key`,
    [own, hostname()],
  )
  await client.query("select pg_advisory_lock($1, $2)", [LOCK_SPACE, rows[0]?.lock_key])
  await client.query("commit")
}

/**
 * The lock of the process in `p`, where somebody holds it. It is looked for, never tried: trying
 * would hold it for a moment.
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

/** Those whose lock nobody holds as well: one that lost its connection may answer from memory still. */
async function readOtherProcesses(pool: Pool, own: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ process_id: string }>(
    "select process_id from ledger.processes where process_id <> $1",
    [own],
  )
  return rows.map(({ process_id }) => process_id)
}

/** A process as it registered. */
interface Registration {
  readonly process_id: string
  readonly lock_key: number
}

const ENDED_PROCESSES = `
  select process_id, lock_key from ledger.processes p
  where process_id <> $1 and not exists (${PROCESS_LOCK})`

/** The registrations that are still there. One that registers anew meanwhile has another lock by then. */
const IS_SAME_REGISTRATION = `
  (process_id, lock_key) in (select * from unnest($1::text[], $2::bigint[]))`

const RELEASE_JOBS = `
  with ended as materialized (
    select process_id from ledger.processes where ${IS_SAME_REGISTRATION} for update)
  update ledger.jobs w set process_id = null, leased_until = null
  from ended where w.process_id = ended.process_id`

/**
 * Lets the work of dead processes go, and takes away the rows of those that were found dead by the last
 * time already: until then the others count on one that only lost its connection.
 */
function openSignOff(pool: Pool, own: string): () => Promise<void> {
  let before: ReadonlySet<number> = new Set()
  const listsOf = (found: readonly Registration[]) => [
    found.map(({ process_id }) => process_id),
    found.map(({ lock_key }) => lock_key),
  ]
  return async () => {
    const { rows: ended } = await pool.query<Registration>(ENDED_PROCESSES, [own])
    const known = ended.filter(({ lock_key }) => before.has(lock_key))
    if (ended.length > 0) await pool.query(RELEASE_JOBS, listsOf(ended))
    if (known.length > 0) {
      await pool.query(`delete from ledger.processes where ${IS_SAME_REGISTRATION}`, listsOf(known))
    }
    before = new Set(ended.map(({ lock_key }) => lock_key))
  }
}

// Having an installation to oneself. Every process holds a lock of its database together with all
// others, as long as its session lasts; who copies or restores the installation holds it alone.

/** The two keys of the lock. */
const INSTALLATION_LOCK_KEYS = "7007, 1"

/** Another process has the installation to itself. The message says what to do. */
export class InstallationLocked extends Error {
  override readonly name = "InstallationLocked"
}

/** Shares the installation for as long as the session lasts. @throws InstallationLocked */
async function shareInstallation(client: Client): Promise<void> {
  const { rows } = await client.query<{ shared: boolean }>(
    `select pg_try_advisory_lock_shared(${INSTALLATION_LOCK_KEYS}) as shared`,
  )
  if (rows[0]?.shared === true) return
  throw new InstallationLocked(
    "This installation is being copied or restored by another process: wait until that has ended.",
  )
}

/** An installation that no other process works on. */
interface InstallationLock {
  /** Aborts with Unavailable when the connection that holds it was lost: another may begin. */
  readonly lost: AbortSignal
  readonly release: () => Promise<void>
}

/** Takes the installation for this process alone; null where another one works on it. */
export async function lockInstallation(url: string): Promise<InstallationLock | null> {
  const lost = new AbortController()
  const client = new pg.Client({
    connectionString: url,
    application_name: "company-ledger alone",
    keepAlive: true,
  })
  const lose = () => lost.abort(new Unavailable("the connection to the database broke"))
  client.on("error", lose)
  try {
    await client.connect()
    const { rows } = await client.query<{ alone: boolean }>(
      `select pg_try_advisory_lock(${INSTALLATION_LOCK_KEYS}) as alone`,
    )
    client.on("end", lose)
    if (rows[0]?.alone === true) return { lost: lost.signal, release: () => client.end() }
  } catch (error) {
    await client.end()
    throw error
  }
  await client.end()
  return null
}
