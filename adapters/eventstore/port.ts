/**
 * The port of the event store.
 *
 * One contract suite tests all three implementations: memory (tests, simulation), PostgreSQL (the
 * embedded default) and EventStoreDB (production). A store never parses the text of an event: the
 * stored bytes are the hashed bytes (see `domain/kernel/event-format.ts` and `src/envelope.ts`).
 */

/**
 * A position in the global order of all streams. `commit` grows with every event; a store without a
 * commit log uses the same number twice. Compare with `comparePositions`.
 */
export interface Position {
  readonly commit: bigint
  readonly prepare: bigint
}

/** The position before the first event. */
export const START: Position = { commit: -1n, prepare: -1n }

/** Returns a negative number, 0 or a positive number if `a` is before, equal to or after `b`. */
export function comparePositions(a: Position, b: Position): number {
  if (a.commit !== b.commit) return a.commit < b.commit ? -1 : 1
  if (a.prepare !== b.prepare) return a.prepare < b.prepare ? -1 : 1
  return 0
}

/** Returns the later of two positions. */
export function laterPosition(a: Position, b: Position): Position {
  return comparePositions(a, b) < 0 ? b : a
}

/** An event to append; `data` and `metadata` are stored as this exact text. */
export interface ProposedEvent {
  /** A lowercase UUID. Appending the same ids at the same expected revision again is safe. */
  readonly id: string
  readonly type: string
  readonly data: string
  readonly metadata: string
}

/** An event as the store returns it, with its text unchanged. */
export interface StoredEvent extends ProposedEvent {
  readonly stream: string
  /** Counted from 0 without gaps within the stream. */
  readonly revision: number
  readonly position: Position
}

/** The expected revision of a stream that must not exist yet. */
export const NO_STREAM = -1

/** The result of an accepted append: revision and position of its last event. */
export interface AppendResult {
  readonly revision: number
  readonly position: Position
}

/** The part of a stream to read. Revisions are inclusive. */
export interface ReadRange {
  /** First revision to read; by default 0, and the stream's last when reading backwards. */
  readonly from?: number
  readonly direction?: "forwards" | "backwards"
  /** Maximum number of events, at least 1; default all. */
  readonly limit?: number
}

/** The part of the global order to read, optionally of some streams only. */
export interface ReadAllRange {
  /** Read events strictly after this position; default `START`. */
  readonly after?: Position
  /** Only streams whose name begins with one of these; default all. */
  readonly prefixes?: readonly string[]
  /** Hint that few events match: a store that can find them by stream name then skips the others. */
  readonly isSelective?: true
  readonly limit?: number
}

/** Receives the events of a subscription. Batches arrive in global order, one at a time. */
export interface Subscriber {
  /** Handles a batch (never empty). The next batch waits for the promise; a throw ends the subscription. */
  readonly onEvents: (events: readonly StoredEvent[]) => Promise<void>
  /**
   * Everything up to this position was delivered or filtered out, and it was the head when the subscription read
   * it. Called whenever the subscription reaches the head: at the start even if there is nothing to deliver,
   * after the head passed filtered events, and after a loss of the store. Never called in between.
   */
  readonly onCaughtUp?: (head: Position) => Promise<void> | void
  /** The store was lost; the subscription keeps retrying. Called once per loss. */
  readonly onInterrupted?: (cause: Error) => void
}

export interface Subscription {
  /** Stops it; resolves when no handler runs. */
  readonly stop: () => Promise<void>
  /** Settles when it ended: resolves after `stop`, rejects with the error that `onEvents` threw. */
  readonly ended: Promise<void>
}

/** An event store. Its methods throw only the errors of this file and RangeError. */
export interface EventStore {
  /**
   * Whether stream settings can hide or delete the beginning of a stream. Anyone who may write to the stream may
   * set them, so a reader that starts in the middle must check that the beginning exists.
   */
  readonly canHideEvents?: true
  /**
   * Appends all `events` (1 or more) in order, or none of them. The stream's last revision must be exactly
   * `expectedRevision` (`NO_STREAM` if the stream must not exist). Appending the same ids again at the same
   * expected revision returns the first result.
   *
   * @throws WrongRevision, AppendTooLarge, AccessDenied, CorruptStream: nothing was stored.
   * @throws Unavailable: nothing was stored, a retry may succeed.
   * @throws UnknownOutcome: it may have been stored; send the same bytes again, or read.
   * @throws RangeError for an append that no store can keep unchanged: no events, a stream name that is empty,
   * over 1,024 bytes or starts with `$` (EventStoreDB's system streams), an empty type, an id that is not a
   * lowercase UUID, U+0000 or a lone surrogate in a text, an invalid expected revision.
   */
  readonly append: (
    stream: string,
    events: readonly ProposedEvent[],
    expectedRevision: number,
  ) => Promise<AppendResult>
  /**
   * Reads one stream in pages; a stream that does not exist yields nothing. Iterating throws the errors.
   *
   * @throws Unavailable, AccessDenied; CorruptStream if the store knows that it deleted the stream; RangeError for
   * an invalid limit or revision
   */
  readonly read: (stream: string, range?: ReadRange) => AsyncIterable<readonly StoredEvent[]>
  /**
   * Reads all streams in global order, in pages, up to the head at the start of the read.
   *
   * @throws Unavailable, AccessDenied; RangeError for a limit below 1
   */
  readonly readAll: (range?: ReadAllRange) => AsyncIterable<readonly StoredEvent[]>
  /** Follows all streams in global order until stopped. See `Subscriber`. */
  readonly subscribeAll: (
    range: Pick<ReadAllRange, "after" | "prefixes">,
    subscriber: Subscriber,
  ) => Subscription
  /** Returns the position of the newest event, `START` if there is none. @throws Unavailable, AccessDenied */
  readonly head: () => Promise<Position>
  /**
   * Resolves if the store answers reads and appends on the paths that callers use. Stores nothing.
   *
   * @throws Unavailable, AccessDenied
   */
  readonly ready: () => Promise<void>
  /** How long the oldest append in progress has waited for its answer, in milliseconds; 0 if there is none. */
  readonly oldestAppendWaitMs: () => number
  readonly close: () => Promise<void>
}

/**
 * Formats a revision exactly as the store has it. The mark of a deleted stream is 2^63 - 1 or 2^64
 * - 1, depending on the server version; as a JavaScript number it is rounded up to that power.
 */
export function formatRevision(revision: number): string {
  return String(isDeletionMark({ revision }) ? BigInt(revision) - 1n : revision)
}

/** Whether an event is EventStoreDB's mark of a permanently deleted stream. */
export function isDeletionMark({ revision }: Pick<StoredEvent, "revision">): boolean {
  return !Number.isSafeInteger(revision)
}

/** The stream's last revision is not the expected one; nothing was stored. */
export class WrongRevision extends Error {
  override readonly name = "WrongRevision"
  readonly stream: string
  readonly expected: number
  /** The stream's last revision, `NO_STREAM` if it does not exist, null if the store did not report it. */
  readonly actual: number | null
  constructor(stream: string, expected: number, actual: number | null) {
    super(
      `stream ${stream}: expected revision ${expected}, found ${actual === null ? "another" : formatRevision(actual)}`,
    )
    this.stream = stream
    this.expected = expected
    this.actual = actual
  }
}

/** The store cannot be reached or is not ready; nothing was stored. */
export class Unavailable extends Error {
  override readonly name = "Unavailable"
}

/**
 * For a while now, the server that answers has been an older copy of the store, or another store:
 * waiting is pointless. Nothing was stored.
 */
export class StaleStore extends Unavailable {}

/** The connection broke or the time ran out after the append was sent: it may have been stored. */
export class UnknownOutcome extends Error {
  override readonly name = "UnknownOutcome"
}

/** The append is over the store's size limit (`MAX_APPEND_BYTES`); nothing was stored. */
export class AppendTooLarge extends Error {
  override readonly name = "AppendTooLarge"
}

/** The store rejected these credentials; nothing was stored. */
export class AccessDenied extends Error {
  override readonly name = "AccessDenied"
}

export interface StreamCorruption {
  readonly stream: string
  readonly revision: number
  readonly expected: string
  readonly found: string
}

/**
 * Events of the stream are missing, changed or not written by this program. The stream must not be
 * loaded or appended to until the original events are restored.
 */
export class CorruptStream extends Error {
  override readonly name = "CorruptStream"
  readonly corruption: StreamCorruption
  constructor(corruption: StreamCorruption) {
    const { stream, revision, expected, found } = corruption
    super(`${stream} revision ${formatRevision(revision)}: expected ${expected}, found ${found}`)
    this.corruption = corruption
  }
}

/** An event that this process saw, and its position. */
export type SeenEvent = Pick<StoredEvent, "stream" | "revision" | "id" | "position">

/**
 * Returns the first event of a stream from a revision on; null if there is none.
 *
 * @throws CorruptStream if the store knows that it deleted or hides the stream; Unavailable, AccessDenied
 */
export type ReadFirstEvent = (stream: string, from: number) => Promise<StoredEvent | null>

/**
 * Returns false only if the store provably lacks an event that was seen. A stream that was deleted,
 * whose settings hide events, or that denies access proves nothing about the other streams. Read
 * the store's head first: it fails if the store denies everything.
 *
 * Reads the stream and not the position, because a position without an event cannot be read.
 *
 * @throws Unavailable
 */
export async function mayContainEvent(
  firstFrom: ReadFirstEvent,
  seen: SeenEvent,
): Promise<boolean> {
  try {
    const stored = await firstFrom(seen.stream, seen.revision)
    if (stored?.revision === seen.revision) return isSameEvent(stored, seen)
    // If later events exist, settings hide this one. If the stream ends before it, check its beginning.
    const first = stored ?? (await firstFrom(seen.stream, 0))
    return first !== null && first.revision > 0
  } catch (error) {
    if (error instanceof CorruptStream || error instanceof AccessDenied) return true
    throw error
  }
}

function isSameEvent(stored: StoredEvent, { id, position }: SeenEvent): boolean {
  return stored.id === id && comparePositions(stored.position, position) === 0
}

/**
 * The largest append that the implementations accept, in bytes. EventStoreDB counts data, metadata,
 * and twice the length of each type; the other stores count the same.
 */
export const MAX_APPEND_BYTES = 1024 * 1024

/** Receives notifications when a watched server stops and starts to answer; `since` is UTC ms. */
export interface AvailabilityListener {
  readonly onUnavailable: (since: number, why: unknown) => void
  readonly onAvailable: (since: number) => void
}
