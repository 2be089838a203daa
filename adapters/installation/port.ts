/**
 * What the database remembers of the installation around it: which event store its read models and
 * checkpoints were made from, and a restore that did not come to its end.
 */
import type { Position } from "../eventstore/port.ts"

/** Where events can be: in the database itself, or in a server of EventStoreDB or KurrentDB. */
export type StoreKind = "postgres" | "eventstoredb"

/** What an event store is known by: its first event, and where that stands in it. */
export interface StoreIdentity {
  readonly kind: StoreKind
  readonly firstEvent: string
  readonly first: Position
}

/** The database's memory of its installation. */
export interface InstallationMemory {
  /** The event store that everything here was made from; null before there was one. */
  readonly store: () => Promise<StoreIdentity | null>
  /** Remembers the event store where there was none. Two processes may do it at once. */
  readonly rememberStore: (identity: StoreIdentity) => Promise<void>
  /**
   * Remembers that the events are in another store by now, which holds the same: the read models are
   * made anew at the next start, and what follows from facts goes on behind `handled`, its place there.
   */
  readonly moveTo: (identity: StoreIdentity, handled: Position) => Promise<void>
  /** Up to where what follows from facts was written, by the store that is remembered. */
  readonly handled: () => Promise<Position>
  /** The checksum of the backup whose restore did not come to its end; null where there is none. */
  readonly unfinishedRestore: () => Promise<string | null>
}
