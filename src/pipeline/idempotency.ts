/**
 * `Idempotency-Key` on charged POSTs (decisions.md §6): the same key and body give the same answer,
 * a decided refusal frees the key, an unknown outcome does not.
 */
import { createHash, randomUUIDv7 } from "node:crypto"
import type { ClaimRequest } from "../../adapters/claims/port.ts"
import { canonicalJson } from "../canonical-json.ts"
import type { Ports } from "../ports.ts"
import type { Refusal } from "./refusal.ts"
import { refusal } from "./refusal.ts"
import type { Caller, Route, Seed } from "./route.ts"

/** An answer as it is kept and sent again, byte for byte. */
export interface KeptAnswer {
  readonly status: number
  readonly body: string
  /** The `Ledger-Position` of the first answer. */
  readonly position: string | null
}

/** What an `Idempotency-Key` came to. */
export type Claimed =
  | { readonly state: "mine"; readonly claim: ClaimRequest; readonly seed: Seed }
  | { readonly state: "replay"; readonly answer: KeptAnswer }
  | { readonly state: "refused"; readonly refusal: Refusal }

/** Why a header cannot be an idempotency key; null where it can. */
export function idempotencyFault(key: string): string | null {
  return key.length >= 1 && key.length <= 255 && /^[\x20-\x7e]+$/.test(key)
    ? null
    : "1 to 255 printable ASCII characters"
}

/** Claims a request, or finds what became of it. */
export async function claimRequest(
  ports: Ports,
  route: Route,
  caller: Caller,
  idempotencyKey: string,
  body: unknown,
): Promise<Claimed> {
  const fingerprint = createHash("sha256")
    .update(`${route.method}\n${route.url}\n${canonicalJson(body)}`)
    .digest("hex")
  const claim: ClaimRequest = {
    companyId: caller.companyId,
    keyId: caller.key.keyId,
    idempotencyKey,
    fingerprint,
    requestId: caller.requestId,
  }
  const made = await ports.claims.claim(claim)
  switch (made.state) {
    case "mine":
      return { state: "mine", claim, seed: seedOf(ports, claim, made.attempt, made.takenOver) }
    case "done":
      return { state: "replay", answer: JSON.parse(made.answer) as KeptAnswer }
    case "running": {
      const message = "A request with this Idempotency-Key is still running; send it again later."
      return { state: "refused", refusal: refusal("conflict", message) }
    }
    case "conflict": {
      const message = "This Idempotency-Key was used with another request; use a new one."
      return { state: "refused", refusal: refusal("idempotency_conflict", message) }
    }
  }
}

/** What the ids of one attempt derive from. */
function seedOf(ports: Ports, claim: ClaimRequest, attempt: number, takenOver: boolean): Seed {
  return {
    parts: [claim.keyId, claim.idempotencyKey, String(attempt)],
    takenOver,
    next: async () => seedOf(ports, claim, await ports.claims.nextAttempt(claim), false),
  }
}

/** The seed of a request without an `Idempotency-Key`: nothing ever derives from it again. */
export function freshSeed(): Seed {
  return { parts: [randomUUIDv7()], takenOver: false, next: async () => freshSeed() }
}
