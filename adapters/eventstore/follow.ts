import type { Position, ReadAllRange, StoredEvent, Subscriber } from "./port.ts"
import { START } from "./port.ts"
import { setTimeout as sleep } from "node:timers/promises"

/** A place in a store that numbers its events 0, 1, 2, … without gaps; -1 is before the first. */
export type SequenceNumber = bigint

/** The position of a place: such a store has no commit log of its own to tell apart from it. */
export function positionFromSequence(place: SequenceNumber): Position {
  return { commit: place, prepare: place }
}

/** A stretch of the global order: its events that were asked for, and the place it reaches to. */
export interface EventPage {
  readonly events: readonly StoredEvent[]
  readonly end: SequenceNumber
}

/** The newest place of a store, and how often the store had been lost when it was seen. */
export interface StoreHead {
  readonly sequence: SequenceNumber
  readonly lossCount: number
}

/** What following needs from a store that numbers its events without gaps. */
export interface FollowSource {
  readonly headTracker: HeadTracker
  /**
   * Reads the places after `after` up to and with the head, page by page. It ends early, and never
   * throws, when the store is lost.
   */
  readonly readPages: (
    after: SequenceNumber,
    head: StoreHead,
    prefixes: readonly string[] | undefined,
  ) => AsyncIterable<EventPage>
}

/** Follows the tail of a store for a subscriber, until it is stopped. @throws what the subscriber throws */
export async function followStore(
  tail: FollowSource,
  range: Pick<ReadAllRange, "after" | "prefixes">,
  subscriber: Subscriber,
  stopping: AbortSignal,
): Promise<void> {
  const forget = tail.headTracker.onLost((cause) => {
    if (!stopping.aborted) subscriber.onInterrupted?.(cause)
  })
  try {
    await deliverFrom(tail, range, subscriber, stopping)
  } finally {
    forget()
  }
}

/** What is known here of a store's head: where it is, or that the store was lost. */
export class HeadTracker {
  readonly #changed = new ChangeSignal()
  readonly #listeners = new Set<(cause: Error) => void>()
  /** Null as long as the store is not there. */
  #sequence: SequenceNumber | null = null
  #lossCount = 0
  #isLost = false

  /**
   * Resolves as soon as the store is there and its head is past the known one, or the store was lost
   * since that one was seen; without a known one as soon as it is there. Resolves with null when the
   * signal aborts. Never rejects: a store that is lost comes back.
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

  /** Whether the store was there without a break since this head was seen. */
  isCurrent(head: StoreHead): boolean {
    return this.#sequence !== null && head.lossCount === this.#lossCount
  }

  /** Calls the listener once each time the store is lost, until the returned function is called. */
  onLost(listener: (cause: Error) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** The store is there, and its head is here or beyond. */
  advanceTo(place: SequenceNumber): void {
    if (this.#sequence !== null && place <= this.#sequence) return
    this.#sequence = place
    this.#isLost = false
    this.#changed.notifyAll()
  }

  /** The store is not there; of one that never was, too, the listeners are told once. */
  markLost(cause: Error): void {
    this.#sequence = null
    if (this.#isLost) return
    this.#isLost = true
    this.#lossCount += 1
    for (const listener of Array.from(this.#listeners)) listener(cause)
  }
}

async function deliverFrom(
  tail: FollowSource,
  range: Pick<ReadAllRange, "after" | "prefixes">,
  subscriber: Subscriber,
  stopping: AbortSignal,
): Promise<void> {
  let sequence = (range.after ?? START).commit
  let known: StoreHead | null = null
  for (;;) {
    const head = await tail.headTracker.waitForHeadAfter(known, stopping)
    if (head === null) return
    for await (const page of tail.readPages(sequence, head, range.prefixes)) {
      if (stopping.aborted) return
      if (page.events.length > 0) await subscriber.onEvents(page.events)
      if (stopping.aborted) return
      sequence = page.end
    }
    known = { sequence, lossCount: head.lossCount }
    // Who was told of a loss must not hear that it has seen everything from before that loss.
    if (sequence < head.sequence || !tail.headTracker.isCurrent(head)) continue
    // Also told at the start and after a loss when nothing happened meanwhile: the subscriber
    // then knows again that it has seen everything.
    await subscriber.onCaughtUp?.(positionFromSequence(sequence))
  }
}

/** Waits for so long, or until the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {
    // Aborted: whoever waits looks at the signal himself.
  })
}

/** Wakes all who wait for something to change. It carries no news: who wakes looks for itself. */
export class ChangeSignal {
  readonly #waiting = new Set<() => void>()

  /** Resolves at the next ring, or when the signal aborts. */
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

  /** Wakes everybody who waits now. */
  notifyAll(): void {
    for (const wake of Array.from(this.#waiting)) wake()
  }
}
