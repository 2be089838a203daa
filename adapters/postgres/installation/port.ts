/**
 * The state of the installation in the database: the event store that its read models and checkpoints were built
 * from, an unfinished restore, and the tables of a backup, whose data is not in events.
 */
import type { Migration } from "kysely/migration"
import type { Position } from "../../eventstore/port.ts"

/** Where events are stored: in the database, or in a server of EventStoreDB or KurrentDB. */
export type EventStoreKind = "postgres" | "eventstoredb"

/** Identifies an event store by its first event and that event's position. */
export interface StoreIdentity {
  readonly kind: EventStoreKind
  readonly firstEvent: string
  readonly first: Position
}

/** The migration of all events to another store. */
export interface StoreMigration {
  readonly identity: StoreIdentity
  /** How often the events have been migrated, including this time. */
  readonly generation: number
  /** For each projection that is never rebuilt, the position after which it continues. */
  readonly handledPositions: ReadonlyMap<string, Position>
}

export interface InstallationState {
  /** The event store that the database was built from; null before the first event. */
  readonly eventStore: () => Promise<StoreIdentity | null>
  /** How often the events have been migrated: positions of an earlier generation belong to another store. */
  readonly generation: () => Promise<number>
  /** Saves the event store if there is none. Processes may call it concurrently. */
  readonly saveEventStore: (identity: StoreIdentity) => Promise<void>
  /**
   * Records that the events are now in another store with the same content: the next start rebuilds the read
   * models, and job projections continue after `handledPositions`, positions in the new store.
   */
  readonly saveMigration: (
    identity: StoreIdentity,
    handled: StoreMigration["handledPositions"],
  ) => Promise<void>
  /** The last position that each job projection handled, in the saved store. */
  readonly handledPositions: () => Promise<StoreMigration["handledPositions"]>
  readonly unfinishedRestore: () => Promise<string | null>
}

/**
 * When rows are read relative to the events, which are read up to a fixed position. Before: rows
 * that must not be ahead of the events (finished jobs, answers). After: rows that events need
 * (keys, started requests), and records of the outside world.
 */
export type BackupPhase = "before" | "after"

/** Migrations by name. A released migration is never edited. */
export type Migrations = Readonly<Record<string, Migration>>

/** A table of a slice in the schema `ledger`, and how backups and erasure handle its rows. */
export interface SliceTable {
  readonly table: string
  /** The phase and column order in which a backup reads it, or why backups exclude it. */
  readonly backup:
    { readonly phase: BackupPhase; readonly orderBy: string } | { readonly excludedBecause: string }
  /** The column with an identity sequence. */
  readonly identityColumn?: string
  /**
   * Whether erasing a company deletes its rows, by their `company_id`, or why they may stay: then
   * they contain nothing personal.
   */
  readonly erased: true | { readonly retainedBecause: string }
}

/** Some rows of a table. */
export interface TableRowBatch {
  readonly name: string
  readonly count: number
  /** The rows as a JSON array of objects, in PostgreSQL's format. */
  readonly json: string
}

export interface BackupTableReader {
  /** The names of the migrations that created the tables. */
  readonly migrationNames: () => Promise<readonly string[]>
  readonly generation: () => Promise<number>
  /** All rows of one phase, in one snapshot and in batches. */
  readonly read: (part: BackupPhase) => AsyncIterable<TableRowBatch>
}

export interface RestoreTarget {
  readonly isEmpty: () => Promise<boolean>
  /** Records that a backup, by its checksum, is being restored; until it finishes no server starts. */
  readonly beginRestore: (backup: string) => Promise<void>
  /**
   * Writes all rows, their event store and the end of the restore, in one transaction.
   *
   * @throws RangeError for an unknown table or column
   */
  readonly finishRestore: (
    rows: AsyncIterable<TableRowBatch>,
    move: StoreMigration,
  ) => Promise<void>
}
