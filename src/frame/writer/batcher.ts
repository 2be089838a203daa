/** Gathering what many callers want done to one thing into one command. */

/** Collects items per place; while one batch is under way the next one gathers. */
export interface Batcher<P extends string, T> {
  /** Resolves when the batch with this item was done, rejects with what its batch threw. */
  readonly add: (place: P, item: T) => Promise<void>
  /** Resolves when nothing is gathered or under way. */
  readonly waitUntilIdle: () => Promise<void>
}

/** A gatherer that calls `flush` with at most `most` items at a time. */
export function openBatcher<P extends string, T>(
  most: number,
  flush: (place: P, items: readonly T[]) => Promise<void>,
): Batcher<P, T> {
  interface Waiting {
    readonly item: T
    readonly resolve: () => void
    readonly reject: (error: unknown) => void
  }
  const places = new Map<P, { waiting: Waiting[]; running: Promise<void> }>()

  const run = async (place: P, waiting: Waiting[]) => {
    // One turn of the event loop lets callers of the same moment share the first batch.
    await new Promise(setImmediate)
    while (waiting.length > 0) {
      const batch = waiting.splice(0, most)
      try {
        await flush(
          place,
          batch.map(({ item }) => item),
        )
        for (const { resolve } of batch) resolve()
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    places.delete(place)
  }

  return {
    add: (place, item) =>
      new Promise((resolve, reject) => {
        const known = places.get(place)
        if (known !== undefined) {
          known.waiting.push({ item, resolve, reject })
          return
        }
        const waiting = [{ item, resolve, reject }]
        places.set(place, { waiting, running: run(place, waiting) })
      }),
    waitUntilIdle: async () => {
      while (places.size > 0) await Promise.all([...places.values()].map((one) => one.running))
    },
  }
}
