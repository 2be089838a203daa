import pg from "pg"
import { withTimeout } from "../../machine/promises.ts"
import { AccessDenied, Unavailable } from "../port.ts"

const CONNECT_TIMEOUT_MS = 5_000

const DISCONNECT_TIMEOUT_MS = 1_000

/**
 * Read plans must not depend on statistics: a table that was never analyzed is taken for a small one, and a scan
 * planned then stays in the session. Every read has an index in the right order, so all other plans are off.
 */
const READ_PLANNER_SETTINGS = `
  set enable_seqscan = off;
  set enable_bitmapscan = off;
  set plan_cache_mode = force_generic_plan;
  set jit = off;
`

/** A connection string, and pg settings that it lacks. */
export interface DatabaseAddress {
  readonly url: string
  readonly settings?: pg.ClientConfig
  readonly watch?: WatchedDatabase
}

/** A watch that fails connections while the database does not answer. */
interface WatchedDatabase {
  readonly clientClass: (rules: {
    readonly statementTimeoutMs: number | null
    readonly isPooled: boolean
  }) => typeof pg.Client
  readonly pool: (config: pg.PoolConfig, answerMs: number, whenSilent: "refuse") => pg.Pool
  /** @throws a connection error while the database does not answer */
  readonly requireAvailable: () => void
}

interface ConnectionPurpose {
  readonly settings: pg.ClientConfig
  readonly prepare: string
  /** Called when it broke, also while idle, and possibly more than once. */
  readonly onLost: (cause: Error) => void
}

export interface StoreDatabase {
  /** Connects; the caller disconnects. Rejects with pg's own errors. */
  readonly connect: (purpose: ConnectionPurpose) => Promise<pg.Client>
  /** Opens a pool for statements that only read, each bounded in time. */
  readonly openReadPool: (connections: number, timeoutMs: number) => pg.Pool
}

/** Prepares connections to the database; does not connect yet. */
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
      // An idle connection that breaks needs no action: the next reader gets another one, or an
      // error. Without a listener the event would crash the process.
      pool.on("error", () => undefined)
      return pool
    },
  }
}

/** Disconnects, without waiting for a server that hangs. */
export async function disconnect(client: pg.Client): Promise<void> {
  await withTimeout(DISCONNECT_TIMEOUT_MS, client.end(), undefined)
}

const SQL_STATE_MESSAGES: Readonly<Record<string, string>> = {
  "3D000": "the database does not exist: create it, or correct its name in the connection string",
  "3F000": "the schema eventstore is missing: run the migrations",
  "42P01": "the schema eventstore is missing: run the migrations",
  "42883": "the schema eventstore is missing or outdated: run the migrations",
  "25006": "the database is read-only",
  "53100": "the disk of the database is full",
  "53200": "the database is out of memory",
  "53300": "the database has no free connection: raise max_connections or close other clients",
  "57014": "the database canceled the statement",
  "57P01": "the database is stopping",
  "57P02": "the database crashed",
  "57P03": "the database is starting or stopping",
}

/**
 * Translates a failure that stored nothing: a failed connect, a statement that only reads, or a
 * transaction that was certainly rolled back.
 */
export function storeErrorFromPostgres(error: unknown): Unavailable | AccessDenied {
  if (error instanceof Unavailable || error instanceof AccessDenied) return error
  const code = sqlState(error)
  if (code === "42501" || code?.startsWith("28")) {
    return new AccessDenied(
      "The database rejected the credentials: check user, password and privileges",
      { cause: error },
    )
  }
  const advice = code === undefined ? undefined : SQL_STATE_MESSAGES[code]
  return new Unavailable(`The event store is unavailable: ${advice ?? describeError(error)}`, {
    cause: error,
  })
}

/** Returns PostgreSQL's five-character error code, undefined if the error is not from the server. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined
}

/** Describes an error. Node wraps the failures of several addresses in an error without a message. */
function describeError(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(describeError).join(", ")
  return error instanceof Error ? error.message : String(error)
}
