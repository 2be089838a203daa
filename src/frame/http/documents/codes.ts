/** The codes that a route can refuse with: its own, and those of the checks that its data asks for. */
import type { Code, ErrorCode } from "../../routes/answers/refusal.ts"
import type { Route } from "../../routes/declare/route.ts"

/** What any call can meet: even one without a body may name a `Ledger-Position` that is none. */
const OF_ANY_CALL: readonly ErrorCode[] = [
  "validation",
  "method_not_allowed",
  "internal",
  "overloaded",
  "stream_damaged",
  "unavailable",
]

/** Every code that can come from a route, each once. */
export function codesOf(route: Route): readonly Code[] {
  const checked = [...ofCaller(route), ...ofAccount(route), ...ofName(route), ...ofBody(route)]
  return [...new Set([...OF_ANY_CALL, ...checked, ...(route.refuses ?? [])])]
}

function ofCaller({ auth, operation, also = [], roleRefusal }: Route): readonly Code[] {
  if (auth === false) return []
  const codes: Code[] = ["invalid_key", "not_allowed"]
  if (operation !== null || also.length > 0) codes.push("operation_not_granted")
  if (roleRefusal !== undefined) codes.push(roleRefusal)
  return codes
}

function ofAccount({ counted, passesLock, limit, account }: Route): readonly Code[] {
  const codes: Code[] = []
  if (counted) codes.push("spend_limit_reached")
  if (counted && passesLock !== true) codes.push("payment_required")
  if (limit !== undefined) codes.push("rate_limited")
  if (account !== undefined) {
    codes.push(account === "managed" ? "needs_managed_plan" : "card_required")
  }
  return codes
}

/** `conflict`: another process carries the same request out, or took it over. */
function ofName({ charged, once }: Route): readonly Code[] {
  if (charged !== true && once === undefined) return []
  const codes: Code[] = ["conflict", "idempotency_conflict"]
  return once === undefined ? codes : [...codes, "idempotency_key_required"]
}

function ofBody({ method, body }: Route): readonly Code[] {
  if (method === "GET") return []
  return body === undefined ? ["too_large"] : ["too_large", "unsupported_media_type"]
}
