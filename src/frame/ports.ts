/** The ports that the running program uses; `main.ts` chooses their adapters. */
import type { Kysely } from "kysely"
import type { ReadModelTables } from "../../projections/kernel/table.ts"
import type { Blobs } from "../../adapters/postgres/blobs/port.ts"
import type { IdempotencyStore } from "../../adapters/postgres/idempotency/port.ts"
import type { Clock, Pacer } from "../../adapters/machine/clock/port.ts"
import type { Erasure } from "../../adapters/postgres/erasure/port.ts"
import type { EventStore, Position } from "../../adapters/eventstore/port.ts"
import type { Projector } from "../../adapters/postgres/projector/port.ts"
import type { ActivityLogs } from "../../adapters/postgres/activity-log/port.ts"
import type { TtlStore } from "../../adapters/postgres/ttl-store/port.ts"
import type { OnlineStatus } from "../../adapters/postgres/online-status/port.ts"
import type { Sealing } from "../../adapters/sealing/port.ts"
import type { Tracing } from "../../adapters/telemetry/port.ts"
import type { StoredJob, NewJob, StuckJob, JobQueue } from "../../adapters/postgres/jobs/port.ts"
import type { ChargeRefused } from "../../domain/charging/ledger-events.ts"
import type { ChargeId, CompanyId } from "../../domain/kernel/ids.ts"
import type { Counters } from "./counters.ts"
import type { Cause } from "./kernel/envelope.ts"
import type { Log } from "./kernel/log.ts"
import type { ConsoleOperations, ConsoleSignIn } from "./console-ports.ts"
import type { SettingsReader } from "./settings.ts"
import type { CorruptList } from "./writer/corrupt-list.ts"
import type { Runner } from "./writer/runner.ts"
import type { Streams } from "./writer/streams.ts"

/** Queries the read models as one company; row-level security hides the rows of all others. */
export type ReadAs = <T>(
  companyId: CompanyId,
  query: (db: Kysely<ReadModelTables>) => Promise<T>,
) => Promise<T>

export interface PoolStats {
  readonly pool: string
  readonly busy: number
  readonly idle: number
  /** Callers that wait for a connection. */
  readonly waiting: number
}

/** The ports that the slices' providers open. Each slice adds its own by declaration merging. */
// Declaration merging needs an interface, even an empty one.
// eslint-disable-next-line @typescript-eslint/no-empty-object-type
export interface ProviderPorts {}

/** The ports of the running program. */
export interface Ports extends ProviderPorts {
  /** Reads a slice's settings. */
  readonly settings: SettingsReader
  readonly runner: Runner
  readonly store: EventStore
  readonly streams: Streams
  /** The corrupt streams and the events held back behind them. */
  readonly corruptList: CorruptList
  /** How many times the installation's events were migrated; the first part of a `Ledger-Position`. */
  readonly storeGeneration: number
  readonly clock: Clock
  readonly pacer: Pacer
  readonly sealing: Sealing
  readonly idempotency: IdempotencyStore
  readonly jobs: JobQueue
  readonly ttlStore: TtlStore
  readonly activityLog: ActivityLogs
  readonly blobs: Blobs
  readonly onlineStatus: OnlineStatus
  readonly erasure: Erasure
  readonly projector: Projector
  readonly readAs: ReadAs
  /** Reads the read models of all companies, for operators and reactions. */
  readonly readAll: Kysely<ReadModelTables>
  /**
   * Resolves once every other process of the installation has seen all events up to a position, so that none
   * of them answers from older state.
   */
  readonly waitForOtherProcesses: (place: Position) => Promise<void>
  /** Settles a charge; many settlements share one fact. Resolves when it is stored. */
  readonly settleCharge: (companyId: CompanyId, chargeId: ChargeId) => Promise<void>
  /**
   * Runs a job immediately in this process, unless its row already exists; then the process that claims the
   * row runs it. Resolves with whether this process ran or postponed it.
   *
   * @param stopping when it aborts, the job is released as if it had not been tried, for another process
   */
  readonly runJobNow: (work: NewJob, stopping: AbortSignal) => Promise<boolean>
  /** Ends what a stuck job was for, or returns why it cannot be discarded and what to do instead. */
  readonly discardJob: (
    work: StuckJob,
    cause: Cause,
  ) => Promise<{ readonly refusal: string } | null>
  /** Returns the first time at which an operator may retry or discard a job, UTC milliseconds. */
  readonly earliestRetryAt: (work: StoredJob) => number
  /** Has every slice erase a company's data outside the program's PostgreSQL database. */
  readonly eraseExternalData: (companyId: CompanyId) => Promise<void>
  /** Counters of this process, for `/metrics`. */
  readonly counters: Counters
  /** The connections of this process to PostgreSQL, pool by pool. */
  readonly poolStats: () => readonly PoolStats[]
  /** Stores the evidence of a refusal in the background. */
  readonly storeRefusal: (companyId: CompanyId, refusal: ChargeRefused) => void
  /** Sign-in by email for all companies that have a person with that email. */
  readonly consoleSignIn: ConsoleSignIn
  /** The operator's operations that users of the console run in their own company. */
  readonly consoleOperations: ConsoleOperations
  /** The public URL of this service, without a trailing slash. */
  readonly baseUrl: () => string
  readonly log: Log
  /** Exports spans to the trace collector. */
  readonly tracing: Tracing
}
