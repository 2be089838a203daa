/** Runs the secret scanner in a worker thread that starts with the first scan. */
import { Worker } from "node:worker_threads"
import type { Pacer } from "../../machine/clock/port.ts"
import type { SecretMatch } from "./windows.ts"
import { secretsFromMatches, splitIntoWindows } from "./windows.ts"
import type { SecretScanner } from "./port.ts"
import { SecretScanFailed } from "./port.ts"

export interface ScanRequest {
  readonly id: number
  readonly text: string
}

/** The thread's reply. */
export type ScanReply =
  | { readonly id: number; readonly matches: readonly SecretMatch[] }
  | { readonly id: number; readonly error: string }

/** A window takes about 10 ms; a thread without a reply for this long is stuck. */
const SCAN_TIMEOUT_MS = 60_000
const MAX_MEMORY_MB = 512

interface ScanThread {
  readonly worker: Worker
  readonly pending: Map<number, PromiseWithResolvers<readonly SecretMatch[]>>
}

/** Opens the scanner; the thread starts with the first scan. */
export function openSecretScanner({ pacer }: { readonly pacer: Pacer }): SecretScanner {
  let thread: ScanThread | null = null
  let lastId = 0
  const ensureThread = (): ScanThread => {
    const started = startThread((ended) => {
      if (thread === ended) thread = null
    })
    thread = started
    return started
  }
  const scanWindow = async (text: string): Promise<readonly SecretMatch[]> => {
    const { worker, pending } = thread ?? ensureThread()
    lastId += 1
    const id = lastId
    const answer = Promise.withResolvers<readonly SecretMatch[]>()
    const answered = new AbortController()
    pending.set(id, answer)
    // Threads have no origin, unlike windows.
    // eslint-disable-next-line unicorn/require-post-message-target-origin
    worker.postMessage({ id, text } satisfies ScanRequest)
    void pacer.pause(SCAN_TIMEOUT_MS, answered.signal).then(async () => {
      // Ending the thread rejects all pending requests.
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
      const all = windows.map(async (window) => ({ window, places: await scanWindow(window.text) }))
      return secretsFromMatches(await Promise.all(all))
    },
    close: async () => {
      await thread?.worker.terminate()
    },
  }
}

function startThread(onEnd: (thread: ScanThread) => void): ScanThread {
  const worker = new Worker(new URL("./worker.ts", import.meta.url), {
    // The thread gets nothing of the program's environment, because it processes pushed content.
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEMORY_MB },
  })
  // The thread must not keep the process alive.
  worker.unref()
  const pending: ScanThread["pending"] = new Map()
  const thread = { worker, pending }
  const end = (reason: string, cause?: unknown): void => {
    onEnd(thread)
    for (const { reject } of pending.values()) reject(new SecretScanFailed(reason, { cause }))
  }
  worker.on("message", (said: ScanReply) => {
    const one = pending.get(said.id)
    if ("error" in said) one?.reject(new SecretScanFailed(said.error))
    else one?.resolve(said.matches)
  })
  worker.on("error", (error) => end("the secret scanner's thread failed", error))
  worker.on("exit", () => end("the secret scanner's thread ended"))
  return thread
}
