/** Combines the items of many callers with the same key into one batch. */

/** Collects items per key; while one batch runs, the next one collects. */
export interface Batcher<K extends string, T> {
  /** Resolves when the item's batch is done; rejects with the error of the batch. */
  readonly add: (key: K, item: T) => Promise<void>
  /** Resolves when no batch collects or runs. */
  readonly waitUntilIdle: () => Promise<void>
}

/** Opens a batcher that calls `flush` with at most `maxItems` items at a time. */
export function openBatcher<K extends string, T>(
  maxItems: number,
  flush: (key: K, items: readonly T[]) => Promise<void>,
): Batcher<K, T> {
  interface Waiting {
    readonly item: T
    readonly resolve: () => void
    readonly reject: (error: unknown) => void
  }
  const queues = new Map<K, { waiting: Waiting[]; running: Promise<void> }>()

  const run = async (key: K, waiting: Waiting[]) => {
    // Callers of the same tick share the first batch.
    await new Promise(setImmediate)
    while (waiting.length > 0) {
      const batch = waiting.splice(0, maxItems)
      try {
        await flush(
          key,
          batch.map(({ item }) => item),
        )
        for (const { resolve } of batch) resolve()
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    queues.delete(key)
  }

  return {
    add: (key, item) =>
      new Promise((resolve, reject) => {
        const existing = queues.get(key)
        if (existing !== undefined) {
          existing.waiting.push({ item, resolve, reject })
          return
        }
        const waiting = [{ item, resolve, reject }]
        queues.set(key, { waiting, running: run(key, waiting) })
      }),
    waitUntilIdle: async () => {
      while (queues.size > 0) await Promise.all([...queues.values()].map((one) => one.running))
    },
  }
}
