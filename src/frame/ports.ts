/** Everything outside that the program works with, chosen once in `main.ts`. */
import type { Kysely } from "kysely"
import type { ReadTables } from "../../projections/kernel/table.ts"
import type { Blobs } from "../../adapters/postgres/blobs/port.ts"
import type { Claims } from "../../adapters/postgres/idempotency/port.ts"
import type { Clock, Pacer } from "../../adapters/machine/clock/port.ts"
import type { Erasure } from "../../adapters/postgres/erasure/port.ts"
import type { EventStore, Position } from "../../adapters/eventstore/port.ts"
import type { Projector } from "../../adapters/postgres/projector/port.ts"
import type { Journals } from "../../adapters/postgres/activity-log/port.ts"
import type { Kept } from "../../adapters/postgres/ttl-store/port.ts"
import type { Presence } from "../../adapters/postgres/online-status/port.ts"
import type { Sealing } from "../../adapters/sealing/port.ts"
import type { Tracing } from "../../adapters/telemetry/port.ts"
import type {
  FoundWork,
  NewWork,
  ParkedWork,
  WorkQueue,
} from "../../adapters/postgres/jobs/port.ts"
import type { ChargeRefused } from "../../domain/charging/ledger-formats.ts"
import type { ChargeId, CompanyId } from "../../domain/kernel/ids.ts"
import type { Counts } from "./counts.ts"
import type { Cause } from "./kernel/envelope.ts"
import type { Log } from "./kernel/log.ts"
import type { InConsole, Accounts } from "./console-ports.ts"
import type { ReadSettings } from "./settings.ts"
import type { CorruptList } from "./writer/corrupt-list.ts"
import type { Runner } from "./writer/run.ts"
import type { Streams } from "./writer/streams.ts"

/** Reads the read models as a company sees them: row-level security shows no other's rows. */
export type ReadAs = <T>(
  companyId: CompanyId,
  query: (db: Kysely<ReadTables>) => Promise<T>,
) => Promise<T>

/** The connections of a pool. */
export interface Connections {
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
export interface ProvidedPorts {}

/** The ports of the running program. */
export interface Ports extends ProvidedPorts {
  /** Reads settings of a slice. */
  readonly settings: ReadSettings
  readonly runner: Runner
  readonly store: EventStore
  readonly streams: Streams
  /** The streams that are held back. */
  readonly corrupt: CorruptList
  /** How often the installation's events have moved: what a `Ledger-Position` begins with. */
  readonly storeGeneration: number
  readonly clock: Clock
  readonly pacer: Pacer
  readonly sealing: Sealing
  readonly claims: Claims
  readonly work: WorkQueue
  readonly kept: Kept
  readonly journal: Journals
  readonly blobs: Blobs
  readonly presence: Presence
  readonly erasure: Erasure
  readonly projector: Projector
  readonly readAs: ReadAs
  /** Reads the read models of all companies, for operators and reactions. */
  readonly readAll: Kysely<ReadTables>
  /**
   * Resolves once every other process of the installation has heard of everything up to a place: from
   * then on none of them answers from what was before.
   */
  readonly heardElsewhere: (place: Position) => Promise<void>
  /** Closes a charge; many closings share a fact. Resolves when it is stored. */
  readonly closeCharge: (companyId: CompanyId, chargeId: ChargeId) => Promise<void>
  /**
   * Does a piece of work at once, in this process, unless its row is there already: then whoever takes that
   * does it. Resolves when it was done or put off, with whether it was this process's.
   *
   * @param stopping where it aborts, the work is let go as if it had not been tried, for another process
   */
  readonly doNow: (work: NewWork, stopping: AbortSignal) => Promise<boolean>
  /** Ends what a parked row stands for; else says why it cannot be given up, and what to do instead. */
  readonly giveUp: (work: ParkedWork, cause: Cause) => Promise<{ readonly refusal: string } | null>
  /** The first instant at which an operator may have a row tried or given up, UTC milliseconds. */
  readonly allowedFrom: (work: FoundWork) => number
  /** Has every slice take out what it has of a company outside of the program's PostgreSQL. */
  readonly eraseElsewhere: (companyId: CompanyId) => Promise<void>
  /** What happened in this process, for `/metrics`. */
  readonly counts: Counts
  /** The connections of this process to PostgreSQL, pool by pool. */
  readonly connections: () => readonly Connections[]
  /** Keeps the evidence of a refusal, without anybody waiting for it. */
  readonly keepRefusal: (companyId: CompanyId, refusal: ChargeRefused) => void
  /** Who signs in with an email alone, at all companies where it is somebody's. */
  readonly accounts: Accounts
  /** What of the operator's commands people do themselves, in their company's console. */
  readonly inConsole: InConsole
  /** The public address of this service, without a slash at the end. */
  readonly baseUrl: () => string
  readonly log: Log
  /** Tells whoever collects traces of what is done. */
  readonly tracing: Tracing
}
