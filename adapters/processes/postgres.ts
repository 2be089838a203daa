import { randomBytes } from "node:crypto"
import { setTimeout as pause } from "node:timers/promises"
import pg from "pg"
import { openPool } from "../postgres/database.ts"
import type { Processes } from "./port.ts"

/** A registered process. */
export interface RegisteredProcess extends Processes {
  readonly close: () => Promise<void>
}

/** Another process uses this database. */
export class DatabaseInUse extends Error {
  override readonly name = "DatabaseInUse"
}

/** First key of the two-key advisory locks that processes hold on themselves. */
const LOCK_SPACE = 7_001
const REGISTER_AGAIN_MS = 1_000
/** Second key of the lock of a process that must be the only one; the others count from 1. */
const ALONE_KEY = 0
/** The server may need a moment to notice that a killed process's connection has ended. */
const ALONE_TRIES = 25
const ALONE_AGAIN_MS = 200

/**
 * Registers this process: it holds a session lock of its own for as long as it lives, so a lock
 * that is free means that its process is dead, whatever became of its row. When the connection that
 * holds the lock is lost, the process registers again as soon as the database is back.
 *
 * @param alone whether this must be the only process that registers so on this database
 * @throws DatabaseInUse when it must be the only one and is not
 * @throws the driver's error where the first registration fails
 */
export async function registerProcess(
  url: string,
  warn: (message: string, error: unknown) => void,
  alone = false,
): Promise<RegisteredProcess> {
  const own = `prc_${randomBytes(9).toString("hex")}`
  let closing = false
  let client = await hold(url, own, onLost)
  if (alone && !(await isAlone(client))) {
    closing = true
    await leave()
    throw new DatabaseInUse(
      "Another company-ledger is using this database: stop it first, or give this one a database of its own.",
    )
  }
  // Questions go another way: they can be asked while the connection with the lock is made anew.
  const questions = openPool(url, 1, (error) => warn("an idle connection was lost", error))

  function onLost(error: Error): void {
    if (closing) return
    warn("the connection that says this process lives was lost", error)
    void holdAgain()
  }

  async function holdAgain(): Promise<void> {
    await pause(REGISTER_AGAIN_MS, undefined, { ref: false })
    if (closing) return
    try {
      client = await hold(url, own, onLost)
      if (closing) return await leave()
      if (alone && !(await isAlone(client))) {
        warn("another process took this database meanwhile", new DatabaseInUse("stop one of them"))
      }
    } catch (error) {
      onLost(error as Error)
    }
  }

  /** Takes the row away where the database is there; a row that stays is buried by the next. */
  async function leave(): Promise<void> {
    await client
      .query("delete from ledger.processes where process_id = $1", [own])
      .catch((error: unknown) => warn("this process could not sign off", error))
    await client.end()
  }

  return {
    own,
    isAlive: async (processId) => {
      if (processId === own) return true
      // The lock is looked for, never tried: trying would hold it for a moment itself.
      const found = await questions.query(
        `select 1 from ledger.processes p join pg_locks l
           on l.locktype = 'advisory' and l.objsubid = 2
          and l.classid = $2 and l.objid::bigint = p.lock_key and l.granted
          and l.database = (select oid from pg_database where datname = current_database())
         where p.process_id = $1`,
        [processId, LOCK_SPACE],
      )
      return found.rowCount !== 0
    },
    close: async () => {
      closing = true
      await questions.end()
      await leave()
    },
  }
}

/** Takes the lock of the only process, waiting out a killed one's last moment; false: another has it. */
async function isAlone(client: pg.Client): Promise<boolean> {
  for (let tries = 0; tries < ALONE_TRIES; tries += 1) {
    const { rows } = await client.query<{ taken: boolean }>(
      "select pg_try_advisory_lock($1, $2) as taken",
      [LOCK_SPACE, ALONE_KEY],
    )
    if (rows[0]?.taken === true) return true
    await pause(ALONE_AGAIN_MS)
  }
  return false
}

/** Opens the connection that holds this process's lock for as long as both live. */
async function hold(url: string, own: string, onLost: (error: Error) => void): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: "company-ledger process",
  })
  let told = false
  const lost = (error: Error) => {
    if (!told) onLost(error)
    told = true
  }
  client.on("error", lost)
  client.on("end", () => lost(new Error("the connection ended")))
  try {
    await client.connect()
    // The row becomes visible with the lock already held: nobody takes it for a dead process's.
    await client.query("begin")
    const { rows } = await client.query<{ lock_key: number }>(
      `insert into ledger.processes (process_id, lock_key)
       values ($1, nextval('ledger.process_lock_keys'))
       on conflict (process_id) do update set lock_key = excluded.lock_key
       returning lock_key`,
      [own],
    )
    await client.query("select pg_advisory_lock($1, $2)", [LOCK_SPACE, rows[0]?.lock_key])
    await client.query("commit")
    await buryDead(client)
    return client
  } catch (error) {
    told = true
    await client.end()
    throw error
  }
}

/** Takes the rows of dead processes away and lets their work go. */
async function buryDead(client: pg.Client): Promise<void> {
  await client.query(
    `with dead as (
       delete from ledger.processes p
       where not exists (
         select 1 from pg_locks l
         where l.locktype = 'advisory' and l.objsubid = 2
           and l.classid = $1 and l.objid::bigint = p.lock_key and l.granted
           and l.database = (select oid from pg_database where datname = current_database()))
       returning process_id)
     update ledger.work w set process_id = null, leased_until = null
     from dead where w.process_id = dead.process_id`,
    [LOCK_SPACE],
  )
}
