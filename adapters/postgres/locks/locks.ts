import type { Pool, PoolClient } from "pg"
import { DatabaseError } from "pg"
import { withTimeout } from "../../machine/promises.ts"
import type { Locks } from "./port.ts"
import type { Pacer } from "../../machine/clock/port.ts"

/** Seeds the hash of a name, so that these locks meet no others of the database by chance. */
const LOCK_SPACE = 7_002
const LOCK = `select pg_advisory_xact_lock(hashtextextended($1, ${LOCK_SPACE}))`
/** PostgreSQL's code for a lock that was not free in time. */
const LOCK_NOT_AVAILABLE = "55P03"

/**
 * Advisory locks of PostgreSQL, each held by a transaction on a connection of the pool: a process that
 * dies lets go of them with its connections, and nothing of them is left on a connection that is used
 * again.
 */
export function openPostgresLocks(
  pool: Pool,
  warn: (message: string, error: unknown) => void,
): Locks {
  return {
    acquire: async (name, timeoutMs) => {
      const client = await connectWithin(pool, timeoutMs).catch((error: unknown) => {
        warn("a lock could not be asked for", error)
        return null
      })
      if (client === null) return null
      try {
        const waitMs = Math.max(1, Math.round(timeoutMs))
        await client.query(`begin; set local lock_timeout = ${waitMs}`)
        await client.query(LOCK, [name])
      } catch (error) {
        const isLate = error instanceof DatabaseError && error.code === LOCK_NOT_AVAILABLE
        if (!isLate) warn("a lock could not be taken", error)
        await endTransaction(client, warn)
        return null
      }
      return () => endTransaction(client, warn)
    },
  }
}

/** Ends the transaction, and with it the lock. */
async function endTransaction(client: PoolClient, warn: (message: string, error: unknown) => void) {
  try {
    await client.query("rollback")
    client.release()
  } catch (error) {
    // The connection goes away, and the lock with it.
    warn("a lock was given back with its connection", error)
    client.release(true)
  }
}

/** A connection of the pool; null where none is free by then. @throws the driver's error */
async function connectWithin(pool: Pool, timeoutMs: number): Promise<PoolClient | null> {
  const connecting = pool.connect()
  const client = await withTimeout(timeoutMs, connecting, null)
  // What comes too late goes back at once; who waited has been told that there was none.
  if (client === null) void connecting.then((unused) => unused.release()).catch(() => undefined)
  return client
}

/** Locks of one process, for tests and the simulation: whoever comes first is served first. */
export function openMemoryLocks(pacer: Pacer): Locks {
  const held = new Map<string, Promise<void>>()
  return {
    acquire: async (name, timeoutMs) => {
      const until = pacer.elapsedMs() + timeoutMs
      for (;;) {
        const before = held.get(name)
        if (before === undefined) break
        if (pacer.elapsedMs() >= until) return null
        const waiting = new AbortController()
        const late = pacer.pause(until - pacer.elapsedMs(), waiting.signal)
        await Promise.race([before, late])
        waiting.abort()
      }
      const { promise, resolve } = Promise.withResolvers<void>()
      held.set(name, promise)
      return async () => {
        held.delete(name)
        resolve()
      }
    },
  }
}
