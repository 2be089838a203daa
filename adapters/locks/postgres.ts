import type { Pool, PoolClient } from "pg"
import { DatabaseError } from "pg"
import type { Locks } from "./port.ts"

/** Seeds the hash of a name, so that these locks meet no others of the database by chance. */
const LOCK_SPACE = 7_002
/** PostgreSQL's code for a lock that was not free in time. */
const LOCK_NOT_AVAILABLE = "55P03"

/**
 * Advisory locks of PostgreSQL, held by a connection of the pool each: a process that dies lets go
 * of them with its connections.
 */
export function openPostgresLocks(
  pool: Pool,
  warn: (message: string, error: unknown) => void,
): Locks {
  return {
    take: async (name, timeoutMs) => {
      let client: PoolClient
      try {
        client = await pool.connect()
      } catch (error) {
        warn("a lock could not be asked for", error)
        return null
      }
      try {
        await client.query(`set lock_timeout = ${Math.max(1, Math.round(timeoutMs))}`)
        await client.query("select pg_advisory_lock(hashtextextended($1, $2))", [name, LOCK_SPACE])
      } catch (error) {
        const isLate = error instanceof DatabaseError && error.code === LOCK_NOT_AVAILABLE
        if (!isLate) warn("a lock could not be taken", error)
        client.release(!isLate)
        return null
      }
      return async () => {
        try {
          const unlock = "select pg_advisory_unlock(hashtextextended($1, $2))"
          await client.query(unlock, [name, LOCK_SPACE])
          client.release()
        } catch (error) {
          // The connection goes away, and the lock with it.
          warn("a lock was given back with its connection", error)
          client.release(true)
        }
      }
    },
  }
}
