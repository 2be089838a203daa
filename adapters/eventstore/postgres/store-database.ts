import pg from "pg"
import { withTimeout } from "../../machine/promises.ts"
import { AccessDenied, Unavailable } from "../port.ts"

/** How long a connection may take to be made, in milliseconds. */
const CONNECT_TIMEOUT_MS = 5_000

/** How long a connection may take to say good-bye, in milliseconds. */
const DISCONNECT_TIMEOUT_MS = 1_000

/**
 * Plans of the statements that read must not depend on statistics: a table that was never analyzed
 * is taken for a small one, and a scan of it, planned once, stays in the session. There is an index
 * in the right order for each of them, so every other way is off and plans are made once.
 */
const READ_PLANNER_SETTINGS = `
  set enable_seqscan = off;
  set enable_bitmapscan = off;
  set plan_cache_mode = force_generic_plan;
  set jit = off;
`

/** How the database is reached: a connection string, and those of pg's settings that it lacks. */
export interface DatabaseAddress {
  readonly url: string
  readonly settings?: pg.ClientConfig
  /** What watches over the database, where anything does. */
  readonly watch?: WatchedDatabase
}

/** What a watch over the database gives: connections that it ends while the database is silent. */
interface WatchedDatabase {
  readonly clientClass: (rules: {
    readonly statementTimeoutMs: number | null
    readonly isPooled: boolean
  }) => typeof pg.Client
  readonly pool: (config: pg.PoolConfig, answerMs: number, whenSilent: "refuse") => pg.Pool
  /** @throws where the database is silent: an error of the connection's */
  readonly requireAvailable: () => void
}

/** What one connection is for. */
interface ConnectionPurpose {
  /** Settings of pg for this connection alone. */
  readonly settings: pg.ClientConfig
  /** Statements to run before it is handed out. */
  readonly prepare: string
  /** Told when it broke, perhaps more than once, also while it is idle. */
  readonly onLost: (cause: Error) => void
}

/** Opens connections to one database. */
export interface StoreDatabase {
  /** Connects for one owner, who disconnects. Rejects with pg's own errors. */
  readonly connect: (purpose: ConnectionPurpose) => Promise<pg.Client>
  /** Makes a pool of connections for statements that only read, each bounded in time. */
  readonly openReadPool: (connections: number, timeoutMs: number) => pg.Pool
}

/** Knows how to reach the database; does not connect yet. */
export function openStoreDatabase(address: DatabaseAddress): StoreDatabase {
  const base: pg.ClientConfig = {
    fallback_application_name: "eventstore",
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    ...address.settings,
    connectionString: address.url,
  }
  const Client =
    address.watch?.clientClass({ statementTimeoutMs: null, isPooled: false }) ?? pg.Client
  return {
    connect: async ({ settings, prepare, onLost }) => {
      address.watch?.requireAvailable()
      const client = new Client({ ...base, ...settings })
      client.on("error", onLost)
      client.on("end", () => onLost(new Error("the connection to the database ended")))
      await client.connect()
      try {
        await client.query(prepare)
      } catch (error) {
        await disconnect(client)
        throw error
      }
      return client
    },
    openReadPool: (connections, timeoutMs) => {
      const config: pg.PoolConfig = {
        ...base,
        max: connections,
        query_timeout: timeoutMs,
        onConnect: (client) => client.query(READ_PLANNER_SETTINGS).then(() => undefined),
      }
      const pool = address.watch?.pool(config, timeoutMs, "refuse") ?? new pg.Pool(config)
      // A pooled connection that breaks while idle is no news: the next reader gets another one, or
      // is told. Without a listener the event would end the process.
      pool.on("error", () => undefined)
      return pool
    },
  }
}

/** Says good-bye and waits until the connection is closed, but not for a server that hangs. */
export async function disconnect(client: pg.Client): Promise<void> {
  await withTimeout(DISCONNECT_TIMEOUT_MS, client.end(), undefined)
}

const SQL_STATE_MESSAGES: Readonly<Record<string, string>> = {
  "3D000": "the database does not exist",
  "3F000": "the schema eventstore is missing: run the migrations",
  "42P01": "the schema eventstore is missing: run the migrations",
  "42883": "the schema eventstore is missing or of another version: run the migrations",
  "25006": "the database takes no writes",
  "53100": "the disk of the database is full",
  "53200": "the database is out of memory",
  "53300": "the database has no free connection",
  "57014": "the database gave up on the statement",
  "57P01": "the database is stopping",
  "57P02": "the database crashed",
  "57P03": "the database is starting or stopping",
}

/**
 * What a failure means when nothing was stored: a connection that could not be made, a statement
 * that only reads, or a transaction that is known to be rolled back.
 */
export function storeErrorFromPostgres(error: unknown): Unavailable | AccessDenied {
  if (error instanceof Unavailable || error instanceof AccessDenied) return error
  const code = sqlState(error)
  if (code === "42501" || code?.startsWith("28")) {
    return new AccessDenied("the database refuses these credentials", { cause: error })
  }
  const advice = code === undefined ? undefined : SQL_STATE_MESSAGES[code]
  return new Unavailable(`the event store is unavailable: ${advice ?? describeError(error)}`, {
    cause: error,
  })
}

/** The five characters with which PostgreSQL names an error, undefined when it was not the sender. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined
}

/** What failed, in words. Node wraps what several addresses answered into an error without a message. */
function describeError(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(describeError).join(", ")
  return error instanceof Error ? error.message : String(error)
}
