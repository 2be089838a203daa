/**
 * Looking through a page of a stranger's, in a thread of its own: a megabyte of HTML can be written so that its
 * parser takes minutes and gigabytes for it, and nobody else may wait for that.
 */
import { Worker } from "node:worker_threads"
import type { PageProblem } from "./page-problem-messages.ts"
import type { PageName } from "./texting-pages.ts"

/** Who may do it now, and who waits for that. */
interface Semaphore {
  /**
   * Does it once it is its turn: who came first is first.
   *
   * @param signal once it aborts nobody waits for a turn any more; what began goes on
   * @throws what the signal was aborted with, where it was before the turn came
   */
  readonly run: <T>(signal: AbortSignal, work: () => Promise<T>) => Promise<T>
}

const MAX_MEMORY_MB = 128
/** So many threads at once: strangers' pages take no more of the machine than that. */
const threadLimit = openSemaphore(2)

/** What is looked through. */
export interface PageToAnalyze {
  readonly page: PageName
  readonly html: string
  readonly brand: string
}

/**
 * What is wrong with a page; one that takes more memory than any other is too large. Where two are looked
 * through already it waits for one of them.
 *
 * @param signal once it aborts nobody waits for it any more
 * @throws Error once it does
 */
export const findProblemsInThread = (
  looked: PageToAnalyze,
  signal: AbortSignal,
): Promise<readonly PageProblem[]> => threadLimit.run(signal, () => analyzeInThread(looked, signal))

async function analyzeInThread(
  looked: PageToAnalyze,
  signal: AbortSignal,
): Promise<readonly PageProblem[]> {
  const found = Promise.withResolvers<readonly PageProblem[]>()
  const worker = new Worker(new URL("./page-thread.ts", import.meta.url), {
    // It needs nothing of the program's: what a stranger wrote is read in it.
    env: {},
    execArgv: [],
    workerData: looked,
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MB },
  })
  worker.on("message", found.resolve)
  worker.on("error", (error: Error & { readonly code?: string }) => {
    if (error.code === "ERR_WORKER_OUT_OF_MEMORY") found.resolve(["too_large"])
    else found.reject(error)
  })
  worker.on("exit", () => found.reject(new Error("the thread that looks through a page ended")))
  const end = (): void => void worker.terminate()
  signal.addEventListener("abort", end, { once: true })
  try {
    if (signal.aborted) end()
    return await found.promise
  } finally {
    signal.removeEventListener("abort", end)
    await worker.terminate()
  }
}

/** Opens turns. @param most so many at once */
export function openSemaphore(most: number): Semaphore {
  let going = 0
  const waiting = new Set<() => void>()
  const end = (): void => {
    const [next] = waiting
    if (next === undefined) {
      going -= 1
      return
    }
    waiting.delete(next)
    next()
  }
  const turn = async (signal: AbortSignal): Promise<void> => {
    if (going < most) {
      going += 1
      return
    }
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const leave = (): void => {
      waiting.delete(resolve)
      reject(signal.reason)
    }
    waiting.add(resolve)
    signal.addEventListener("abort", leave, { once: true })
    await promise
    signal.removeEventListener("abort", leave)
  }
  return {
    run: async (signal, work) => {
      await turn(signal)
      try {
        return await work()
      } finally {
        end()
      }
    },
  }
}
