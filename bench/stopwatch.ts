/**
 * Times work that only computes, on a machine that has other things to do as well.
 *
 * The work is done in short steps. A step during which the system gave the core to another program
 * says nothing about the work, so it is left out and the next one is taken instead; how many were
 * left out is part of the result. The collector's pauses are the work's own and count.
 */
import { performance } from "node:perf_hooks"
import { setImmediate as turn } from "node:timers/promises"

/** One step. */
export interface Lap {
  /** How many things were done in it. */
  readonly count: number
  readonly tookMs: number
  /** Whether another program had the core meanwhile. Always false where the system does not say. */
  readonly isDisturbed: boolean
}

/** Does the work, which answers how many things it did, and times it. */
export function lap(work: () => number): Lap {
  const before = process.resourceUsage().involuntaryContextSwitches
  const begun = performance.now()
  const count = work()
  const tookMs = performance.now() - begun
  const isDisturbed = process.resourceUsage().involuntaryContextSwitches !== before
  return { count, tookMs, isDisturbed }
}

/** Adds laps up. */
export interface Stopwatch {
  /** Takes so many undisturbed laps; between two of them the event loop turns. */
  readonly take: (laps: number, next: () => Lap) => Promise<LapRate>
  /** Which part of the laps since the last call was left out; begins to count anew. */
  readonly disturbedShare: () => number
}

/** What undisturbed laps came to. */
export interface LapRate {
  readonly perSecond: number
  readonly microsecondsEach: number
}

/** Of so many laps in a row one must be undisturbed, or the machine has no time for this. */
const MAX_DISTURBED = 1_000

/** Opens a stopwatch. `signal` is aborted by Ctrl-C: its reason is thrown then. */
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
