/** The thread that looks for secrets, begun when there is something to look through. */
import { Worker } from "node:worker_threads"
import type { Pacer } from "../../machine/clock/port.ts"
import type { Place } from "./windows.ts"
import { foundIn, windowsOf } from "./windows.ts"
import type { SecretScan } from "./port.ts"
import { ScanFailed } from "./port.ts"

/** What the thread is asked. */
export interface Asked {
  readonly id: number
  readonly text: string
}

/** What it says of it. */
export type Said =
  | { readonly id: number; readonly places: readonly Place[] }
  | { readonly id: number; readonly fault: string }

/** A window takes some 10 ms: where nothing comes for so long, the thread is stuck or starved. */
const SILENT_MOST_MS = 60_000
const MOST_MEMORY_MB = 512

interface Thread {
  readonly worker: Worker
  readonly asked: Map<number, PromiseWithResolvers<readonly Place[]>>
}

/** Opens it: nothing is begun before the first scan. */
export function openSecretScan({ pacer }: { readonly pacer: Pacer }): SecretScan {
  let thread: Thread | null = null
  let lastId = 0
  const begin = (): Thread => {
    const begun = beginThread((ended) => {
      if (thread === ended) thread = null
    })
    thread = begun
    return begun
  }
  const ask = async (text: string): Promise<readonly Place[]> => {
    const { worker, asked } = thread ?? begin()
    lastId += 1
    const id = lastId
    const answer = Promise.withResolvers<readonly Place[]>()
    const answered = new AbortController()
    asked.set(id, answer)
    // It is a thread's, and no window's.
    // eslint-disable-next-line unicorn/require-post-message-target-origin
    worker.postMessage({ id, text } satisfies Asked)
    void pacer.pause(SILENT_MOST_MS, answered.signal).then(async () => {
      // Its end refuses everything that it was asked.
      if (!answered.signal.aborted) await worker.terminate()
    })
    try {
      return await answer.promise
    } finally {
      asked.delete(id)
      answered.abort()
    }
  }
  return {
    scan: async (texts) => {
      const windows = [...windowsOf(texts)]
      const all = windows.map(async (window) => ({ window, places: await ask(window.text) }))
      return foundIn(await Promise.all(all))
    },
    close: async () => {
      await thread?.worker.terminate()
    },
  }
}

function beginThread(onEnd: (thread: Thread) => void): Thread {
  const worker = new Worker(new URL("./worker.ts", import.meta.url), {
    // It needs nothing of the program's: what pushes hold is read in it.
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MOST_MEMORY_MB },
  })
  // Nobody who waits for it may be kept from ending by it.
  worker.unref()
  const asked: Thread["asked"] = new Map()
  const thread = { worker, asked }
  const end = (why: string, cause?: unknown): void => {
    onEnd(thread)
    for (const { reject } of asked.values()) reject(new ScanFailed(why, { cause }))
  }
  worker.on("message", (said: Said) => {
    const one = asked.get(said.id)
    if ("fault" in said) one?.reject(new ScanFailed(said.fault))
    else one?.resolve(said.places)
  })
  worker.on("error", (error) => end("the thread that looks for secrets broke", error))
  worker.on("exit", () => end("the thread that looks for secrets ended"))
  return thread
}
