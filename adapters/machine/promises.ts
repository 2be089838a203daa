/** Timeouts for promises, and batching of concurrent calls. */

/** Resolves to the promise's value, or to `late` after `ms` milliseconds. */
export async function withTimeout<T, L>(ms: number, promise: Promise<T>, late: L): Promise<T | L> {
  const timeout = Promise.withResolvers<L>()
  const timer = setTimeout(() => timeout.resolve(late), ms)
  try {
    return await Promise.race([promise, timeout.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** After this time the next batch starts anyway, because the connection of a batch may be lost silently. */
const MAX_BATCH_WAIT_MS = 100

interface PendingCall<Q, A> {
  readonly request: Q
  readonly resolve: (answer: A) => void
  readonly reject: (error: unknown) => void
}

/**
 * Batches concurrent calls, because one statement per call would cost more than its work. Calls of
 * one turn of the event loop share a batch, and so do calls during a running batch. `answer`
 * returns one result per request, in order; if it throws, the whole batch is rejected.
 */
export function batchCalls<Q, A>(
  maxBatch: number,
  answer: (requests: readonly Q[]) => Promise<readonly A[]>,
): (request: Q) => Promise<A> {
  let waiting: PendingCall<Q, A>[] = []
  let isRunning = false

  const settle = async (batch: readonly PendingCall<Q, A>[]): Promise<void> => {
    try {
      const answers = await answer(batch.map(({ request }) => request))
      for (const [i, { resolve }] of batch.entries()) resolve(answers[i] as A)
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
  }
  const run = async (): Promise<void> => {
    await new Promise(setImmediate)
    while (waiting.length > 0) {
      const batch = waiting.slice(0, maxBatch)
      waiting = waiting.slice(maxBatch)
      await withTimeout(MAX_BATCH_WAIT_MS, settle(batch), undefined)
    }
    isRunning = false
  }
  return (request) =>
    new Promise((resolve, reject) => {
      waiting.push({ request, resolve, reject })
      if (isRunning) return
      isRunning = true
      void run()
    })
}
