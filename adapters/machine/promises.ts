/** Waiting for promises: for a limited time, and for the answers of one question that many callers share. */

/** What a promise comes to, or `late` where it takes longer than so many milliseconds. */
export async function withTimeout<T, L>(ms: number, promise: Promise<T>, late: L): Promise<T | L> {
  const over = Promise.withResolvers<L>()
  const timer = setTimeout(() => over.resolve(late), ms)
  try {
    return await Promise.race([promise, over.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** After so long a batch keeps nobody back any more: its connection may be lost without a word. */
const MAX_BATCH_WAIT_MS = 100

interface PendingCall<Q, A> {
  readonly request: Q
  readonly resolve: (answer: A) => void
  readonly reject: (error: unknown) => void
}

/**
 * Gathers questions, because a statement for each would cost the database and this process more than what it asks
 * for: those of one turn of the event loop are answered together, and so are those
 * that come while others are being answered. `answer` gives an answer for each, in their order;
 * what it throws is told to all whom it concerns.
 */
export function batchCalls<Q, A>(
  mostAtOnce: number,
  answer: (questions: readonly Q[]) => Promise<readonly A[]>,
): (question: Q) => Promise<A> {
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
      const batch = waiting.slice(0, mostAtOnce)
      waiting = waiting.slice(mostAtOnce)
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
