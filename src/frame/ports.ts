/** Everything outside that the program works with, chosen once in `main.ts`. */
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

/** Reads the read models as a company sees them: row-level security shows no other's rows. */
export type ReadAs = <T>(
  companyId: CompanyId,
  query: (db: Kysely<ReadModelTables>) => Promise<T>,
) => Promise<T>

/** The connections of a pool. */
export interface PoolStats {
  readonly pool: string
  readonly busy: number
  readonly idle: number
  /** How many wait for one. */
  readonly waiting: number
}

/**
 * What the slices' providers open. Each slice adds its own by declaration merging, beside the provider
 * that it is opened by.
 */
// Slices add to it.
// eslint-disable-next-line @typescript-eslint/no-empty-object-type
export interface ProviderPorts {}

/** The ports of the running program. */
export interface Ports extends ProviderPorts {
  /** Reads settings of a slice. */
  readonly settings: SettingsReader
  readonly runner: Runner
  readonly store: EventStore
  readonly streams: Streams
  /** The streams that are held back. */
  readonly corruptList: CorruptList
  /** How often the installation's events have moved: what a `Ledger-Position` begins with. */
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
   * Resolves once every other process of the installation has heard of everything up to a place: from
   * then on none of them answers from what was before.
   */
  readonly waitForOtherProcesses: (place: Position) => Promise<void>
  /** Closes a charge; many closings share a fact. Resolves when it is stored. */
  readonly settleCharge: (companyId: CompanyId, chargeId: ChargeId) => Promise<void>
  /**
   * Does a piece of work at once, in this process, unless its row is there already: then whoever takes that
   * does it. Resolves when it was done or put off, with whether it was this process's.
   *
   * @param stopping where it aborts, the work is let go as if it had not been tried, for another process
   */
  readonly runJobNow: (work: NewJob, stopping: AbortSignal) => Promise<boolean>
  /** Ends what a parked row stands for; else says why it cannot be given up, and what to do instead. */
  readonly discardJob: (
    work: StuckJob,
    cause: Cause,
  ) => Promise<{ readonly refusal: string } | null>
  /** The first instant at which an operator may have a row tried or given up, UTC milliseconds. */
  readonly earliestRetryAt: (work: StoredJob) => number
  /** Has every slice take out what it has of a company outside of the program's PostgreSQL. */
  readonly eraseExternalData: (companyId: CompanyId) => Promise<void>
  /** What happened in this process, for `/metrics`. */
  readonly counters: Counters
  /** The connections of this process to PostgreSQL, pool by pool. */
  readonly poolStats: () => readonly PoolStats[]
  /** Keeps the evidence of a refusal, without anybody waiting for it. */
  readonly storeRefusal: (companyId: CompanyId, refusal: ChargeRefused) => void
  /** Who signs in with an email alone, at all companies where it is somebody's. */
  readonly consoleSignIn: ConsoleSignIn
  /** What of the operator's commands people do themselves, in their company's console. */
  readonly consoleOperations: ConsoleOperations
  /** The public address of this service, without a slash at the end. */
  readonly baseUrl: () => string
  readonly log: Log
  /** Tells whoever collects traces of what is done. */
  readonly tracing: Tracing
}
