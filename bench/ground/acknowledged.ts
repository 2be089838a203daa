/** What the store said yes to, so that nobody can be told yes before it. */
import type { EventStore, Position } from "../../adapters/eventstore/port.ts"
import { comparePositions } from "../../adapters/eventstore/port.ts"
import { honest } from "../benchmark.ts"

/** A store, and a look at its answers. */
export interface WatchedStore {
  readonly store: EventStore
  /**
   * Makes sure of an answer that a caller was given, at the moment it is given.
   *
   * @throws Dishonest where the store has not said yes to this charge, and to everything up to there
   */
  readonly wasToldAfterStore: (stream: string, position: Position | null, chargeId: string) => void
}

const CHARGE_ID = /"chargeId":"([^"]+)"/

/** Notes each append of a store once it is answered; all else passes through. */
export function watchAnswers(store: EventStore): WatchedStore {
  const answered = new Map<string, Position>()
  /** Charges that the store said yes to and nobody was told of yet; two ledgers may have one id. */
  const untold = new Set<string>()
  return {
    store: {
      ...store,
      append: async (stream, events, expectedRevision) => {
        const appended = await store.append(stream, events, expectedRevision)
        answered.set(stream, appended.position)
        for (const { type, data } of events) {
          if (type === "Charged") untold.add(`${stream} ${CHARGE_ID.exec(data)?.[1]}`)
        }
        return appended
      },
    },
    wasToldAfterStore: (stream, position, chargeId) => {
      const last = answered.get(stream)
      const isStored =
        position !== null && last !== undefined && comparePositions(position, last) <= 0
      // The place of whatever was stored last would do for somebody who is told too early.
      honest(
        isStored && untold.delete(`${stream} ${chargeId}`),
        `a caller of ${stream} was told yes before the store said it`,
      )
    },
  }
}
