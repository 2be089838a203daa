import pg from "pg"
import type { LeaseRequest } from "./port.ts"
import { setTimeout as pause } from "node:timers/promises"
import type { DatabaseWatch } from "../watch.ts"

/** Seeds the hash of a lease's name, so that its lock meets no other of the database by chance. */
const LOCK_SPACE = 7_003

const TRY_LOCK = `
  select name, pg_try_advisory_lock(hashtextextended(name, ${LOCK_SPACE})) as taken
  from unnest($1::text[]) as asked (name)`
const UNLOCK = `
  select pg_advisory_unlock(hashtextextended(name, ${LOCK_SPACE}))
  from unnest($1::text[]) as held (name)`

interface RequestedLeases {
  readonly names: ReadonlySet<string>
  readonly onChange: (name: string, isHeld: boolean) => void
  readonly held: Set<string>
}

/** The leases that a process asks for, as advisory locks of the session that stands for it. */
export class LeaseRegistry {
  readonly #client: () => pg.Client | null
  readonly #warn: (message: string, error: unknown) => void
  readonly #requests = new Set<RequestedLeases>()
  /** One statement after the other: a lock that is taken twice must be let go twice. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(client: () => pg.Client | null, warn: (message: string, error: unknown) => void) {
    this.#client = client
    this.#warn = warn
  }

  /** Notes what is asked for; `seek` tries for it. */
  add(names: readonly string[], onChange: RequestedLeases["onChange"]): LeaseRequest {
    const asked: RequestedLeases = { names: new Set(names), onChange, held: new Set() }
    this.#requests.add(asked)
    return {
      release: async () => {
        this.#requests.delete(asked)
        await this.#inTurn(() => this.#unlock([...asked.held]))
      },
    }
  }

  /** Tries for all that is asked for and not held. @throws the driver's error */
  async acquire(client: pg.Client): Promise<void> {
    await this.#inTurn(async () => {
      const sought = [...this.#requests].flatMap(({ names, held }) =>
        [...names].filter((name) => !held.has(name)),
      )
      // Also with nothing to seek: it shows whether the connection still answers.
      const { rows } = await client.query<{ name: string; taken: boolean }>(TRY_LOCK, [sought])
      const taken = rows.filter((row) => row.taken).map((row) => row.name)
      if (taken.length > 0 && this.#client() === client) await this.#assign(taken)
    })
  }

  /** All that was held is lost. */
  markAllLost(): void {
    for (const { held, onChange } of this.#requests) {
      const lost = [...held]
      held.clear()
      for (const name of lost) onChange(name, false)
    }
  }

  async #assign(taken: readonly string[]): Promise<void> {
    const unwanted: string[] = []
    for (const name of taken) {
      const asked = [...this.#requests].find(({ names }) => names.has(name))
      asked?.held.add(name)
      asked?.onChange(name, true)
      if (asked === undefined) unwanted.push(name)
    }
    await this.#unlock(unwanted)
  }

  async #unlock(names: readonly string[]): Promise<void> {
    const client = this.#client()
    if (names.length === 0 || client === null) return
    try {
      await client.query(UNLOCK, [names])
    } catch (error) {
      // They end with the connection.
      this.#warn("leases were let go with their connection", error)
    }
  }

  async #inTurn(work: () => Promise<void>): Promise<void> {
    const mine = this.#last.then(work)
    this.#last = mine.catch(() => undefined)
    await mine
  }
}

// The connection that stands for a process. What the process holds by a lock of this session is held
// while the connection lasts, and is let go by the server when it ends.

const FIRST_BACKOFF_MS = 50
const MAX_BACKOFF_MS = 1_000
/** A connection that does not answer for so long is taken for lost. */
const RESPONSE_TIMEOUT_MS = 5_000

/**
 * Others wait for the locks of a machine that vanished: the server notices it within ten seconds,
 * where it would take two hours by itself.
 */
const KEEPALIVE = "-c tcp_keepalives_idle=4 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3"

/** What a session tells its owner. */
interface SessionOwner {
  /** Takes the locks and whatever else a new connection needs. @throws when it cannot */
  readonly onConnected: (client: pg.Client) => Promise<void>
  /** The connection was made anew. */
  readonly onReconnected: () => void
  /** The connection was lost, and all that it held. It is made anew by itself. */
  readonly onLost: () => void
  readonly onNotification: (name: string, text: string) => void
  readonly warn: (message: string, error: unknown) => void
  /** What watches over the database, where anything does. */
  readonly watch: DatabaseWatch | null
}

/** A session that connects again whenever it is lost. */
export interface ProcessSession {
  /** The connection; null while there is none. */
  readonly client: () => pg.Client | null
  /** Gives a connection up that does not do what it should. */
  readonly drop: (client: pg.Client, error: Error) => void
  /** Ends it after some last words. */
  readonly close: (leave: (client: pg.Client) => Promise<void>) => Promise<void>
}

/** Opens a session. @throws the driver's error where the first connection fails */
export async function openProcessSession(
  url: string,
  owner: SessionOwner,
): Promise<ProcessSession> {
  const closing = new AbortController()
  let current: pg.Client | null = null
  let again: Promise<void> = Promise.resolve()

  const lose = (client: pg.Client, error: Error): void => {
    if (current !== client) return
    current = null
    void client.end()
    owner.onLost()
    if (closing.signal.aborted) return
    owner.warn("the connection that says this process lives was lost", error)
    again = connectAgain()
  }

  const open = async (): Promise<void> => {
    const client = await connect(url, owner, lose)
    current = client
  }

  const connectAgain = async (): Promise<void> => {
    for (let waitMs = FIRST_BACKOFF_MS; ; waitMs = Math.min(2 * waitMs, MAX_BACKOFF_MS)) {
      await pause(waitMs, undefined, { ref: false, signal: closing.signal }).catch(() => undefined)
      if (closing.signal.aborted) return
      try {
        await open()
        owner.onReconnected()
        return
      } catch (error) {
        owner.warn("the connection that says this process lives could not be made anew", error)
      }
    }
  }

  await open()
  return {
    client: () => current,
    drop: lose,
    close: async (leave) => {
      closing.abort()
      await again
      const client = current
      if (client === null) return
      await leave(client)
      current = null
      await client.end()
    },
  }
}

/** A connection on which the owner has begun. */
async function connect(
  url: string,
  owner: SessionOwner,
  lose: (client: pg.Client, error: Error) => void,
): Promise<pg.Client> {
  owner.watch?.requireAvailable()
  const Client =
    owner.watch?.clientClass({ statementTimeoutMs: null, isPooled: false }) ?? pg.Client
  const client = new Client({
    connectionString: url,
    application_name: "company-ledger process",
    options: KEEPALIVE,
    keepAlive: true,
    query_timeout: RESPONSE_TIMEOUT_MS,
    connectionTimeoutMillis: RESPONSE_TIMEOUT_MS,
  })
  // Until it counts as the process's connection, whoever waits for it is told by what he waits for.
  client.on("error", (error) => lose(client, error))
  client.on("end", () => lose(client, new Error("the connection ended")))
  client.on("notification", ({ channel, payload = "" }) => owner.onNotification(channel, payload))
  try {
    await client.connect()
    await owner.onConnected(client)
    return client
  } catch (error) {
    void client.end()
    throw error
  }
}
