/**
 * What the database knows of the installation as a whole: which event store its read models and
 * checkpoints were made from, a restore that did not come to its end, and what stands in PostgreSQL and
 * in no event, as a backup holds it.
 */
import type { Migration } from "kysely/migration"
import type { Position } from "../../eventstore/port.ts"

/** Where events can be: in the database itself, or in a server of EventStoreDB or KurrentDB. */
export type EventStoreKind = "postgres" | "eventstoredb"

/** What an event store is known by: its first event, and where that stands in it. */
export interface StoreIdentity {
  readonly kind: EventStoreKind
  readonly firstEvent: string
  readonly first: Position
}

/** Where the events are from now on. */
export interface StoreMigration {
  readonly identity: StoreIdentity
  /** How often the events have moved, this time counted. */
  readonly generation: number
  /** By each projection that is written once, what follows from facts goes on behind here. */
  readonly handledPositions: ReadonlyMap<string, Position>
}

/** The database's memory of its installation. */
export interface InstallationState {
  /** The event store that everything here was made from; null before there was one. */
  readonly eventStore: () => Promise<StoreIdentity | null>
  /** How often the events have moved: what was said of their places before is of another store. */
  readonly generation: () => Promise<number>
  /** Remembers the event store where there was none. Two processes may do it at once. */
  readonly saveEventStore: (identity: StoreIdentity) => Promise<void>
  /**
   * Remembers that the events are in another store by now, which holds the same: the read models are
   * made anew at the next start, and what follows from facts goes on behind `handled`, its places there.
   */
  readonly saveMigration: (
    identity: StoreIdentity,
    handled: StoreMigration["handledPositions"],
  ) => Promise<void>
  /** Up to where what follows from facts was written by each, by the store that is remembered. */
  readonly handledPositions: () => Promise<StoreMigration["handledPositions"]>
  /** The checksum of the backup whose restore did not come to its end; null where there is none. */
  readonly unfinishedRestore: () => Promise<string | null>
}

/**
 * When rows are read, as seen from the events, which are read up to a place in between. Read before
 * them: what must not know of more than the events do (work that is done, answers that were given).
 * Read after them: what the events need (keys, requests that were begun), and the memories of things
 * outside.
 */
export type BackupPhase = "before" | "after"

/** Migrations by their names. A released one is never edited. */
export type Migrations = Readonly<Record<string, Migration>>

/** A table that a slice has in the schema `ledger`, and what becomes of its rows. */
export interface SliceTable {
  readonly table: string
  /** When a backup reads it, in the order of which columns; else why no backup holds it. */
  readonly backup:
    { readonly phase: BackupPhase; readonly orderBy: string } | { readonly excludedBecause: string }
  /** The column that PostgreSQL counts up. */
  readonly identityColumn?: string
  /**
   * Whether a company's rows, by their `company_id`, go when it is erased; else why they may stay: then
   * nothing in them is personal.
   */
  readonly erased: true | { readonly retainedBecause: string }
}

/** Some rows of a table. */
export interface TableRowBatch {
  /** What the rows are called in a backup; mostly their table's name. */
  readonly name: string
  readonly count: number
  /** The rows as a JSON array of objects, as PostgreSQL writes and reads them. */
  readonly json: string
}

/** The tables that a backup holds. */
export interface BackupTableReader {
  /** The names of the migrations that made the tables. */
  readonly migrationNames: () => Promise<readonly string[]>
  /** How often the events have moved. */
  readonly generation: () => Promise<number>
  /** All rows of one part, in one snapshot, some at a time. */
  readonly read: (part: BackupPhase) => AsyncIterable<TableRowBatch>
}

/** Where a backup is restored into. */
export interface RestoreTarget {
  /** Whether no table holds anything yet. */
  readonly isEmpty: () => Promise<boolean>
  /** Remembers that a backup, by its checksum, is being restored; from here on nothing can start. */
  readonly beginRestore: (backup: string) => Promise<void>
  /**
   * Writes all rows, what event store they belong to and that the restore is done: all or nothing.   *
   * @throws RangeError for a table or column that there is not
   */
  readonly finishRestore: (
    rows: AsyncIterable<TableRowBatch>,
    move: StoreMigration,
  ) => Promise<void>
}
