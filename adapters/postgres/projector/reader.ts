/** The one reader of all streams in this process, and how far it came. */
import type { EventStore, Position, StoredEvent } from "../../eventstore/port.ts"
import { comparePositions, later } from "../../eventstore/port.ts"
import type { Waiting } from "./waiters.ts"
import { Waiters } from "./waiters.ts"

/** Who is handed what is read, in global order. */
export interface Reading {
  /** Takes events. The next ones wait for the promise; a throw ends the reader. */
  readonly onEvents: (events: readonly StoredEvent[]) => Promise<void>
  /** Everything up to here was handed over. */
  readonly onCaughtUp: (head: Position) => void
}

/** A running reader. */
export interface Reader {
  /** True once everything up to a place was handed over; false where the store is lost before. */
  readonly handedOver: (place: Position) => Promise<boolean>
  /** Whether everything up to a place was handed over. */
  readonly has: (place: Position) => boolean
  /** Waits for a place, also over a loss of the store. */
  readonly waitFor: (place: Position) => Waiting
  readonly ended: Promise<void>
  readonly stop: () => Promise<void>
}

/** Begins to read after a place. */
export function startReader(store: EventStore, after: Position, reading: Reading): Reader {
  const [strict, patient] = [new Waiters(), new Waiters()]
  let place = after
  let isInterrupted = false
  const has = (wanted: Position): boolean => comparePositions(wanted, place) <= 0
  const moveTo = (to: Position): void => {
    place = later(place, to)
    patient.tell(has)
    if (!isInterrupted) strict.tell(has)
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
        strict.giveUp()
      },
    },
  )
  return {
    handedOver: async (wanted) => {
      if (isInterrupted) return false
      return has(wanted) || strict.add(wanted).done
    },
    has,
    waitFor: (wanted) => patient.add(wanted),
    ended: subscription.ended,
    stop: async () => {
      await subscription.stop()
      strict.giveUp()
      patient.giveUp()
    },
  }
}
