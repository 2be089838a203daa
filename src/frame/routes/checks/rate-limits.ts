/**
 * Rate limits: windows of 60 seconds in the memory of each process, one counter per name and holder
 * (decisions.md, "Rate limits"). They go by the process's own time, never by the ledger's; money never
 * depends on them, and where counting fails the call goes through.
 */
import { z } from "zod"
import type { Ports } from "../../ports.ts"
import { defineSettings } from "../../settings.ts"
import type { Refusal } from "../answers/refusal.ts"
import { refusal } from "../answers/refusal.ts"

const WINDOW_MS = 60_000

/** Whether anything is counted: `off` for volume tests and benchmarks. */
export const rateSettings = defineSettings({
  from: import.meta.url,
  schema: z.object({ RATE_LIMITS: z.enum(["on", "off"], "must be on or off").default("on") }),
})

/** How often somebody may call. */
export interface RateLimit {
  /** Of its counter: routes that name the same one share it. */
  readonly name: string
  /** So many calls pass in a window. */
  readonly max: number
  /** Who is counted. */
  readonly per: "key" | "company" | "address" | "email"
  /** What the calls are called. */
  readonly calls: string
}

/** The limits that the specification names, and those of exports and of sign-in codes. A slice may bring others. */
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

/** Counts calls. */
export interface RateLimits {
  /** Counts a call of a holder; the refusal where it is one too many. */
  readonly refuse: (limit: RateLimit, holder: string) => Refusal | null
}

/** The answer to one call too many. */
export function rateLimitRefusal({ max, calls }: Pick<RateLimit, "max" | "calls">): Refusal {
  const message = `More than ${max} ${calls} in a minute; wait a minute.`
  return { ...refusal("rate_limited", message), headers: { "retry-after": "60" } }
}

/** Lets every call pass, uncounted. */
export const NO_RATE_LIMITS: RateLimits = { refuse: () => null }

/** Counters in memory. */
export function openRateLimits({ pacer, log }: Pick<Ports, "pacer" | "log">): RateLimits {
  let window = -1
  let counts = new Map<string, number>()
  const count = ({ name }: RateLimit, holder: string): number => {
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
