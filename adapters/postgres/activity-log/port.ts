/**
 * Activity logs: the newest entries of a subject, for slices that show people what happened. An
 * entry is not a fact and has no effects; the oldest entries are deleted when there are too many.
 * Erasing a company deletes its entries.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"

export interface ActivityLogKind {
  readonly slice: string
  /** The singular noun for an entry, such as `command`. */
  readonly kind: string
  readonly maxEntries: number
}

/** An entry, with its time in UTC milliseconds by the ledger's clock. */
export interface ActivityEntry<T> {
  readonly at: number
  /** A JSON value without U+0000 and lone surrogates. Personal text in it is sealed. */
  readonly content: T
}

export type ActivityEntryId = string & { readonly activityEntry: unique symbol }

/** Entries of one kind, by company and subject. */
export interface ActivityLog<T> {
  readonly add: (
    companyId: CompanyId,
    subject: string,
    entry: ActivityEntry<T>,
  ) => Promise<ActivityEntryId>
  /** Replaces the content of an entry, for example with its outcome; does nothing if the entry was deleted. */
  readonly update: (companyId: CompanyId, entryId: ActivityEntryId, content: T) => Promise<void>
  /** The newest entries first, at most `maxEntries`; of entries of the same time, the last added comes first. */
  readonly newest: (
    companyId: CompanyId,
    subject: string,
    limit: number,
  ) => Promise<readonly ActivityEntry<T>[]>
  readonly clear: (companyId: CompanyId, subject: string) => Promise<void>
}

export interface ActivityLogs {
  readonly of: <T extends object>(kind: ActivityLogKind) => ActivityLog<T>
}
