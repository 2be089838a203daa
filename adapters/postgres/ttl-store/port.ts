/**
 * What slices keep for a time: answers that are given again, sign-ins, whatever is truth for a while and
 * no fact. Each thing has a name, is changed by one at a time wherever it is changed, and is gone once its
 * time is over or its company is erased. Personal text in it is sealed.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"

/** Things of one kind. */
export interface TtlRecordKind {
  /** The name of the slice. */
  readonly slice: string
  /** What they are, in the singular: `pick`. */
  readonly kind: string
}

/** A thing, and until when it is there: UTC milliseconds, by the ledger's clock. */
export interface TtlRecord<T> {
  /** What JSON can hold. */
  readonly content: T
  readonly expiresAt: number
}

/** Things of one kind. Each is a company's, by a name of its own. */
export interface TtlRecords<T> {
  /** What is known by a name; null where nothing is, or its time is over. */
  readonly find: (companyId: CompanyId, name: string) => Promise<TtlRecord<T> | null>
  /**
   * Changes what is known by a name; nobody else changes it in between. `change` is given what is known
   * (null: nothing, or its time is over) and may be asked again; where it gives the same object, nothing
   * is written. `realNow` is the store's own time, UTC milliseconds, which no test clock moves: leases go
   * by it. Answers what is known then.
   */
  readonly update: (
    companyId: CompanyId,
    name: string,
    change: (known: TtlRecord<T> | null, realNow: number) => TtlRecord<T>,
  ) => Promise<TtlRecord<T>>
  /** Forgets a thing, if it is known. */
  readonly delete: (companyId: CompanyId, name: string) => Promise<void>
}

/** All that is kept for a time. */
export interface TtlStore {
  readonly of: <T extends object>(kind: TtlRecordKind) => TtlRecords<T>
  /** Deletes what nobody finds any more. */
  readonly deleteExpired: () => Promise<void>
}
