/** What the store said yes to, so that nobody can be told yes before it. */
import type { EventStore, Position } from "../../../adapters/eventstore/port.ts"
import { comparePositions } from "../../../adapters/eventstore/port.ts"
import { honest } from "../benchmark.ts"

/** A store, and a look at its answers. */
export interface WatchedStore {
  readonly store: EventStore
  /**
   * Makes sure of an answer that a caller was given, at the moment it is given.
   *
   * @throws Dishonest where the store has not said yes to everything up to there
   */
  readonly wasToldAfterStore: (stream: string, position: Position | null) => void
}

/** Notes each append of a store once it is answered; all else passes through. */
export function watchAnswers(store: EventStore): WatchedStore {
  const answered = new Map<string, Position>()
  return {
    store: {
      ...store,
      append: async (stream, events, expectedRevision) => {
        const appended = await store.append(stream, events, expectedRevision)
        answered.set(stream, appended.position)
        return appended
      },
    },
    wasToldAfterStore: (stream, position) => {
      const last = answered.get(stream)
      const isStored =
        position !== null && last !== undefined && comparePositions(position, last) <= 0
      honest(isStored, `a caller of ${stream} was told yes before the store said it`)
    },
  }
}
