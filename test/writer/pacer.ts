/** Time that passes only where a test, or somebody who waits for the store, lets it pass. */
import type { Pacer } from "../../adapters/clock/port.ts"

/** A pacer whose time is moved by hand too. */
export interface VirtualPacer extends Pacer {
  /** Lets so many milliseconds pass; timers whose time has come ring. */
  readonly pass: (ms: number) => void
}

/**
 * Opens one. Who pauses without a signal waits for nothing else, so that time is over at once. A
 * pause that can be ended before its time is a timer: it rings once time has passed otherwise.
 */
export function virtualPacer(): VirtualPacer {
  let elapsed = 0
  const timers = new Set<{ readonly at: number; readonly ring: () => void }>()
  const pass = (ms: number): void => {
    elapsed += ms
    for (const timer of timers) {
      if (timer.at > elapsed) continue
      timers.delete(timer)
      timer.ring()
    }
  }
  return {
    elapsedMs: () => elapsed,
    pass,
    pause: async (ms, signal) => {
      if (signal === undefined) {
        pass(ms)
        await new Promise(setImmediate)
        return
      }
      await new Promise<void>((resolve) => {
        const timer = { at: elapsed + ms, ring: resolve }
        timers.add(timer)
        signal.addEventListener("abort", () => {
          timers.delete(timer)
          resolve()
        })
      })
    },
  }
}
