/** What an installation is opened with. */
import type { WorkerSlot } from "../../../adapters/postgres/home-worker.ts"
import type { DatabaseTimeouts } from "../../../adapters/postgres/watch.ts"
import type { DetailedLog } from "../../frame/kernel/log.ts"
import type { SettingsReader } from "../../frame/settings.ts"
import type { Program } from "../../frame/slice.ts"
import type { InjectedFaults } from "../settings/injected-faults.ts"
import type { TraceCollector } from "../settings/traces.ts"
import { JOBS_PROJECTION, DELAYED_JOBS_PROJECTION } from "../../../projections/kernel/jobs.ts"

/** Their names: what follows from facts goes on behind their position, wherever the events are. */
export const JOB_PROJECTIONS: readonly string[] = [JOBS_PROJECTION, DELAYED_JOBS_PROJECTION]

/**
 * The event store appends by one connection, listens by one and reads by four; the process has two,
 * the watch one.
 */
const RESERVED_CONNECTIONS = 9

/** Its choices. */
export interface InstallationOptions {
  readonly databaseUrl: string
  /** A server of EventStoreDB or KurrentDB; null: the event store inside the database. */
  readonly eventStoreUrl: string | null
  /** How many connections to PostgreSQL it may open, at least 16. */
  readonly databaseConnections: number
  readonly clock: "system" | "test"
  /** Absolute path of the data folder. */
  readonly dataDir: string
  readonly masterKey: Buffer | null
  /** The settings of the slices; default none is set. */
  readonly settings?: SettingsReader
  readonly baseUrl: () => string
  readonly log: DetailedLog
  /** Aborted where nobody waits for it any more: what was opened is closed again. */
  readonly signal?: AbortSignal
  /** How patient to be with the database; default `DEFAULT_DATABASE_TIMEOUTS`. */
  readonly waits?: DatabaseTimeouts
  /** How long a call waits for the ledger, milliseconds; default `DEFAULT_DEADLINE_MS`. */
  readonly deadlineMs?: number
  /** Which of several processes of this machine it is; default the only one. */
  readonly seat?: WorkerSlot
  /** Who collects traces; default nobody. */
  readonly traces?: TraceCollector | null
  /** What is to go wrong, in tests. */
  readonly faults?: InjectedFaults
  /** What it is made of; default all slices. */
  readonly program?: Program
}

/** What the pools may open each. What is written behind has most: each read model writes by itself. */
export function poolSizesFor(connections: number) {
  const shared = connections - RESERVED_CONNECTIONS
  const owner = Math.floor(shared * 0.31)
  return { owner, api: owner, writeBehind: shared - 2 * owner }
}
