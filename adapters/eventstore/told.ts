/** An event store that tells of each append what came of it. */
import type { Pacer } from "../machine/clock/port.ts"
import type { EventStore, ProposedEvent } from "./port.ts"

/** Told of an append: `error` is the name of what it failed with, null where it was stored. */
export type OnAppend = (
  events: readonly ProposedEvent[],
  error: string | null,
  seconds: number,
) => void

/** The same store. */
export function tellingOfAppends(store: EventStore, pacer: Pacer, onAppend: OnAppend): EventStore {
  return {
    ...store,
    append: async (stream, events, expectedRevision) => {
      const begun = pacer.elapsedMs()
      const seconds = () => (pacer.elapsedMs() - begun) / 1_000
      try {
        const appended = await store.append(stream, events, expectedRevision)
        onAppend(events, null, seconds())
        return appended
      } catch (error) {
        onAppend(events, error instanceof Error ? error.name : "a fault", seconds())
        throw error
      }
    },
  }
}
