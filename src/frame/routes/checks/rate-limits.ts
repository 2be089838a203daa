/**
 * Rate limits: windows of 60 seconds in the memory of each process, with a counter per name and holder
 * (docs/decisions/api.md). They use the process's own time. Money never depends on them, and a call
 * passes if counting fails.
 */
import { z } from "zod"
import type { Ports } from "../../ports.ts"
import { defineSettings } from "../../settings.ts"
import type { Refusal } from "../answers/refusal.ts"
import { refusal } from "../answers/refusal.ts"

const WINDOW_MS = 60_000

/** The switch for rate limits: `off` for volume tests and benchmarks. */
export const rateSettings = defineSettings({
  from: import.meta.url,
  schema: z.object({ RATE_LIMITS: z.enum(["on", "off"], "must be on or off").default("on") }),
})

export interface RateLimit {
  /** Name of its counter: routes with the same name share it. */
  readonly name: string
  /** Maximum number of calls per window. */
  readonly max: number
  /** What is counted separately. */
  readonly per: "key" | "company" | "address" | "email"
  /** Name of the calls in messages. */
  readonly calls: string
}

/** The limits of the specification, and those of exports and sign-in codes. Slices may define others. */
export const RATE_LIMITS = {
  paid: { name: "paid", max: 120, per: "key", calls: "paid calls by this key" },
  numberSearch: {
    name: "number search",
    max: 10,
    per: "company",
    calls: "searches for numbers by this company",
  },
  domain: {
    name: "domain",
    max: 6,
    per: "company",
    calls: "domains connected or checked by this company",
  },
  connect: {
    name: "connect",
    max: 10,
    per: "address",
    calls: "connection requests from this address",
  },
  codesTo: { name: "codes to", max: 3, per: "email", calls: "codes for this email" },
  codesFrom: { name: "codes from", max: 20, per: "address", calls: "codes from this address" },
  export: { name: "export", max: 6, per: "key", calls: "exports by this key" },
} as const satisfies Record<string, RateLimit>

export interface RateLimits {
  /** Counts a call of a holder; returns the refusal if the limit is exceeded. */
  readonly refuse: (limit: RateLimit, holder: string) => Refusal | null
}

/** Returns the answer to a call over the limit. */
export function rateLimitRefusal({ max, calls }: Pick<RateLimit, "max" | "calls">): Refusal {
  const message = `Limit of ${max} ${calls} per minute exceeded. Try again in a minute.`
  return { ...refusal("rate_limited", message), headers: { "retry-after": "60" } }
}

/** Admits every call without counting. */
export const NO_RATE_LIMITS: RateLimits = { refuse: () => null }

/** Creates counters in memory. */
export function openRateLimits({ pacer, log }: Pick<Ports, "pacer" | "log">): RateLimits {
  let window = -1
  let counts = new Map<string, number>()
  const count = ({ name }: RateLimit, holder: string): number => {
    const current = Math.floor(pacer.elapsedMs() / WINDOW_MS)
    if (current !== window) {
      window = current
      counts = new Map()
    }
    const counter = `${name} ${holder}`
    const calls = (counts.get(counter) ?? 0) + 1
    counts.set(counter, calls)
    return calls
  }
  return {
    refuse: (limit, holder) => {
      try {
        if (count(limit, holder) <= limit.max) return null
      } catch (error) {
        log.warn("a call could not be counted towards its rate limit", error)
        return null
      }
      return rateLimitRefusal(limit)
    },
  }
}
