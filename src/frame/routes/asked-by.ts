/** What a call asks for, as far as its route and its head say it. */
import { fieldOf } from "./as-sent.ts"
import type { Call } from "./call.ts"
import type { Asked } from "./answers/faults.ts"
import type { Route } from "./declare/route.ts"
import type { OneOf } from "./declare/one-of.ts"
import { isOneOf } from "./declare/one-of.ts"

/** What is known of a call before anything was looked at. */
export function askedBy(call: Pick<Call, "route" | "headers" | "requestId">): Asked {
  const isNamed = (idempotencyKeyOf(call) ?? "") !== ""
  const { route, requestId } = call
  return { requestId, pays: paidBy(route), isNamed, mayBeDone: isNamed }
}

/** What a route's calls pay for; null where it is nothing. */
export function paidBy(route: Route | OneOf): Asked["pays"] {
  if (!isOneOf(route) && route.once !== undefined) return "purchase"
  return route.charged === true ? "charge" : null
}

/** The idempotency key of what takes one; null where it has none. */
export function idempotencyKeyOf(call: Pick<Call, "route" | "headers">): string | null {
  return paidBy(call.route) === null ? null : fieldOf(call, "idempotency-key")
}
