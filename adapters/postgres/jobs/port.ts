/**
 * The queue of work: rows that a projection writes and workers take, at least once each.
 *
 * Work is due by the ledger's clock; leases and back-off go by the database's own. Work on one
 * subject is done in order, so one silent recipient holds up nobody else.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"

/** A row that this process holds until it says what became of it. */
export interface ClaimedJob {
  readonly jobId: number
  readonly kind: string
  readonly name: string
  readonly subject: string
  readonly companyId: CompanyId | null
  readonly payload: unknown
  /** How often it was taken since it was last put off as planned, this time included. */
  readonly attempts: number
  /** Whether it was on its way to a provider when it was worked on before: it may have been done. */
  readonly isDispatched: boolean
  /** The trace that it follows from, as a `traceparent`; none where nobody is told of it. */
  readonly trace?: string | null
}

/** A row that is to be there and taken at once. */
export interface NewJob {
  readonly kind: string
  readonly name: string
  readonly subject: string
  readonly companyId: CompanyId
  readonly payload: object
  /** By the ledger's clock, UTC milliseconds. */
  readonly dueAt: number
  /** The trace in which it is done. */
  readonly trace?: string | null
}

/** How many rows of a kind may be taken. */
export interface JobKindLimit {
  readonly kind: string
  /** By this process now. */
  readonly perProcess: number
  /** By this process now, of all kinds together that share their places; null where it shares none. */
  readonly sharedPerProcess: number | null
  /** By all processes of this machine together; null for any number. */
  readonly perMachine: number | null
  /** By all processes together, of one company; null for any number. */
  readonly perCompany: number | null
}

/** What became of a row. */
export type JobResult =
  | { readonly result: "done" }
  /** To be done again, perhaps as another kind, when it is due by the ledger's clock. */
  | {
      readonly result: "later"
      readonly dueAt: number
      readonly kind?: string
      readonly subject?: string
      /** What became of it at the provider is recorded: it is not on its way to it any more. */
      readonly isDispatchCleared?: true
    }
  /** It failed for a passing reason: again after a while. */
  | {
      readonly result: "retry"
      readonly afterMs: number
      readonly reason: string
      /** The provider said that it did nothing: it is not on its way to it any more. */
      readonly isDispatchCleared?: true
    }
  /** Somebody else may do it at once, and it was not tried. */
  | {
      readonly result: "let go"
      /** The provider was not called: it is not on its way to it any more. */
      readonly isDispatchCleared?: true
    }
  /** It needs an operator. */
  | { readonly result: "park"; readonly reason: string }

/** A row as an operator sees it. */
export interface ListedJob {
  readonly jobId: number
  readonly kind: string
  readonly name: string
  readonly companyId: CompanyId | null
  readonly dueAt: string
  readonly attempts: number
  /**
   * When it is tried again that failed for a passing reason, by the machine's clock; null where it waits
   * for no such time.
   */
  readonly retryAt: string | null
  readonly running: boolean
  readonly stuck: string | null
}

/** A row that waits for an operator. */
export type StuckJob = Omit<ClaimedJob, "attempts" | "isDispatched"> & {
  /** Why; null where it does not wait for an operator. */
  readonly stuck: string | null
}

/** A row with everything that there is of it. */
export type StoredJob = ClaimedJob & ListedJob

/** How much there is to do. */
export interface Backlog {
  /** Rows that are due and not parked, in hand or waiting out a back-off. */
  readonly due: number
  /** When the first of them was due, UTC milliseconds; null where there is none. */
  readonly dueSince: number | null
  /** Rows that wait for an operator. */
  readonly stuck: number
  readonly stuckSince: number | null
}

/** The queue. */
export interface JobQueue {
  /** Takes up to `limit` rows that are due at `now` (the ledger's time), of some kinds only so many. */
  readonly claim: (
    now: number,
    limit: number,
    bounds?: readonly JobKindLimit[],
  ) => Promise<readonly ClaimedJob[]>
  /** Adds a row and takes it; null where one of its kind and name is there, or was just now. */
  readonly enqueueClaimed: (work: NewJob) => Promise<ClaimedJob | null>
  /** Holds rows for another minute; answers those that are still this process's. */
  readonly renewLeases: (workIds: readonly number[]) => Promise<readonly number[]>
  /**
   * Writes down that a row is about to go to a provider: from then on it is asked about first. It is then
   * held for another minute. False: it is not this process's any more, and must not go to the provider.
   */
  readonly dispatch: (workId: number) => Promise<boolean>
  /** Lets go what this process took and does not have in hand: an answer to `take` was lost. */
  readonly releaseExcept: (inHand: readonly number[]) => Promise<void>
  /**
   * Says what became of a row. Where another process has taken it meanwhile, for its lease ran out,
   * nothing but `done` changes it.
   */
  readonly settle: (workId: number, result: JobResult) => Promise<void>
  /**
   * How many rows are due at `now`, not parked, and wait out no back-off, neither their own nor that
   * of an earlier one of their subject.
   */
  readonly countDue: (now: number) => Promise<number>
  /** How much there is to do at `now`. */
  readonly backlog: (now: number) => Promise<Backlog>
  /** The next due time after `now`, at most `until`; null where there is none. */
  readonly findNextDue: (now: number, until: number) => Promise<number | null>
  /** The names of all rows of a kind. */
  readonly listNames: (kind: string) => Promise<readonly string[]>
  readonly list: (limit: number) => Promise<readonly ListedJob[]>
  /** One row; null where there is none. */
  readonly find: (workId: number) => Promise<StoredJob | null>
  /** The row of a kind by its name; null where there is none. */
  readonly findByName: (kind: string, name: string) => Promise<StoredJob | null>
  /** Takes a row away that is parked. False: it is not parked, or not there. */
  readonly discard: (workId: number) => Promise<boolean>
  /**
   * Has a row taken at once (`now` by the ledger's time), parked or not. False: there is no such row, or
   * it is not due yet and `isEarly` does not allow that.
   */
  readonly retry: (workId: number, now: number, isEarly: boolean) => Promise<boolean>
}
