import type { Position, ReadAllRange, StoredEvent, Subscriber } from "./port.ts"
import { START } from "./port.ts"
import { setTimeout as sleep } from "node:timers/promises"

/** A position in a store that numbers its events 0, 1, 2, … without gaps; -1 is before the first. */
export type SequenceNumber = bigint

/** Returns the position of a sequence number; commit and prepare are the same. */
export function positionFromSequence(sequence: SequenceNumber): Position {
  return { commit: sequence, prepare: sequence }
}

/** A range of the global order: its matching events, and the last sequence number it covers. */
export interface EventPage {
  readonly events: readonly StoredEvent[]
  readonly end: SequenceNumber
}

/** The newest sequence number of a store, and how often the store had been lost when it was read. */
export interface StoreHead {
  readonly sequence: SequenceNumber
  readonly lossCount: number
}

/** The parts of a store without gaps that `followStore` needs. */
export interface FollowSource {
  readonly headTracker: HeadTracker
  /**
   * Reads everything after `after` up to and including the head, page by page. Ends early, and
   * never throws, when the store is lost.
   */
  readonly readPages: (
    after: SequenceNumber,
    head: StoreHead,
    prefixes: readonly string[] | undefined,
  ) => AsyncIterable<EventPage>
}

/** Follows a store for a subscriber until stopped. @throws the subscriber's error */
export async function followStore(
  source: FollowSource,
  range: Pick<ReadAllRange, "after" | "prefixes">,
  subscriber: Subscriber,
  stopping: AbortSignal,
): Promise<void> {
  const unsubscribe = source.headTracker.onLost((cause) => {
    if (!stopping.aborted) subscriber.onInterrupted?.(cause)
  })
  try {
    await deliverFrom(source, range, subscriber, stopping)
  } finally {
    unsubscribe()
  }
}

/** Tracks a store's head, and whether the store is lost. */
export class HeadTracker {
  readonly #changed = new ChangeSignal()
  readonly #listeners = new Set<(cause: Error) => void>()
  /** Null while the store is lost, or was never reached. */
  #sequence: SequenceNumber | null = null
  #lossCount = 0
  #isLost = false

  /**
   * Resolves when the store is available and its head is newer than the known one, or the store was
   * lost since the known head was read; without a known head, when the store is available. Resolves
   * with null when the signal aborts. Never rejects.
   */
  async waitForHeadAfter(known: StoreHead | null, signal: AbortSignal): Promise<StoreHead | null> {
    while (!signal.aborted) {
      if (this.#sequence !== null) {
        const head = { sequence: this.#sequence, lossCount: this.#lossCount }
        if (known === null || head.sequence > known.sequence || head.lossCount > known.lossCount)
          return head
      }
      await this.#changed.wait(signal)
    }
    return null
  }

  /** Whether the store has been available without interruption since this head was read. */
  isCurrent(head: StoreHead): boolean {
    return this.#sequence !== null && head.lossCount === this.#lossCount
  }

  /** Calls the listener once per loss of the store, until the returned function is called. */
  onLost(listener: (cause: Error) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Records that the store is available and its head is at least at `sequence`. */
  advanceTo(sequence: SequenceNumber): void {
    if (this.#sequence !== null && sequence <= this.#sequence) return
    this.#sequence = sequence
    this.#isLost = false
    this.#changed.notifyAll()
  }

  markLost(cause: Error): void {
    this.#sequence = null
    if (this.#isLost) return
    this.#isLost = true
    this.#lossCount += 1
    for (const listener of Array.from(this.#listeners)) listener(cause)
  }
}

async function deliverFrom(
  source: FollowSource,
  range: Pick<ReadAllRange, "after" | "prefixes">,
  subscriber: Subscriber,
  stopping: AbortSignal,
): Promise<void> {
  let sequence = (range.after ?? START).commit
  let known: StoreHead | null = null
  for (;;) {
    const head = await source.headTracker.waitForHeadAfter(known, stopping)
    if (head === null) return
    for await (const page of source.readPages(sequence, head, range.prefixes)) {
      if (stopping.aborted) return
      if (page.events.length > 0) await subscriber.onEvents(page.events)
      if (stopping.aborted) return
      sequence = page.end
    }
    known = { sequence, lossCount: head.lossCount }
    // A subscriber that was notified of a loss must not get `onCaughtUp` for a head from before it.
    if (sequence < head.sequence || !source.headTracker.isCurrent(head)) continue
    // Also called at the start and after a loss without new events: the subscriber then knows again
    // that it is up to date.
    await subscriber.onCaughtUp?.(positionFromSequence(sequence))
  }
}

/** Waits for `ms` milliseconds, or until the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {
    // Aborted: the caller checks the signal.
  })
}

/** Wakes all waiters when something changes. Waiters read the changed state themselves. */
export class ChangeSignal {
  readonly #waiting = new Set<() => void>()

  /** Resolves at the next `notifyAll`, or when the signal aborts. */
  async wait(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake)
        signal.removeEventListener("abort", wake)
        resolve()
      }
      this.#waiting.add(wake)
      signal.addEventListener("abort", wake)
    })
  }

  notifyAll(): void {
    for (const wake of Array.from(this.#waiting)) wake()
  }
}
