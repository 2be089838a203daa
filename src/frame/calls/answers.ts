/** Answers as they are sent, kept, and sent again. */
import { tokenOf } from "./position-token.ts"
import type { Ports } from "../ports.ts"
import type { KeptAnswer } from "./idempotency.ts"
import type { Refusal } from "./refusal.ts"
import { STATUS_OF, bodyOf, refusal } from "./refusal.ts"
import type { Caller, Reply, Route } from "./route.ts"

/** An answer as it is sent and kept. */
export function answerOf(ports: Ports, result: Reply<unknown>): KeptAnswer {
  const { position = null } = result
  const token = position === null ? null : tokenOf(position, ports.storeGeneration)
  if (!result.ok) {
    const { error, headers } = result.refusal
    const body = JSON.stringify(bodyOf(result.refusal))
    const kept = { status: STATUS_OF[error], body, position: token }
    return headers === undefined ? kept : { ...kept, headers }
  }
  const { body, status = 200 } = result
  return { status, body: JSON.stringify(body), position: token }
}

/**
 * A kept answer as it is sent again. What happens once for ever is told as it stands by now, except
 * for a final no; a read may still wait for the place of what was done by the first answer.
 */
export async function answerAgain(
  ports: Ports,
  route: Route,
  caller: Caller,
  kept: KeptAnswer,
): Promise<KeptAnswer> {
  if (route.once === undefined || kept.status >= 400) return kept
  const now = answerOf(ports, await route.once.replay(ports, caller, JSON.parse(kept.body)))
  return kept.status === 200 ? { ...now, position: kept.position } : now
}

/** The refusal of what happens once and came without a key to know it by. */
export function keyRequired(): Refusal {
  const message = "A purchase needs the header Idempotency-Key: a new one for each purchase."
  return refusal("idempotency_key_required", message)
}
