import type { Pacer } from "../../machine/clock/port.ts"
import type { Locks } from "./port.ts"

/** Locks of one process, for tests and the simulation: whoever comes first is served first. */
export function openMemoryLocks(pacer: Pacer): Locks {
  const held = new Map<string, Promise<void>>()
  return {
    take: async (name, timeoutMs) => {
      const until = pacer.elapsedMs() + timeoutMs
      for (;;) {
        const before = held.get(name)
        if (before === undefined) break
        if (pacer.elapsedMs() >= until) return null
        const waiting = new AbortController()
        const late = pacer.pause(until - pacer.elapsedMs(), waiting.signal)
        await Promise.race([before, late])
        waiting.abort()
      }
      const { promise, resolve } = Promise.withResolvers<void>()
      held.set(name, promise)
      return async () => {
        held.delete(name)
        resolve()
      }
    },
  }
}
