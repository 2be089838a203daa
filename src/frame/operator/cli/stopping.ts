/** When the program is to stop: asked to, or because of a fault that nobody caught. */
import { constants } from "node:os"
import type { Log } from "../../kernel/log.ts"

/** What is not stopped in order by then is stopped all the same. */
const STOP_WITHIN_MS = 9_800
/** A terminal's Ctrl-C comes from the terminal and, this much later at most, again from npm. */
const ECHO_MS = 500

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const

/** The stop of a process. */
export interface Stopping {
  /** Asks for it. */
  readonly begin: () => void
  /** Aborts when everything is to end. */
  readonly signal: AbortSignal
  /** Whether it is because of a fault of the program's own. */
  readonly isCrash: () => boolean
  /** What it was first asked for by; null where nobody asked. */
  readonly askedBy: () => string | null
}

/**
 * Listens for what ends a process. The first signal asks for an end in order, which takes ten seconds
 * at most; another one ends it at once. An error that nobody caught is told of, and ends it in order
 * as well: what is stored is whole, but what this process has in memory may not be.
 *
 * @param asking the signals that ask for it; the others of those that end a process are not heard
 */
export function listenForStop(
  process: NodeJS.Process,
  warn: Log["warn"],
  asking: readonly NodeJS.Signals[] = SIGNALS,
): Stopping {
  const stop = new AbortController()
  let first: { readonly name: string; readonly at: number } | null = null
  let isCrash = false

  const begin = (): void => {
    if (stop.signal.aborted) return
    stop.abort()
    setTimeout(() => {
      warn("stopped before all was done: it took too long", null)
      process.exit(1)
    }, STOP_WITHIN_MS).unref()
  }
  for (const name of SIGNALS) {
    process.on(name, () => {
      if (!asking.includes(name)) return
      const at = performance.now()
      const isEcho = first?.name === name && at - first.at < ECHO_MS
      if (first !== null && !isEcho) process.exit(128 + constants.signals[name])
      first ??= { name, at }
      begin()
    })
  }
  // Rejections that nobody handles come here as well.
  process.on("uncaughtException", (error) => {
    warn("this is a fault of the program, which stops", error)
    isCrash = true
    process.exitCode = 1
    begin()
  })
  return { begin, signal: stop.signal, isCrash: () => isCrash, askedBy: () => first?.name ?? null }
}
