/**
 * Locks by which processes take turns. They are an optimization: without them writers of one stream
 * only reject each other's appends more often.
 */

/** Releases a lock. Never throws: a lock that cannot be released ends with its connection. */
export type ReleaseLock = () => Promise<void>

/** Locks by name, across all processes of a database. */
export interface Locks {
  /** Waits up to `timeoutMs` for a lock; null if it was not free in time or the database failed. */
  readonly acquire: (name: string, timeoutMs: number) => Promise<ReleaseLock | null>
}
