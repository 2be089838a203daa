/**
 * `Idempotency-Key` on charged POSTs (docs/decisions/api.md): the same key and body get the same answer; a decided
 * refusal frees the key, an unknown outcome does not.
 */
import { callerScope } from "../checks/1-caller.ts"
import { createHash } from "node:crypto"
import type { IdempotencyClaimRequest } from "../../../../adapters/postgres/idempotency/port.ts"
import { parseSealedText, parseStored } from "../../../../domain/kernel/ids.ts"
import { COMPANY_SUBJECT } from "../../../../adapters/sealing/port.ts"
import { canonicalJson } from "../../kernel/envelope.ts"
import type { Ports } from "../../ports.ts"
import type { Refusal } from "../answers/refusal.ts"
import { refusal } from "../answers/refusal.ts"
import type { ApiCall, ParsedBody } from "../api-call.ts"
import type { Caller, Seed } from "../declare/route.ts"
import { RAW_BODY } from "../declare/route.ts"
import { isRouteVariants } from "../declare/route-variants.ts"

/** How a request that was taken over is executed; `T` is its outcome. */
export interface TakeoverSteps<T> {
  /** Finds what was done of an attempt and continues it; the same seed if nothing was done. */
  readonly resume: (seed: Seed) => Promise<{ readonly finished: T } | { readonly seed: Seed }>
  /** Executes the attempt. */
  readonly perform: (seed: Seed) => Promise<T>
  /** Whether an outcome is a refusal that frees the key. */
  readonly isFreeingRefusal: (result: T) => boolean
}

/** The outcome of a request. */
export interface TakeoverResult<T> {
  readonly result: T
  /** Whether nothing more of this attempt can be stored; otherwise its key stays claimed. */
  readonly isOver: boolean
}

/** An answer as it is stored and replayed, byte for byte. */
export interface StoredAnswer {
  readonly status: number
  readonly body: string
  /** The `Ledger-Position` of the first answer. */
  readonly position: string | null
  /** Additional headers of a refusal; not stored. */
  readonly headers?: Refusal["headers"]
}

/** The result of claiming an `Idempotency-Key`. */
export type ClaimResult =
  | {
      readonly state: "claimed"
      readonly claim: IdempotencyClaimRequest
      readonly seed: Seed
      /** An earlier process began the request and crashed or left its outcome unknown. */
      readonly isTakenOver: boolean
    }
  | { readonly state: "answered"; readonly answer: StoredAnswer }
  /** Another process is executing it with this seed. */
  | { readonly state: "running"; readonly seed: Seed }
  | { readonly state: "refused"; readonly refusal: Refusal }

/** Returns why a header is not a valid idempotency key; null if it is. `sent` has all of its values. */
export function idempotencyKeyFault(sent: readonly string[]): string | null {
  const [key = "", second] = sent
  if (second !== undefined) return "given once"
  return key.length >= 1 && key.length <= 255 && /^[\x20-\x7e]+$/.test(key)
    ? null
    : "1 to 255 printable ASCII characters"
}

/** Returns what identifies a body: its JSON value, or the hash of a raw body. */
function bodyIdentityOf(route: ApiCall["route"], { bytes, value }: ParsedBody): unknown {
  const isRaw = !isRouteVariants(route) && route.body === RAW_BODY
  if (isRaw) return bytes === null ? null : { sha256: sha256(bytes) }
  return typeof value === "symbol" ? String(value) : value
}

const sha256 = (sent: string | Uint8Array): string =>
  createHash("sha256").update(sent).digest("hex")

/** Claims a request, or finds its outcome. */
export async function claimIdempotencyKey(
  ports: Pick<Ports, "idempotency" | "clock" | "sealing">,
  { route, params }: Pick<ApiCall, "route" | "params">,
  caller: Caller,
  idempotencyKey: string,
  body: ParsedBody,
): Promise<ClaimResult> {
  const path = route.url.replaceAll(/:(\w+)/g, (_all, name: string) =>
    encodeURIComponent(params[name] ?? ""),
  )
  const request = sha256(`${route.method}\n${path}\n${canonicalJson(bodyIdentityOf(route, body))}`)
  const isPermanent = !isRouteVariants(route) && route.permanentIdempotency !== undefined
  const claim: IdempotencyClaimRequest = {
    companyId: caller.companyId,
    keyId: claimScopeOf(caller),
    idempotencyKey,
    fingerprint: ports.sealing.installationTag(`request ${request}`),
    requestId: caller.requestId,
    at: ports.clock.now(),
    isPermanent,
  }
  const made = await ports.idempotency.claim(claim)
  switch (made.state) {
    case "claimed": {
      const { attempt, firstRequestId, isTakenOver } = made
      return {
        state: "claimed",
        claim,
        seed: seedOf(ports, claim, firstRequestId, attempt),
        isTakenOver: isTakenOver,
      }
    }
    case "done":
      return { state: "answered", answer: await unsealAnswer(ports, claim, made.answer) }
    case "running": {
      if (isPermanent) {
        return { state: "running", seed: seedOf(ports, claim, "", made.attempt) }
      }
      const message = "A request with this Idempotency-Key is still running; send it again later."
      return { state: "refused", refusal: refusal("conflict", message) }
    }
    case "conflict": {
      const message = "This Idempotency-Key was used with another request. Use a new one."
      return { state: "refused", refusal: refusal("idempotency_conflict", message) }
    }
  }
}

/**
 * Returns the seed of an attempt. `firstRequestId` is new after the key has expired, so that a later request with
 * the same key does not find the facts of the first. A permanent request does not depend on it.
 */
function seedOf(
  ports: Pick<Ports, "idempotency">,
  claim: IdempotencyClaimRequest,
  firstRequestId: string,
  attempt: number,
): Seed {
  const first = claim.isPermanent === true ? [] : [firstRequestId]
  return {
    parts: [claim.keyId, claim.idempotencyKey, ...first, String(attempt)],
    isKeyed: true,
    next: async () =>
      seedOf(ports, claim, firstRequestId, await ports.idempotency.nextAttempt(claim)),
  }
}

/** Errors after which nothing is stored. */
const NOTHING_STORED_ERRORS: ReadonlySet<string> = new Set([
  "Overloaded",
  "DeadlinePassed",
  "ClockUnsure",
])

/**
 * Releases a claim after an error. It frees the key only if nothing was stored, which is uncertain for a claim
 * that was taken over: its earlier holder may have executed the request.
 */
export async function releaseIdempotencyClaim(
  ports: Pick<Ports, "idempotency" | "log">,
  { claim, takenOver }: { readonly claim: IdempotencyClaimRequest; readonly takenOver: boolean },
  error: unknown,
): Promise<void> {
  const isHarmless = !takenOver && error instanceof Error && NOTHING_STORED_ERRORS.has(error.name)
  await orWarn(
    ports,
    isHarmless ? ports.idempotency.release(claim) : ports.idempotency.abandon(claim),
  )
}

/** Stores the answer for replays. If that fails, a retry builds the answer from the facts. */
export async function storeAnswer(
  ports: Pick<Ports, "idempotency" | "log" | "sealing">,
  claim: IdempotencyClaimRequest,
  answer: StoredAnswer,
): Promise<void> {
  const stored = finishClaim(ports, claim, answer)
  if (!(await orWarn(ports, stored))) await orWarn(ports, ports.idempotency.abandon(claim))
}

/** Stores an answer, sealed with the company's key because it contains a person's text. */
async function finishClaim(
  ports: Pick<Ports, "idempotency" | "sealing">,
  claim: IdempotencyClaimRequest,
  answer: StoredAnswer,
): Promise<void> {
  const { companyId } = claim
  const { status, body, position } = answer
  const text = JSON.stringify({ status, body, position })
  const sealed = await ports.sealing.seal(companyId, COMPANY_SUBJECT, text)
  await ports.idempotency.finish(claim, sealed)
}

async function unsealAnswer(
  ports: Pick<Ports, "sealing">,
  claim: IdempotencyClaimRequest,
  sealed: string,
): Promise<StoredAnswer> {
  const text = await ports.sealing.unseal(claim.companyId, parseStored(parseSealedText, sealed))
  if (text === null) throw new Error("the answer's key was erased while its API key still works")
  return JSON.parse(text) as StoredAnswer
}

async function orWarn(ports: Pick<Ports, "log">, change: Promise<void>): Promise<boolean> {
  try {
    await change
    return true
  } catch (error) {
    ports.log.warn("an idempotency claim could not be updated", error)
    return false
  }
}

/**
 * Returns the scope of an `Idempotency-Key`: the API key, and for an app key the signed-in person
 * (docs/decisions/api.md). No caller gets another one's answer.
 */
function claimScopeOf(caller: Caller): string {
  const { key, person } = caller
  if (key === null || key.personId !== null) return callerScope(caller)
  return `${key.keyId}/${person?.personId ?? "nobody"}`
}

/**
 * Executes a request that was taken over. Before a refusal is answered, the earlier work is looked for again: its
 * charge may be the cause of the refusal. Work that is stored later is found by the next retry.
 */
export async function continueTakenOver<T>(
  seed: Seed,
  { resume, perform, isFreeingRefusal }: TakeoverSteps<T>,
): Promise<TakeoverResult<T>> {
  const found = await resume(seed)
  if ("finished" in found) return { result: found.finished, isOver: true }
  const result = await perform(found.seed)
  // No other process can have begun an attempt that follows a finished one.
  if (found.seed !== seed || !isFreeingRefusal(result)) return { result, isOver: true }
  const again = await resume(seed)
  if ("finished" in again) return { result: again.finished, isOver: true }
  return { result, isOver: again.seed !== seed }
}
