/** The streams of an installation that are held back because something in them is not provably ours. */

/** A stream that is held back from one of its revisions on. */
export interface CorruptStreamEntry {
  readonly stream: string
  /** The first revision that is held back; null where it is not known: the stream was deleted. */
  readonly revision: number | null
  /** What is wrong at that revision. It names no content of an event. */
  readonly reason: string
}

/** Keeps the list for all processes of the installation, over restarts. */
export interface CorruptStreams {
  /** All of them, by name. */
  readonly list: () => Promise<readonly CorruptStreamEntry[]>
  /** Adds a stream; one that is listed stays as it is. */
  readonly add: (found: CorruptStreamEntry) => Promise<void>
  /** Takes a stream off the list; false where it was not on it. */
  readonly remove: (stream: string) => Promise<boolean>
}
