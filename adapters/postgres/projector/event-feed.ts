/** The one reader of all streams in this process, and how far it came. */
import type { EventStore, Position, StoredEvent } from "../../eventstore/port.ts"
import { comparePositions, laterPosition } from "../../eventstore/port.ts"

/** Who is handed what is read, in global order. */
interface FeedSubscriber {
  /** Takes events. The next ones wait for the promise; a throw ends the reader. */
  readonly onEvents: (events: readonly StoredEvent[]) => Promise<void>
  /** Everything up to here was handed over. */
  readonly onCaughtUp: (head: Position) => void
}

/** A running reader. */
export interface EventFeed {
  /** True once everything up to a place was handed over; false where the store is lost before. */
  readonly waitUntilDelivered: (place: Position) => Promise<boolean>
  /** Whether everything up to a place was handed over. */
  readonly hasDelivered: (place: Position) => boolean
  /** Waits for a place, also over a loss of the store. */
  readonly addWaiter: (place: Position) => PositionWait
  readonly ended: Promise<void>
  readonly stop: () => Promise<void>
}

/** Begins to read after a place. */
export function startEventFeed(
  store: EventStore,
  after: Position,
  reading: FeedSubscriber,
): EventFeed {
  const [strict, patient] = [new PositionWaiters(), new PositionWaiters()]
  let place = after
  let isInterrupted = false
  const hasDelivered = (wanted: Position): boolean => comparePositions(wanted, place) <= 0
  const moveTo = (to: Position): void => {
    place = laterPosition(place, to)
    patient.resolveReached(hasDelivered)
    if (!isInterrupted) strict.resolveReached(hasDelivered)
  }
  const subscription = store.subscribeAll(
    { after },
    {
      onEvents: async (events) => {
        await reading.onEvents(events)
        moveTo((events.at(-1) as StoredEvent).position)
      },
      onCaughtUp: (head) => {
        isInterrupted = false
        reading.onCaughtUp(head)
        moveTo(head)
      },
      onInterrupted: () => {
        isInterrupted = true
        strict.cancelAll()
      },
    },
  )
  return {
    waitUntilDelivered: async (wanted) => {
      if (isInterrupted) return false
      return hasDelivered(wanted) || strict.add(wanted).done
    },
    hasDelivered,
    addWaiter: (wanted) => patient.add(wanted),
    ended: subscription.ended,
    stop: async () => {
      await subscription.stop()
      strict.cancelAll()
      patient.cancelAll()
    },
  }
}

interface Waiter {
  readonly position: Position
  readonly resolve: (reached: boolean) => void
}

/** Somebody who waits for a place. */
interface PositionWait {
  /** True once the place is reached, false where it will not be. */
  readonly done: Promise<boolean>
  readonly cancel: () => void
}

/** Those who wait until something reaches a place in the global order. */
export class PositionWaiters {
  #waiting: readonly Waiter[] = []
  readonly #onAdded: () => void

  /** @param onAdded called whenever somebody begins to wait */
  constructor(onAdded: () => void = () => undefined) {
    this.#onAdded = onAdded
  }

  /** Whether anybody waits. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  /** Waits until `tell` says that the place is reached. */
  add(place: Position): PositionWait {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const waiter = { position: place, resolve }
    this.#waiting = [...this.#waiting, waiter]
    this.#onAdded()
    return {
      done: promise,
      cancel: () => {
        this.#waiting = this.#waiting.filter((one) => one !== waiter)
        resolve(false)
      },
    }
  }

  /** Tells those whose place is reached. */
  resolveReached(isReached: (place: Position) => boolean): void {
    if (this.isEmpty) return
    const reached = this.#waiting.filter(({ position }) => isReached(position))
    this.#waiting = this.#waiting.filter((one) => !reached.includes(one))
    for (const { resolve } of reached) resolve(true)
  }

  /** Tells everybody that their place will not be reached. */
  cancelAll(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const { resolve } of waiting) resolve(false)
  }
}
