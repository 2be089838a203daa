import { setTimeout as pause } from "node:timers/promises"
import type { Pacer } from "./port.ts"

/** This machine's monotonic clock and timers. */
export const machinePacer: Pacer = {
  elapsedMs: () => performance.now(),
  pause: async (ms, signal) => {
    await pause(ms, undefined, signal === undefined ? {} : { signal }).catch((error: unknown) => {
      if (signal?.aborted !== true) throw error
    })
  },
}
