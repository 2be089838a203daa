/** Checkpoints that can be waited for: a runner keeps them behind its callers, and is never closed here. */
import { setImmediate as nextTurn } from "node:timers/promises"
import type { Checkpoints } from "../../adapters/postgres/checkpoints/port.ts"

/** Checkpoints, and a wait until none is being kept. */
export interface SettledCheckpoints {
  readonly checkpoints: Checkpoints
  /** Resolves once none is being kept, and none has been begun for a turn of the event loop. */
  readonly settled: () => Promise<void>
}

/** Counts what is being kept. */
export function settling(given: Checkpoints): SettledCheckpoints {
  const keeping = new Set<Promise<void>>()
  return {
    checkpoints: {
      ...given,
      save: (stream, checkpoint) => {
        const saved = given.save(stream, checkpoint).finally(() => keeping.delete(saved))
        keeping.add(saved)
        return saved
      },
    },
    settled: async () => {
      do {
        await Promise.allSettled(keeping)
        // The next of a stream is begun when the one before it is kept.
        await nextTurn()
      } while (keeping.size > 0)
    },
  }
}
