import {
  type Position,
  type ReadAllRange,
  START,
  type StoredEvent,
  type Subscriber,
  type Subscription,
} from "./port.ts"

/** A place in a store that numbers its events 0, 1, 2, … without gaps; -1 is before the first. */
export type Place = bigint

/** The position of a place: such a store has no commit log of its own to tell apart from it. */
export function positionOf(place: Place): Position {
  return { commit: place, prepare: place }
}

/** A stretch of the global order: its events that were asked for, and the place it reaches to. */
export interface Page {
  readonly events: readonly StoredEvent[]
  readonly end: Place
}

/** The newest place of a store, and how often the store had been lost when it was seen. */
export interface Head {
  readonly place: Place
  readonly losses: number
}

/** What following needs from a store that numbers its events without gaps. */
export interface Tail {
  /**
   * Resolves as soon as the store is there and its head is past the known one, or the store was lost
   * since that one was seen; without a known one as soon as it is there. Resolves with null when the
   * signal aborts. Never rejects: a store that is lost comes back.
   */
  readonly headAfter: (known: Head | null, signal: AbortSignal) => Promise<Head | null>
  /**
   * Reads the places after `after` up to and with the head, page by page. It ends early, and never
   * throws, when the store is lost.
   */
  readonly pages: (
    after: Place,
    head: Head,
    prefixes: readonly string[] | undefined,
  ) => AsyncIterable<Page>
  /** Whether the store was there without a break since this head was seen. */
  readonly isCurrent: (head: Head) => boolean
  /** Calls the listener once each time the store is lost, until the returned function is called. */
  readonly onLost: (listener: (cause: Error) => void) => () => void
}

/**
 * Runs a subscription on the tail of a store, for ever or until it is stopped. It stands in
 * `running` as long as it runs.
 */
export function follow(
  tail: Tail,
  range: Pick<ReadAllRange, "after" | "prefixes">,
  subscriber: Subscriber,
  running: Set<Subscription>,
): Subscription {
  const stopping = new AbortController()
  const forget = tail.onLost((cause) => {
    if (!stopping.signal.aborted) subscriber.onInterrupted?.(cause)
  })
  const ended = run(tail, range, subscriber, stopping.signal).finally(() => {
    forget()
    running.delete(subscription)
  })
  const subscription: Subscription = {
    stop: async () => {
      stopping.abort()
      // Whoever holds `ended` is told what ended it; here it only matters that nothing runs.
      await Promise.allSettled([ended])
    },
    ended,
  }
  running.add(subscription)
  return subscription
}

async function run(
  tail: Tail,
  range: Pick<ReadAllRange, "after" | "prefixes">,
  subscriber: Subscriber,
  stopping: AbortSignal,
): Promise<void> {
  let place = (range.after ?? START).commit
  let known: Head | null = null
  for (;;) {
    const head = await tail.headAfter(known, stopping)
    if (head === null) return
    for await (const page of tail.pages(place, head, range.prefixes)) {
      if (stopping.aborted) return
      if (page.events.length > 0) await subscriber.onEvents(page.events)
      if (stopping.aborted) return
      place = page.end
    }
    known = { place, losses: head.losses }
    // Who was told of a loss must not hear that it has seen everything from before that loss.
    if (place < head.place || !tail.isCurrent(head)) continue
    // Also told at the start and after a loss when nothing happened meanwhile: the subscriber
    // then knows again that it has seen everything.
    await subscriber.onCaughtUp?.(positionOf(place))
  }
}
