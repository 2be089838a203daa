import { randomBytes } from "node:crypto"
import pg from "pg"
import type { Processes } from "./port.ts"

/** A registered process; `lost` settles when its lock is gone, because others may take its work. */
export interface RegisteredProcess extends Processes {
  readonly lost: Promise<Error>
  readonly close: () => Promise<void>
}

/** First key of the two-key advisory locks that processes hold on themselves. */
const LOCK_SPACE = 7_001

/**
 * Registers this process: it holds a session lock of its own for as long as it lives, so a lock
 * that is free means that its process is dead, whatever became of its row.
 */
export async function registerProcess(url: string): Promise<RegisteredProcess> {
  const client = new pg.Client({ connectionString: url, application_name: "company-ledger process" })
  const own = `prc_${randomBytes(9).toString("hex")}`
  const { promise: lost, resolve: lose } = Promise.withResolvers<Error>()
  let closing = false
  client.on("error", (error) => {
    if (!closing) lose(error)
  })
  client.on("end", () => {
    if (!closing) lose(new Error("the connection that says this process lives has ended"))
  })
  await client.connect()
  // The row becomes visible with the lock already held: nobody can take it for a dead process's.
  await client.query("begin")
  const { rows } = await client.query<{ lock_key: number }>(
    `insert into ledger.processes (process_id, lock_key)
     values ($1, nextval('ledger.process_lock_keys')) returning lock_key`,
    [own],
  )
  await client.query("select pg_advisory_lock($1, $2)", [LOCK_SPACE, rows[0]?.lock_key])
  await client.query("commit")
  await buryDead(client)
  return {
    own,
    lost,
    isAlive: async (processId) => {
      if (processId === own) return true
      // The lock is looked for, never tried: trying would hold it for a moment itself.
      const found = await client.query(
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
      await client.query("delete from ledger.processes where process_id = $1", [own])
      await client.end()
    },
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
