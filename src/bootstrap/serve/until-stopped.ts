/** Serving until it is to stop, and stopping in order. */
import { machinePacer } from "../../../adapters/machine/clock/clock.ts"
import type { Log } from "../../frame/kernel/log.ts"
import type { NamedCloser } from "../open/closers.ts"
import { closeInTime } from "../open/closers.ts"

/** So much of a stop is for calls in hand. */
const CALLS_WITHIN_MS = 4_000
const STOP_WITHOUT_DATABASE_MS = 5_000

/** What is served from. */
export interface Served {
  /** Settles where the database ended and will not be back, with a sentence. */
  readonly databaseLost: Promise<string>
  /** Answers what could not be closed in time. */
  readonly close: (withinMs: number) => Promise<readonly string[]>
}

/** When it is to stop, and how soon. */
export interface StopOptions {
  readonly log: Log
  /** Aborted when it is to stop. */
  readonly signal: AbortSignal
  /** What is not stopped by then is left. */
  readonly withinMs: number
}

/** What a work comes to; null where the signal was aborted first, and it ended for that. @throws what it throws */
export async function unlessStopped<T>(
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T | null> {
  try {
    return await work()
  } catch (error) {
    if (signal.aborted && error === signal.reason) return null
    throw error
  }
}

/**
 * Serves until the signal aborts, or the database is lost; closes what `serve` gave to be closed, and what
 * it served from.
 *
 * @returns the exit code: not 0 where something could not be brought to its end
 * @throws what `serve` throws
 */
export async function untilStopped(
  served: Served,
  { log, signal, withinMs }: StopOptions,
  serve: (closers: NamedCloser[]) => Promise<void>,
): Promise<number> {
  const stopped = Promise.withResolvers<number>()
  let stopWithinMs = withinMs
  const stop = () => stopped.resolve(0)
  signal.addEventListener("abort", stop)
  if (signal.aborted) stop()
  void served.databaseLost.then((sentence) => {
    log.warn(sentence, null)
    // Much waits for a database when it is closed, and this one will not be back as long as we are here.
    stopWithinMs = STOP_WITHOUT_DATABASE_MS
    stopped.resolve(1)
  })
  const closers: NamedCloser[] = []
  let code = 1
  let left: readonly string[] = []
  try {
    await serve(closers)
    code = await stopped.promise
  } finally {
    signal.removeEventListener("abort", stop)
    const until = machinePacer.elapsedMs() + stopWithinMs
    left = await closeInTime(closers, CALLS_WITHIN_MS)
    left = [...left, ...(await served.close(until - machinePacer.elapsedMs()))]
    log.info("stopped", { left: left.length })
    if (left.length > 0) log.warn(`stopped before all was done: ${left.join("; ")}`, null)
  }
  return left.length > 0 ? 1 : code
}
