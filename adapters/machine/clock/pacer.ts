import type { Pacer } from "./port.ts"

/** This machine's monotonic clock and timers. */
export const machinePacer: Pacer = {
  elapsedMs: () => performance.now(),
  // Most pauses are cut short, several with each text: Node's own would make an error each time.
  pause: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted === true) return resolve()
      const end = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener("abort", end)
        resolve()
      }
      const timer = setTimeout(end, ms)
      return signal?.addEventListener("abort", end)
    }),
}
