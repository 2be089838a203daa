/**
 * Times computations on a machine that also has other work.
 *
 * The work is done in short steps. A step during which the system gave the core to another program is left out and the
 * next one is taken instead; the result says how many were left out. The collector's pauses belong to the work and count.
 */
import { performance } from "node:perf_hooks"
import { setImmediate as turn } from "node:timers/promises"

/** One timed step. */
export interface Lap {
  /** Number of operations in it. */
  readonly count: number
  readonly tookMs: number
  /** Whether another program had the core meanwhile. Always false if the system does not report it. */
  readonly isDisturbed: boolean
}

/** Runs and times work that returns its number of operations. */
export function lap(work: () => number): Lap {
  const before = process.resourceUsage().involuntaryContextSwitches
  const begun = performance.now()
  const count = work()
  const tookMs = performance.now() - begun
  const isDisturbed = process.resourceUsage().involuntaryContextSwitches !== before
  return { count, tookMs, isDisturbed }
}

/** Adds up laps. */
export interface Stopwatch {
  /** Takes so many undisturbed laps; the event loop turns between two of them. */
  readonly take: (laps: number, next: () => Lap) => Promise<LapRate>
  /** Share of the laps since the last call that were left out; the count starts again. */
  readonly disturbedShare: () => number
}

/** The rate of undisturbed laps. */
export interface LapRate {
  readonly perSecond: number
  readonly microsecondsEach: number
}

/** If so many consecutive laps are disturbed, the machine is too busy to measure. */
const MAX_DISTURBED = 1_000

/** Opens a stopwatch. If Ctrl-C aborts `signal`, its reason is thrown. */
export function openStopwatch(signal: AbortSignal): Stopwatch {
  let taken = 0
  let disturbed = 0
  return {
    take: async (laps, next) => {
      let [count, tookMs, left, inARow] = [0, 0, laps, 0]
      while (left > 0) {
        const one = next()
        await turn()
        signal.throwIfAborted()
        taken += 1
        inARow = one.isDisturbed ? inARow + 1 : 0
        if (inARow > MAX_DISTURBED) throw new Error("the machine is too busy to measure anything")
        if (one.isDisturbed) {
          disturbed += 1
          continue
        }
        count += one.count
        tookMs += one.tookMs
        left -= 1
      }
      return { perSecond: (count / tookMs) * 1_000, microsecondsEach: (tookMs / count) * 1_000 }
    },
    disturbedShare: () => {
      const part = taken === 0 ? 0 : disturbed / taken
      taken = 0
      disturbed = 0
      return part
    },
  }
}
