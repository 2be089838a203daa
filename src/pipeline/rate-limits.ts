/**
 * Rate limits: windows of 60 seconds in the memory of each process, one counter per name and holder
 * (decisions.md, "Rate limits"). They go by the process's own time, never by the ledger's; money never
 * depends on them, and where counting fails the call goes through.
 */
import type { Ports } from "../ports.ts"
import type { Refusal } from "./refusal.ts"
import { refusal } from "./refusal.ts"
import type { Route } from "./route.ts"

const WINDOW_MS = 60_000

/** How many calls each name lets pass in a window, and what they are called. */
const LIMITS = {
  paid: { most: 120, calls: "paid calls by this key" },
  connect: { most: 10, calls: "connection requests from this address" },
} as const satisfies Record<NonNullable<Route["limit"]>, object>

/** Counts calls. */
export interface RateLimits {
  /** Counts a call of a holder (a key, a company, an address); the refusal where it is one too many. */
  readonly refuse: (name: keyof typeof LIMITS, holder: string) => Refusal | null
}

/** Counters in memory. */
export function openRateLimits({ pacer, log }: Pick<Ports, "pacer" | "log">): RateLimits {
  let window = -1
  let counts = new Map<string, number>()
  const count = (name: keyof typeof LIMITS, holder: string): number => {
    const current = Math.floor(pacer.elapsedMs() / WINDOW_MS)
    if (current !== window) {
      window = current
      counts = new Map()
    }
    const place = `${name} ${holder}`
    const calls = (counts.get(place) ?? 0) + 1
    counts.set(place, calls)
    return calls
  }
  return {
    refuse: (name, holder) => {
      const { most, calls } = LIMITS[name]
      try {
        if (count(name, holder) <= most) return null
      } catch (error) {
        log.warn("a call could not be counted towards its rate limit", error)
        return null
      }
      const message = `More than ${most} ${calls} in a minute; wait a minute.`
      return { ...refusal("rate_limited", message), headers: { "retry-after": "60" } }
    },
  }
}
