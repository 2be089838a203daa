/**
 * Locks that processes take turns by. They decide nothing: without one everything still holds, only
 * slower, because writers of one stream would keep refusing each other.
 */

/** Gives a lock back. Never throws: a lock that cannot be given back ends with its connection. */
export type ReleaseLock = () => Promise<void>

/** Locks by name, across all processes of a database. */
export interface Locks {
  /**
   * Waits for a lock, at most so long; null where it was not free by then, or could not be asked
   * for.
   */
  readonly acquire: (name: string, timeoutMs: number) => Promise<ReleaseLock | null>
}
