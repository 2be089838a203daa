import pg from "pg"
import type { LeaseRequest } from "./port.ts"
import { setTimeout as pause } from "node:timers/promises"
import type { DatabaseWatch } from "../watch.ts"

/** Seeds the hash of a lease's name, so that its lock collides with no other in the database. */
const LOCK_SPACE = 7_003

const TRY_LOCK = `
  select name, pg_try_advisory_lock(hashtextextended(name, ${LOCK_SPACE})) as taken
  from unnest($1::text[]) as request (name)`
const UNLOCK = `
  select pg_advisory_unlock(hashtextextended(name, ${LOCK_SPACE}))
  from unnest($1::text[]) as held (name)`

interface RequestedLeases {
  readonly names: ReadonlySet<string>
  readonly onChange: (name: string, isHeld: boolean) => void
  readonly held: Set<string>
}

/** The leases that a process requests, as advisory locks of its session. */
export class LeaseRegistry {
  readonly #client: () => pg.Client | null
  readonly #warn: (message: string, error: unknown) => void
  readonly #requests = new Set<RequestedLeases>()
  /** Statements run one at a time: a lock that is taken twice must be released twice. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(client: () => pg.Client | null, warn: (message: string, error: unknown) => void) {
    this.#client = client
    this.#warn = warn
  }

  add(names: readonly string[], onChange: RequestedLeases["onChange"]): LeaseRequest {
    const request: RequestedLeases = { names: new Set(names), onChange, held: new Set() }
    this.#requests.add(request)
    return {
      release: async () => {
        this.#requests.delete(request)
        await this.#inTurn(() => this.#unlock([...request.held]))
      },
    }
  }

  /** Tries to get all requested leases that are not held. @throws the driver's error */
  async acquire(client: pg.Client): Promise<void> {
    await this.#inTurn(async () => {
      const wanted = [...this.#requests].flatMap(({ names, held }) =>
        [...names].filter((name) => !held.has(name)),
      )
      // Also with nothing to acquire: it shows whether the connection still answers.
      const { rows } = await client.query<{ name: string; taken: boolean }>(TRY_LOCK, [wanted])
      const taken = rows.filter((row) => row.taken).map((row) => row.name)
      if (taken.length > 0 && this.#client() === client) await this.#assign(taken)
    })
  }

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
      const request = [...this.#requests].find(({ names }) => names.has(name))
      request?.held.add(name)
      request?.onChange(name, true)
      if (request === undefined) unwanted.push(name)
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
      this.#warn("leases were released by closing their connection", error)
    }
  }

  async #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => undefined)
    await turn
  }
}

// The connection that represents a process. Locks of its session are held while the connection
// lasts, and the server releases them when it ends.

const FIRST_BACKOFF_MS = 50
const MAX_BACKOFF_MS = 1_000
/** A connection that does not answer for this long counts as lost. */
const RESPONSE_TIMEOUT_MS = 5_000

/**
 * Other processes wait for the locks of a machine that vanished: with these settings the server
 * notices within ten seconds instead of two hours.
 */
const KEEPALIVE = "-c tcp_keepalives_idle=4 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3"

interface SessionOwner {
  /** Takes locks and whatever else a new connection needs. @throws if it cannot */
  readonly onConnected: (client: pg.Client) => Promise<void>
  readonly onReconnected: () => void
  /** The connection was lost with all its locks. The session reconnects by itself. */
  readonly onLost: () => void
  readonly onNotification: (name: string, text: string) => void
  readonly warn: (message: string, error: unknown) => void
  readonly watch: DatabaseWatch | null
}

/** A session that reconnects whenever its connection is lost. */
export interface ProcessSession {
  readonly client: () => pg.Client | null
  readonly drop: (client: pg.Client, error: Error) => void
  /** Ends the session after a last use of its connection. */
  readonly close: (beforeClose: (client: pg.Client) => Promise<void>) => Promise<void>
}

/** Opens a session. @throws the driver's error if the first connection fails */
export async function openProcessSession(
  url: string,
  owner: SessionOwner,
): Promise<ProcessSession> {
  const closing = new AbortController()
  let current: pg.Client | null = null
  let reconnecting: Promise<void> = Promise.resolve()

  const lose = (client: pg.Client, error: Error): void => {
    if (current !== client) return
    current = null
    void client.end()
    owner.onLost()
    if (closing.signal.aborted) return
    owner.warn("the connection that registers this process was lost", error)
    reconnecting = connectAgain()
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
        owner.warn("the connection that registers this process could not be reopened", error)
      }
    }
  }

  await open()
  return {
    client: () => current,
    drop: lose,
    close: async (beforeClose) => {
      closing.abort()
      await reconnecting
      const client = current
      if (client === null) return
      await beforeClose(client)
      current = null
      await client.end()
    },
  }
}

/** A connection after `onConnected`. */
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
  // Before this connection is current, `lose` ignores it, and the callers get the error.
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
