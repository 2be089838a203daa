/** Analyzes untrusted pages in threads: hostile HTML can take the parser minutes and gigabytes. */
import { Worker } from "node:worker_threads"
import type { PageProblem } from "./page-problem-messages.ts"
import type { PageName } from "./texting-pages.ts"

interface Semaphore {
  /** Runs work in order of arrival. @param signal ends the wait, not begun work @throws the signal's reason */
  readonly run: <T>(signal: AbortSignal, work: () => Promise<T>) => Promise<T>
}

const MAX_MEMORY_MB = 128
/** Limits the CPU that untrusted pages can use. */
const threadLimit = openSemaphore(2)

/** A page, and the brand that it must name. */
export interface PageToAnalyze {
  readonly page: PageName
  readonly html: string
  readonly brand: string
}

/** Finds a page's problems; over the memory limit it is `too_large`. @throws Error when the signal aborts */
export const findProblemsInThread = (
  target: PageToAnalyze,
  signal: AbortSignal,
): Promise<readonly PageProblem[]> => threadLimit.run(signal, () => analyzeInThread(target, signal))

async function analyzeInThread(
  target: PageToAnalyze,
  signal: AbortSignal,
): Promise<readonly PageProblem[]> {
  const found = Promise.withResolvers<readonly PageProblem[]>()
  const worker = new Worker(new URL("./page-thread.ts", import.meta.url), {
    // The thread reads untrusted content, so it gets no environment.
    env: {},
    execArgv: [],
    workerData: target,
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MB },
  })
  worker.on("message", found.resolve)
  worker.on("error", (error: Error & { readonly code?: string }) => {
    if (error.code === "ERR_WORKER_OUT_OF_MEMORY") found.resolve(["too_large"])
    else found.reject(error)
  })
  worker.on("exit", () => found.reject(new Error("the thread that analyzes a page ended")))
  const release = (): void => void worker.terminate()
  signal.addEventListener("abort", release, { once: true })
  try {
    if (signal.aborted) release()
    return await found.promise
  } finally {
    signal.removeEventListener("abort", release)
    await worker.terminate()
  }
}

/** Limits concurrent work to `limit`. */
export function openSemaphore(limit: number): Semaphore {
  let running = 0
  const waiting = new Set<() => void>()
  const release = (): void => {
    const [next] = waiting
    if (next === undefined) {
      running -= 1
      return
    }
    waiting.delete(next)
    next()
  }
  const acquire = async (signal: AbortSignal): Promise<void> => {
    if (running < limit) {
      running += 1
      return
    }
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const cancel = (): void => {
      waiting.delete(resolve)
      reject(signal.reason)
    }
    waiting.add(resolve)
    signal.addEventListener("abort", cancel, { once: true })
    await promise
    signal.removeEventListener("abort", cancel)
  }
  return {
    run: async (signal, work) => {
      await acquire(signal)
      try {
        return await work()
      } finally {
        release()
      }
    },
  }
}
