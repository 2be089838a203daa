/**
 * The event store's port: what the house asks of any store of events.
 *
 * Three implementations hold the same contract suite: memory (tests, simulation), PostgreSQL (the
 * embedded default) and EventStoreDB (production). A store keeps text and never looks inside it:
 * what is hashed is what is stored (see `domain/kernel/event-format.ts` and `src/envelope.ts`).
 */

/**
 * A place in the global order of all streams. `commit` grows with every event; a store without a
 * commit log of its own uses the same number twice. Compare with `comparePositions`.
 */
export interface Position {
  readonly commit: bigint
  readonly prepare: bigint
}

/** The place before the first event. */
export const START: Position = { commit: -1n, prepare: -1n }

/** Negative, zero or positive as `a` stands before, at or after `b` in the global order. */
export function comparePositions(a: Position, b: Position): number {
  if (a.commit !== b.commit) return a.commit < b.commit ? -1 : 1
  if (a.prepare !== b.prepare) return a.prepare < b.prepare ? -1 : 1
  return 0
}

/** The later of two places. */
export function laterPosition(a: Position, b: Position): Position {
  return comparePositions(a, b) < 0 ? b : a
}

/** An event as it is handed to the store: `data` and `metadata` are the exact text to keep. */
export interface ProposedEvent {
  /** A UUID in lower case. The same ids at the same revision make an append repeatable. */
  readonly id: string
  readonly type: string
  readonly data: string
  readonly metadata: string
}

/** An event as the store gives it back, text untouched. */
export interface StoredEvent extends ProposedEvent {
  readonly stream: string
  /** Counted from 0 without gaps within the stream. */
  readonly revision: number
  readonly position: Position
}

/** The expected revision of a stream that must not exist yet. */
export const NO_STREAM = -1

/** What an accepted append answers: the revision and position of its last event. */
export interface AppendResult {
  readonly revision: number
  readonly position: Position
}

/** Which part of a stream to read. Revisions are inclusive. */
export interface ReadRange {
  /** First revision to give; forwards default 0, backwards default the stream's last. */
  readonly from?: number
  readonly direction?: "forwards" | "backwards"
  /** At most this many events, at least 1; default all. */
  readonly limit?: number
}

/** Which part of the global order to read, and which streams of it. */
export interface ReadAllRange {
  /** Give events strictly after this place; default `START`. */
  readonly after?: Position
  /** Only streams whose name begins with one of these; default all. */
  readonly prefixes?: readonly string[]
  /**
   * Says that few of all events are of such streams: a store that can find them by the streams' names
   * does, and does not look at the others.
   */
  readonly isSelective?: true
  readonly limit?: number
}

/** Who receives a subscription's events. Batches come in global order, one at a time. */
export interface Subscriber {
  /** Handles a batch (never empty). The next one waits for the promise; a throw ends it. */
  readonly onEvents: (events: readonly StoredEvent[]) => Promise<void>
  /**
   * Everything up to this place was handed over or filtered out, and it was the head when the
   * subscription looked. Called each time it gets there: at the start also when there was nothing
   * to hand over, after the head moved over events that the filter leaves out, and after a loss.
   * Never called on the way.
   */
  readonly onCaughtUp?: (head: Position) => Promise<void> | void
  /** The store was lost; the subscription keeps trying by itself. Told once for each loss. */
  readonly onInterrupted?: (cause: Error) => void
}

/** A running subscription. */
export interface Subscription {
  /** Stops it; resolves when no handler runs any more. */
  readonly stop: () => Promise<void>
  /** Settles when it ended: resolves after `stop`, rejects with what `onEvents` threw. */
  readonly ended: Promise<void>
}

/** What every implementation offers. Errors are the classes below and nothing else. */
export interface EventStore {
  /**
   * Whether settings of a stream, which anybody may set who may write to it, hide or delete its beginning:
   * then who reads from the middle on has to see that the beginning is there.
   */
  readonly canHideEvents?: true
  /**
   * Appends all `events` (1 or more) in order, or none, if the stream's last revision is exactly
   * `expectedRevision` (`NO_STREAM` where it must not exist).
   *
   * Appending the same ids again at the same expected revision succeeds with the first answer.
   *
   * @throws WrongRevision, TooLarge, AccessDenied, CorruptStream: nothing was stored.
   * @throws Unavailable: nothing was stored, later it may work.
   * @throws UnknownOutcome: it may have been stored; send the same bytes again, or read.
   * @throws RangeError when no store could keep it unchanged: no events, no name of a stream, one over
   * 1,024 bytes or one that begins with `$` (the names of EventStoreDB's own streams), no type, an id
   * that is no UUID in lower case, U+0000 or a lone surrogate in a text, an expected revision that
   * none can be.
   */
  readonly append: (
    stream: string,
    events: readonly ProposedEvent[],
    expectedRevision: number,
  ) => Promise<AppendResult>
  /**
   * Reads one stream, in pages; a stream that does not exist gives nothing. Errors come out of the
   * iteration. @throws Unavailable, AccessDenied; CorruptStream where the store itself knows that it
   * deleted the stream; RangeError for a limit or a revision below its least.
   */
  readonly read: (stream: string, range?: ReadRange) => AsyncIterable<readonly StoredEvent[]>
  /**
   * Reads all streams in global order, in pages, up to the head of its start. @throws Unavailable,
   * AccessDenied; RangeError for a limit below 1.
   */
  readonly readAll: (range?: ReadAllRange) => AsyncIterable<readonly StoredEvent[]>
  /** Follows all streams in global order, for ever. See `Subscriber`. */
  readonly subscribeAll: (
    range: Pick<ReadAllRange, "after" | "prefixes">,
    subscriber: Subscriber,
  ) => Subscription
  /** The place of the newest event, `START` when there is none. @throws Unavailable, AccessDenied */
  readonly head: () => Promise<Position>
  /**
   * Resolves where the store answers reads and appends, by the ways that callers use. Stores nothing.
   *
   * @throws Unavailable, AccessDenied where it does not
   */
  readonly ready: () => Promise<void>
  /** How long the oldest append under way has waited for its answer, in milliseconds; 0 where none is. */
  readonly oldestAppendWaitMs: () => number
  /** Stops subscriptions, waits for the answers to appends under way, and disconnects. */
  readonly close: () => Promise<void>
}

/**
 * A revision as the store has it. The one that marks a deleted stream is 2^63 - 1 or 2^64 - 1, by the version
 * of the server, which as a number are rounded up to those powers.
 */
export function formatRevision(revision: number): string {
  return String(isDeletionMark({ revision }) ? BigInt(revision) - 1n : revision)
}

/** Whether an event is the mark of a stream that was deleted for good, which is no event of ours. */
export function isDeletionMark({ revision }: Pick<StoredEvent, "revision">): boolean {
  return !Number.isSafeInteger(revision)
}

/** The stream's last revision is not the expected one; nothing was stored. */
export class WrongRevision extends Error {
  override readonly name = "WrongRevision"
  readonly stream: string
  readonly expected: number
  /** The stream's last revision, `NO_STREAM` when it does not exist, null when the store kept it to itself. */
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
 * What answers is an older copy of the store, or another one, and was for a while: waiting helps no caller.
 * Nothing was stored.
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

/** The store refuses these credentials; nothing was stored. */
export class AccessDenied extends Error {
  override readonly name = "AccessDenied"
}

/** Where a stream is not whole. */
export interface StreamCorruption {
  readonly stream: string
  /** The revision that is not as it must be. */
  readonly revision: number
  readonly expected: string
  readonly found: string
}

/**
 * What is stored of a stream is not whole: events of it are gone, changed or not ours. No state may be
 * made of it, and nothing be decided on it; only what was stored can be put back.
 */
export class CorruptStream extends Error {
  override readonly name = "CorruptStream"
  readonly corruption: StreamCorruption
  constructor(place: StreamCorruption) {
    const { stream, revision, expected, found } = place
    super(`${stream} revision ${formatRevision(revision)}: expected ${expected}, found ${found}`)
    this.corruption = place
  }
}

/** An event that was seen, and where it was. */
export type SeenEvent = Pick<StoredEvent, "stream" | "revision" | "id" | "position">

/**
 * Gives the first event that a stream shows from a revision on; null where it shows none.
 *
 * @throws CorruptStream where the store knows that it deleted the stream or hides it; Unavailable, AccessDenied
 */
export type ReadFirstEvent = (stream: string, from: number) => Promise<StoredEvent | null>

/**
 * Whether a store holds an event where it was seen, or cannot show it: a stream that was deleted, whose
 * settings hide events, or that the store denies proves nothing about all others. Ask for the store's head
 * first: it fails where the store denies everything.
 *
 * The stream is read and not the position: a position at which an older copy has no event cannot be read.
 *
 * @throws Unavailable
 */
export async function mayContainEvent(
  firstFrom: ReadFirstEvent,
  seen: SeenEvent,
): Promise<boolean> {
  try {
    const there = await firstFrom(seen.stream, seen.revision)
    if (there?.revision === seen.revision) return isSameEvent(there, seen)
    // Later ones that are there hide this one. Of a stream that ends before it, the beginning is looked at.
    const first = there ?? (await firstFrom(seen.stream, 0))
    return first !== null && first.revision > 0
  } catch (error) {
    if (error instanceof CorruptStream || error instanceof AccessDenied) return true
    throw error
  }
}

function isSameEvent(there: StoredEvent, { id, position }: SeenEvent): boolean {
  return there.id === id && comparePositions(there.position, position) === 0
}

/**
 * Appends over this many bytes are refused by every implementation. What counts is what EventStoreDB
 * counts: data, metadata, and twice the length of each type.
 */
export const MAX_APPEND_BYTES = 1024 * 1024

/** Who is told when what is watched falls silent, and when it answers again; `since` is UTC ms. */
export interface AvailabilityListener {
  readonly onUnavailable: (since: number, why: unknown) => void
  readonly onAvailable: (since: number) => void
}
