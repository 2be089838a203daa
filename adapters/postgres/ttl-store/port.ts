/**
 * Expiring records of slices, such as repeated answers and sign-in codes: data that is valid for a
 * time and not a fact. A record has a name and is changed atomically. It is deleted when it expires
 * or its company is erased. Personal text in it is sealed.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"

export interface TtlRecordKind {
  readonly slice: string
  /** The singular noun for a record, such as `pick`. */
  readonly kind: string
}

/** A record, and when it expires: UTC milliseconds, by the ledger's clock. */
export interface TtlRecord<T> {
  readonly content: T
  readonly expiresAt: number
}

/** Records of one kind. Each belongs to a company and has a unique name. */
export interface TtlRecords<T> {
  /** Finds a record; null if there is none or it has expired. */
  readonly find: (companyId: CompanyId, name: string) => Promise<TtlRecord<T> | null>
  /**
   * Changes a record atomically. `change` gets the current record (null: none, or it has expired), may be called
   * again, and returns the same object to write nothing. `realNow` is the database's time in UTC milliseconds,
   * which the test clock does not move: use it for leases. Returns the new record.
   */
  readonly update: (
    companyId: CompanyId,
    name: string,
    change: (known: TtlRecord<T> | null, realNow: number) => TtlRecord<T>,
  ) => Promise<TtlRecord<T>>
  readonly delete: (companyId: CompanyId, name: string) => Promise<void>
}

export interface TtlStore {
  readonly of: <T extends object>(kind: TtlRecordKind) => TtlRecords<T>
  readonly deleteExpired: () => Promise<void>
}
