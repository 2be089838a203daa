/**
 * The job queue: rows that projections enqueue and workers execute, at least once each.
 *
 * A job is due by the ledger's clock; leases and backoff use the database's clock. Jobs of one
 * subject run in order, so a slow recipient delays no other.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"

/** A job that this process holds until it settles it. */
export interface ClaimedJob {
  readonly jobId: number
  readonly kind: string
  readonly name: string
  readonly subject: string
  readonly companyId: CompanyId | null
  readonly payload: unknown
  /** How often it was claimed since it was last rescheduled, including this time. */
  readonly attempts: number
  /** Whether an earlier execution dispatched it: its provider call may have happened. */
  readonly isDispatched: boolean
  /** The trace it continues, as a `traceparent`; null without tracing. */
  readonly trace?: string | null
}

/** A job that is enqueued and claimed in one step. */
export interface NewJob {
  readonly kind: string
  readonly name: string
  readonly subject: string
  readonly companyId: CompanyId
  readonly payload: object
  /** By the ledger's clock, UTC milliseconds. */
  readonly dueAt: number
  readonly trace?: string | null
}

/** Limits on concurrently claimed jobs of a kind. */
export interface JobKindLimit {
  readonly kind: string
  /** Free slots of this process. */
  readonly perProcess: number
  /** Free slots of this process for all kinds that share them; null if it shares none. */
  readonly sharedPerProcess: number | null
  /** For all processes of this machine together; null for no limit. */
  readonly perMachine: number | null
  /** For all processes together, per company; null for no limit. */
  readonly perCompany: number | null
}

/** The outcome of an execution. */
export type JobResult =
  | { readonly result: "done" }
  /** Runs again, possibly as another kind, when it is due by the ledger's clock. */
  | {
      readonly result: "rescheduled"
      readonly dueAt: number
      readonly kind?: string
      readonly subject?: string
      /** The provider's outcome is recorded: the next execution need not check the status first. */
      readonly isDispatchCleared?: true
    }
  /** It failed temporarily and runs again after a pause. */
  | {
      readonly result: "retry"
      readonly afterMs: number
      readonly reason: string
      /** The provider confirmed that it did nothing. */
      readonly isDispatchCleared?: true
    }
  /** It was not tried; any process may claim it immediately. */
  | {
      readonly result: "released"
      /** The provider was not called. */
      readonly isDispatchCleared?: true
    }
  | { readonly result: "stuck"; readonly reason: string }

export interface ListedJob {
  readonly jobId: number
  readonly kind: string
  readonly name: string
  readonly companyId: CompanyId | null
  readonly dueAt: string
  readonly attempts: number
  /** When a temporarily failed job runs again, by the machine's clock; null if it waits for no such time. */
  readonly retryAt: string | null
  readonly running: boolean
  readonly stuck: string | null
}

/** A job that waits for an operator. */
export type StuckJob = Omit<ClaimedJob, "attempts" | "isDispatched"> & {
  readonly stuck: string | null
}

export type StoredJob = ClaimedJob & ListedJob

/** The number and age of waiting jobs. */
export interface Backlog {
  /** Jobs that are due and not stuck, including claimed ones and those in a backoff. */
  readonly due: number
  /** When the oldest of them was due, UTC milliseconds; null if there is none. */
  readonly dueSince: number | null
  readonly stuck: number
  readonly stuckSince: number | null
}

export interface JobQueue {
  /** Claims up to `limit` jobs that are due at `now` (the ledger's time), within the limits of their kinds. */
  readonly claim: (
    now: number,
    limit: number,
    limits?: readonly JobKindLimit[],
  ) => Promise<readonly ClaimedJob[]>
  /** Enqueues and claims a job; null if one of its kind and name exists or was just finished. */
  readonly enqueueClaimed: (job: NewJob) => Promise<ClaimedJob | null>
  /** Extends leases by a minute; returns the jobs that this process still holds. */
  readonly renewLeases: (jobIds: readonly number[]) => Promise<readonly number[]>
  /**
   * Records that a job's provider call begins, so that a retry checks the status first, and extends
   * its lease by a minute. False: this process no longer holds it and must not call the provider.
   */
  readonly dispatch: (jobId: number) => Promise<boolean>
  /** Releases claimed jobs that this process does not know, because the answer to a claim was lost. */
  readonly releaseExcept: (knownJobIds: readonly number[]) => Promise<void>
  /**
   * Records the outcome of an execution. If another process has claimed the job meanwhile, because
   * its lease expired, only `done` has an effect.
   */
  readonly settle: (jobId: number, result: JobResult) => Promise<void>
  /**
   * How many jobs are due at `now`, not stuck, and not delayed by a backoff of their own or of an
   * earlier job of their subject.
   */
  readonly countDue: (now: number) => Promise<number>
  readonly backlog: (now: number) => Promise<Backlog>
  /** The next due time after `now`, at most `until`; null if there is none. */
  readonly findNextDue: (now: number, until: number) => Promise<number | null>
  readonly listNames: (kind: string) => Promise<readonly string[]>
  readonly list: (limit: number) => Promise<readonly ListedJob[]>
  readonly find: (jobId: number) => Promise<StoredJob | null>
  readonly findByName: (kind: string, name: string) => Promise<StoredJob | null>
  /** Deletes a stuck job. False: it does not exist or is not stuck. */
  readonly discard: (jobId: number) => Promise<boolean>
  /**
   * Makes a job claimable immediately (`now` by the ledger's time), stuck or not. False: it does
   * not exist, or it is not due yet and `isEarly` is false.
   */
  readonly retry: (jobId: number, now: number, isEarly: boolean) => Promise<boolean>
}
