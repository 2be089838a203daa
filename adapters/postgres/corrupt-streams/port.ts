/** The corrupt streams of an installation: their events from some revision on are not provably ours. */

/** A stream whose events are held back from a revision on. */
export interface CorruptStreamEntry {
  readonly stream: string
  /** The first revision that is held back; null if unknown, because the stream was deleted. */
  readonly revision: number | null
  /** What is wrong at that revision. It contains no event content. */
  readonly reason: string
}

/** Stores the list for all processes of the installation. */
export interface CorruptStreams {
  readonly list: () => Promise<readonly CorruptStreamEntry[]>
  /** Adds a stream; an existing entry stays unchanged. */
  readonly add: (entry: CorruptStreamEntry) => Promise<void>
  /** Removes a stream; false if it was not listed. */
  readonly remove: (stream: string) => Promise<boolean>
}
