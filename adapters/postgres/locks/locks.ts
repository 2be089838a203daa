import type { Pool, PoolClient } from "pg"
import { DatabaseError } from "pg"
import { withTimeout } from "../../machine/promises.ts"
import type { Locks } from "./port.ts"
import type { Pacer } from "../../machine/clock/port.ts"

/** Seeds the hash of a name, so that these locks collide with no other in the database. */
const LOCK_SPACE = 7_002
const LOCK = `select pg_advisory_xact_lock(hashtextextended($1, ${LOCK_SPACE}))`
/** PostgreSQL's code for a lock that was not free in time. */
const LOCK_NOT_AVAILABLE = "55P03"

/**
 * Opens advisory locks in PostgreSQL, each held by a transaction on a connection of the pool. A
 * dying process releases them with its connections, and a reused connection holds none.
 */
export function openPostgresLocks(
  pool: Pool,
  warn: (message: string, error: unknown) => void,
): Locks {
  return {
    acquire: async (name, timeoutMs) => {
      const client = await connectWithin(pool, timeoutMs).catch((error: unknown) => {
        warn("a connection for a lock could not be opened", error)
        return null
      })
      if (client === null) return null
      try {
        const waitMs = Math.max(1, Math.round(timeoutMs))
        await client.query(`begin; set local lock_timeout = ${waitMs}`)
        await client.query(LOCK, [name])
      } catch (error) {
        const isTimeout = error instanceof DatabaseError && error.code === LOCK_NOT_AVAILABLE
        if (!isTimeout) warn("a lock could not be taken", error)
        await endTransaction(client, warn)
        return null
      }
      return () => endTransaction(client, warn)
    },
  }
}

async function endTransaction(client: PoolClient, warn: (message: string, error: unknown) => void) {
  try {
    await client.query("rollback")
    client.release()
  } catch (error) {
    // Closing the connection releases the lock.
    warn("a lock was released by closing its connection", error)
    client.release(true)
  }
}

/** A connection of the pool; null if none is free in time. @throws the driver's error */
async function connectWithin(pool: Pool, timeoutMs: number): Promise<PoolClient | null> {
  const connecting = pool.connect()
  const client = await withTimeout(timeoutMs, connecting, null)
  // The caller already has null: a late connection goes back to the pool.
  if (client === null) void connecting.then((unused) => unused.release()).catch(() => undefined)
  return client
}

/** Opens locks in the memory of this process, for tests and the simulation. */
export function openMemoryLocks(pacer: Pacer): Locks {
  const held = new Map<string, Promise<void>>()
  return {
    acquire: async (name, timeoutMs) => {
      const until = pacer.elapsedMs() + timeoutMs
      for (;;) {
        const before = held.get(name)
        if (before === undefined) break
        if (pacer.elapsedMs() >= until) return null
        const timeout = new AbortController()
        const late = pacer.pause(until - pacer.elapsedMs(), timeout.signal)
        await Promise.race([before, late])
        timeout.abort()
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
