/**
 * Having an installation to oneself. Every process holds a lock of its database together with all
 * others, as long as its session lasts; who copies or restores the installation holds it alone.
 */
import type { Client } from "pg"
import pg from "pg"
import { Unavailable } from "../../eventstore/port.ts"

/** The two keys of the lock. */
const LOCK = "7007, 1"

/** Another process has the installation to itself. The message says what to do. */
export class TakenAlone extends Error {
  override readonly name = "TakenAlone"
}

/** Shares the installation for as long as the session lasts. @throws TakenAlone */
export async function share(client: Client): Promise<void> {
  const { rows } = await client.query<{ shared: boolean }>(
    `select pg_try_advisory_lock_shared(${LOCK}) as shared`,
  )
  if (rows[0]?.shared === true) return
  throw new TakenAlone(
    "This installation is being copied or restored by another process: wait until that has ended.",
  )
}

/** An installation that no other process works on. */
export interface Alone {
  /** Aborts with Unavailable when the connection that holds it was lost: another may begin. */
  readonly lost: AbortSignal
  readonly release: () => Promise<void>
}

/** Takes the installation for this process alone; null where another one works on it. */
export async function takeAlone(url: string): Promise<Alone | null> {
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
      `select pg_try_advisory_lock(${LOCK}) as alone`,
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
