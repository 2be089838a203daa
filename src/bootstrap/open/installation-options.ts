/** Options for opening an installation. */
import type { WorkerSlot } from "../../../adapters/postgres/home-worker.ts"
import type { DatabaseTimeouts } from "../../../adapters/postgres/watch.ts"
import type { DetailedLog } from "../../frame/kernel/log.ts"
import type { SettingsReader } from "../../frame/settings.ts"
import type { Program } from "../../frame/slice.ts"
import type { InjectedFaults } from "../settings/injected-faults.ts"
import type { TraceCollector } from "../settings/traces.ts"
import { JOBS_PROJECTION, DELAYED_JOBS_PROJECTION } from "../../../projections/kernel/jobs.ts"

/** Projections that write jobs. A migration keeps their positions, so that no job is enqueued twice. */
export const JOB_PROJECTIONS: readonly string[] = [JOBS_PROJECTION, DELAYED_JOBS_PROJECTION]

/**
 * Connections outside the pools: the event store appends with one, listens with one and reads with
 * four; the process registry uses two and the watch uses one.
 */
const RESERVED_CONNECTIONS = 9

export interface InstallationOptions {
  readonly databaseUrl: string
  /** An EventStoreDB or KurrentDB server; null: the event store inside the database. */
  readonly eventStoreUrl: string | null
  /** The maximum number of connections to PostgreSQL, at least 16. */
  readonly databaseConnections: number
  readonly clock: "system" | "test"
  /** Absolute path of the data folder. */
  readonly dataDir: string
  readonly masterKey: Buffer | null
  /** The settings of the slices; default none. */
  readonly settings?: SettingsReader
  readonly baseUrl: () => string
  readonly log: DetailedLog
  /** Aborted when the result is no longer needed: whatever was opened is closed again. */
  readonly signal?: AbortSignal
  /** Timeouts for the database; default `DEFAULT_DATABASE_TIMEOUTS`. */
  readonly timeouts?: DatabaseTimeouts
  /** How long a call waits for the ledger, milliseconds; default `DEFAULT_DEADLINE_MS`. */
  readonly deadlineMs?: number
  /** The worker's number among the workers of this machine; default the only process. */
  readonly workerSlot?: WorkerSlot
  /** The trace collector; default none. */
  readonly traces?: TraceCollector | null
  /** Injected faults, in tests. */
  readonly faults?: InjectedFaults
  /** The program to run; default all slices. */
  readonly program?: Program
}

/**
 * Sizes of the pools. Background writes get the largest pool, because each read model writes on its own
 * connection.
 */
export function poolSizesFor(connections: number) {
  const shared = connections - RESERVED_CONNECTIONS
  const owner = Math.floor(shared * 0.31)
  return { owner, api: owner, writeBehind: shared - 2 * owner }
}
