/** What of an installation stands in PostgreSQL and in no event, as a backup holds it. */
import type { Position } from "../eventstore/port.ts"
import type { StoreIdentity } from "../installation/port.ts"

/**
 * When rows are read, as seen from the events, which are read up to a place in between. Read before
 * them: what must not know of more than the events do (work that is done, answers that were given).
 * Read after them: what the events need (keys, requests that were begun), and the memories of things
 * outside.
 */
export type TablePart = "before" | "after"

/** Some rows of a table. */
export interface TableRows {
  /** What the rows are called in a backup; mostly their table's name. */
  readonly name: string
  readonly count: number
  /** The rows as a JSON array of objects, as PostgreSQL writes and reads them. */
  readonly json: string
}

/** The tables that a backup holds. */
export interface KeptTables {
  /** The names of the migrations that made the tables. */
  readonly migrations: () => Promise<readonly string[]>
  /** All rows of one part, in one snapshot, some at a time. */
  readonly read: (part: TablePart) => AsyncIterable<TableRows>
}

/** Where a backup is restored into. */
export interface RestoredTables {
  /** Whether no table holds anything yet. */
  readonly isEmpty: () => Promise<boolean>
  /** Remembers that a backup, by its checksum, is being restored; from here on nothing can start. */
  readonly begin: (backup: string) => Promise<void>
  /**
   * Writes all rows, what event store they belong to and that the restore is done: all or nothing.
   * What follows from facts goes on behind `handled`.
   *
   * @throws RangeError for a table or column that there is not
   */
  readonly finish: (
    rows: AsyncIterable<TableRows>,
    store: StoreIdentity,
    handled: Position,
  ) => Promise<void>
}
