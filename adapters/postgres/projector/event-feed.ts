/** The one reader of all streams in this process, and its position. */
import type { EventStore, Position, StoredEvent } from "../../eventstore/port.ts"
import { comparePositions, laterPosition } from "../../eventstore/port.ts"

interface FeedSubscriber {
  /** Handles events. The next ones wait for the promise; a throw ends the feed. */
  readonly onEvents: (events: readonly StoredEvent[]) => Promise<void>
  readonly onCaughtUp: (head: Position) => void
}

export interface EventFeed {
  /** Resolves to true once everything up to a position was delivered; false if the store is lost before. */
  readonly waitUntilDelivered: (position: Position) => Promise<boolean>
  readonly hasDelivered: (position: Position) => boolean
  /** Waits for a position, also across a loss of the store. */
  readonly addWaiter: (position: Position) => PositionWait
  readonly ended: Promise<void>
  readonly stop: () => Promise<void>
}

/** Starts reading after a position. */
export function startEventFeed(
  store: EventStore,
  after: Position,
  subscriber: FeedSubscriber,
): EventFeed {
  const [lossSensitive, lossTolerant] = [new PositionWaiters(), new PositionWaiters()]
  let position = after
  let isInterrupted = false
  const hasDelivered = (wanted: Position): boolean => comparePositions(wanted, position) <= 0
  const advanceTo = (to: Position): void => {
    position = laterPosition(position, to)
    lossTolerant.resolveReached(hasDelivered)
    if (!isInterrupted) lossSensitive.resolveReached(hasDelivered)
  }
  const subscription = store.subscribeAll(
    { after },
    {
      onEvents: async (events) => {
        await subscriber.onEvents(events)
        advanceTo((events.at(-1) as StoredEvent).position)
      },
      onCaughtUp: (head) => {
        isInterrupted = false
        subscriber.onCaughtUp(head)
        advanceTo(head)
      },
      onInterrupted: () => {
        isInterrupted = true
        lossSensitive.cancelAll()
      },
    },
  )
  return {
    waitUntilDelivered: async (wanted) => {
      if (isInterrupted) return false
      return hasDelivered(wanted) || lossSensitive.add(wanted).done
    },
    hasDelivered,
    addWaiter: (wanted) => lossTolerant.add(wanted),
    ended: subscription.ended,
    stop: async () => {
      await subscription.stop()
      lossSensitive.cancelAll()
      lossTolerant.cancelAll()
    },
  }
}

interface Waiter {
  readonly position: Position
  readonly resolve: (reached: boolean) => void
}

interface PositionWait {
  /** True once the position is reached, false if the wait was canceled. */
  readonly done: Promise<boolean>
  readonly cancel: () => void
}

/** Callers that wait for a position in the global order. */
export class PositionWaiters {
  #waiting: readonly Waiter[] = []
  readonly #onAdded: () => void

  /** @param onAdded called whenever a wait begins */
  constructor(onAdded: () => void = () => undefined) {
    this.#onAdded = onAdded
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  add(position: Position): PositionWait {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const waiter = { position, resolve }
    this.#waiting = [...this.#waiting, waiter]
    this.#onAdded()
    return {
      done: promise,
      cancel: () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiter)
        resolve(false)
      },
    }
  }

  resolveReached(isReached: (position: Position) => boolean): void {
    if (this.isEmpty) return
    const reached = this.#waiting.filter(({ position }) => isReached(position))
    this.#waiting = this.#waiting.filter((other) => !reached.includes(other))
    for (const { resolve } of reached) resolve(true)
  }

  cancelAll(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const { resolve } of waiting) resolve(false)
  }
}
