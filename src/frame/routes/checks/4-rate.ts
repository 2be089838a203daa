/** The check of how often a key, or its company, calls. */
import type { RateLimits } from "./rate-limits.ts"
import type { Refusal } from "../answers/refusal.ts"
import type { Caller, Route } from "../declare/route.ts"
import { scopeOf } from "../idempotency/idempotency.ts"

/** Counts a caller's call towards its route's limit; the refusal where it is one too many. */
export function rateRefusal(
  rates: RateLimits,
  { limit }: Pick<Route, "limit">,
  caller: Caller,
): Refusal | null {
  if (limit === undefined) return null
  return rates.refuse(limit, limit.per === "key" ? scopeOf(caller) : caller.companyId)
}
