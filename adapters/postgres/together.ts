/**
 * Asking for many at a time what each caller asks for one: a statement of its own for each would
 * cost the database and this process more than what it asks for.
 */

/** After so long a batch keeps nobody back any more: its connection may be lost without a word. */
const SLOW_MS = 100

interface Asked<Q, A> {
  readonly question: Q
  readonly resolve: (answer: A) => void
  readonly reject: (error: unknown) => void
}

/**
 * Gathers questions: those of one turn of the event loop are answered together, and so are those
 * that come while others are being answered. `answer` gives an answer for each, in their order;
 * what it throws is told to all whom it concerns.
 */
export function together<Q, A>(
  mostAtOnce: number,
  answer: (questions: readonly Q[]) => Promise<readonly A[]>,
): (question: Q) => Promise<A> {
  let waiting: Asked<Q, A>[] = []
  let isRunning = false

  const settle = async (batch: readonly Asked<Q, A>[]): Promise<void> => {
    try {
      const answers = await answer(batch.map(({ question }) => question))
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
      await orSlow(settle(batch))
    }
    isRunning = false
  }
  return (question) =>
    new Promise((resolve, reject) => {
      waiting.push({ question, resolve, reject })
      if (isRunning) return
      isRunning = true
      void run()
    })
}

/** Resolves with the work, or before it where it is slow. */
async function orSlow(work: Promise<void>): Promise<void> {
  const slow = Promise.withResolvers<void>()
  const timer = setTimeout(slow.resolve, SLOW_MS)
  await Promise.race([work, slow.promise])
  clearTimeout(timer)
}
