/** The thread that looks for secrets, begun when there is something to look through. */
import { Worker } from "node:worker_threads"
import type { Pacer } from "../../machine/clock/port.ts"
import type { SecretMatch } from "./windows.ts"
import { secretsFromMatches, splitIntoWindows } from "./windows.ts"
import type { SecretScanner } from "./port.ts"
import { SecretScanFailed } from "./port.ts"

/** What the thread is asked. */
export interface ScanRequest {
  readonly id: number
  readonly text: string
}

/** What it says of it. */
export type ScanReply =
  | { readonly id: number; readonly matches: readonly SecretMatch[] }
  | { readonly id: number; readonly error: string }

/** A window takes some 10 ms: where nothing comes for so long, the thread is stuck or starved. */
const SCAN_TIMEOUT_MS = 60_000
const MAX_MEMORY_MB = 512

interface ScanThread {
  readonly worker: Worker
  readonly pending: Map<number, PromiseWithResolvers<readonly SecretMatch[]>>
}

/** Opens it: nothing is begun before the first scan. */
export function openSecretScanner({ pacer }: { readonly pacer: Pacer }): SecretScanner {
  let thread: ScanThread | null = null
  let lastId = 0
  const begin = (): ScanThread => {
    const begun = startThread((ended) => {
      if (thread === ended) thread = null
    })
    thread = begun
    return begun
  }
  const ask = async (text: string): Promise<readonly SecretMatch[]> => {
    const { worker, pending } = thread ?? begin()
    lastId += 1
    const id = lastId
    const answer = Promise.withResolvers<readonly SecretMatch[]>()
    const answered = new AbortController()
    pending.set(id, answer)
    // It is a thread's, and no window's.
    // eslint-disable-next-line unicorn/require-post-message-target-origin
    worker.postMessage({ id, text } satisfies ScanRequest)
    void pacer.pause(SCAN_TIMEOUT_MS, answered.signal).then(async () => {
      // Its end refuses everything that it was asked.
      if (!answered.signal.aborted) await worker.terminate()
    })
    try {
      return await answer.promise
    } finally {
      pending.delete(id)
      answered.abort()
    }
  }
  return {
    scan: async (texts) => {
      const windows = [...splitIntoWindows(texts)]
      const all = windows.map(async (window) => ({ window, places: await ask(window.text) }))
      return secretsFromMatches(await Promise.all(all))
    },
    close: async () => {
      await thread?.worker.terminate()
    },
  }
}

function startThread(onEnd: (thread: ScanThread) => void): ScanThread {
  const worker = new Worker(new URL("./worker.ts", import.meta.url), {
    // It needs nothing of the program's: what pushes hold is read in it.
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MB },
  })
  // Nobody who waits for it may be kept from ending by it.
  worker.unref()
  const asked: ScanThread["pending"] = new Map()
  const thread = { worker, pending: asked }
  const end = (why: string, cause?: unknown): void => {
    onEnd(thread)
    for (const { reject } of asked.values()) reject(new SecretScanFailed(why, { cause }))
  }
  worker.on("message", (said: ScanReply) => {
    const one = asked.get(said.id)
    if ("error" in said) one?.reject(new SecretScanFailed(said.error))
    else one?.resolve(said.matches)
  })
  worker.on("error", (error) => end("the thread that looks for secrets broke", error))
  worker.on("exit", () => end("the thread that looks for secrets ended"))
  return thread
}
