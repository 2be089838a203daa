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
  | {
      readonly state: "mine"
      readonly claim: ClaimRequest
      readonly seed: Seed
      /** The request was begun before, by a process that died or left it in doubt. */
      readonly takenOver: boolean
    }
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
    case "mine": {
      const { attempt, takenOver } = made
      return { state: "mine", claim, seed: seedOf(ports, claim, attempt), takenOver }
    }
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
function seedOf(ports: Ports, claim: ClaimRequest, attempt: number): Seed {
  return {
    parts: [claim.keyId, claim.idempotencyKey, String(attempt)],
    next: async () => seedOf(ports, claim, await ports.claims.nextAttempt(claim)),
  }
}

/** The seed of a request without an `Idempotency-Key`: nothing ever derives from it again. */
export function freshSeed(): Seed {
  return { parts: [randomUUIDv7()], next: async () => freshSeed() }
}

/** Errors after which certainly nothing is stored. */
const HARMLESS: ReadonlySet<string> = new Set(["Overloaded", "DeadlinePassed", "ClockUnsure"])

/** Lets a claim go after an error: what is certainly not stored frees the key, all else does not. */
export async function letGo(ports: Ports, claim: ClaimRequest, error: unknown): Promise<void> {
  const isHarmless = error instanceof Error && HARMLESS.has(error.name)
  await orWarn(ports, isHarmless ? ports.claims.release(claim) : ports.claims.leave(claim))
}

/**
 * Keeps the answer for whoever sends the request again. Where that fails the caller has it all the
 * same, and whoever asks again gets it built from the facts.
 */
export async function keep(ports: Ports, claim: ClaimRequest, answer: KeptAnswer): Promise<void> {
  const kept = ports.claims.finish(claim, JSON.stringify(answer))
  if (!(await orWarn(ports, kept))) await orWarn(ports, ports.claims.leave(claim))
}

async function orWarn(ports: Ports, change: Promise<void>): Promise<boolean> {
  try {
    await change
    return true
  } catch (error) {
    ports.log.warn("a claim on an idempotency key could not be changed", error)
    return false
  }
}
