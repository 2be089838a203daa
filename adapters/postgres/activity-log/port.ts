/**
 * What was done, for slices that show people what happened somewhere: the newest entries of a subject. An
 * entry is no fact, nothing follows from it, and the oldest make room for the newest. All of a company's
 * are gone once it is erased.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"

/** Entries of one kind. */
export interface ActivityLogKind {
  /** The name of the slice. */
  readonly slice: string
  /** What they are, in the singular: `command`. */
  readonly kind: string
  /** So many of a subject are kept: the newest. */
  readonly maxEntries: number
}

/** What was done, and when: UTC milliseconds, by the ledger's clock. */
export interface ActivityEntry<T> {
  readonly at: number
  /** What JSON can hold, but no U+0000 and no half of a surrogate pair. Personal text in it is sealed. */
  readonly content: T
}

/** Where an entry is stored. */
export type ActivityEntryId = string & { readonly place: unique symbol }

/** Entries of one kind, by what they are about: a company's subject. */
export interface ActivityLog<T> {
  /** Writes an entry; resolves when it is stored, to where. */
  readonly add: (
    companyId: CompanyId,
    subject: string,
    entry: ActivityEntry<T>,
  ) => Promise<ActivityEntryId>
  /** Says anew what an entry says, such as what came of it; of one that made room by now nothing. */
  readonly update: (companyId: CompanyId, place: ActivityEntryId, content: T) => Promise<void>
  /** The newest first; of the same instant the one that was added last. Never more than are kept. */
  readonly newest: (
    companyId: CompanyId,
    subject: string,
    limit: number,
  ) => Promise<readonly ActivityEntry<T>[]>
  /** Forgets all of a subject. */
  readonly clear: (companyId: CompanyId, subject: string) => Promise<void>
}

/** All journals. */
export interface ActivityLogs {
  readonly of: <T extends object>(kind: ActivityLogKind) => ActivityLog<T>
}
