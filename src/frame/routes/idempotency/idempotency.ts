/**
 * `Idempotency-Key` on charged POSTs (decisions.md §6): the same key and body give the same answer,
 * a decided refusal frees the key, an unknown outcome does not.
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

/** How a request that was taken over is carried out; `T` is what it comes to. */
export interface TakeoverSteps<T> {
  /** Finds what was done of an attempt and goes on from there; the same seed where nothing is found. */
  readonly resume: (seed: Seed) => Promise<{ readonly came: T } | { readonly seed: Seed }>
  /** Carries the attempt out. */
  readonly perform: (seed: Seed) => Promise<T>
  /** Whether it is a refusal that frees the key. */
  readonly isFreeingRefusal: (came: T) => boolean
}

/** What a request came to. */
export interface TakeoverResult<T> {
  readonly result: T
  /** Whether nothing more of this attempt can be stored; where it can, its key is kept for it. */
  readonly isOver: boolean
}

/** An answer as it is kept and sent again, byte for byte. */
export interface StoredAnswer {
  readonly status: number
  readonly body: string
  /** The `Ledger-Position` of the first answer. */
  readonly position: string | null
  /** What else the head of a refusal says; nothing of it is kept. */
  readonly headers?: Refusal["headers"]
}

/** What an `Idempotency-Key` came to. */
export type ClaimResult =
  | {
      readonly state: "mine"
      readonly claim: IdempotencyClaimRequest
      readonly seed: Seed
      /** The request was begun before, by a process that died or left it in doubt. */
      readonly isTakenOver: boolean
    }
  | { readonly state: "replay"; readonly answer: StoredAnswer }
  /** Somebody is carrying it out, from this seed. */
  | { readonly state: "running"; readonly seed: Seed }
  | { readonly state: "refused"; readonly refusal: Refusal }

/** Why a header cannot be an idempotency key; null where it can. `sent` are all values of it. */
export function idempotencyKeyFault(sent: readonly string[]): string | null {
  const [key = "", second] = sent
  if (second !== undefined) return "given once"
  return key.length >= 1 && key.length <= 255 && /^[\x20-\x7e]+$/.test(key)
    ? null
    : "1 to 255 printable ASCII characters"
}

/** What of a body tells two requests apart: what stands in it, or its bytes where those are taken. */
function bodyIdentityOf(route: ApiCall["route"], { bytes, value }: ParsedBody): unknown {
  const isRaw = !isRouteVariants(route) && route.body === RAW_BODY
  if (isRaw) return bytes === null ? null : { sha256: sha256(bytes) }
  return typeof value === "symbol" ? String(value) : value
}

const sha256 = (sent: string | Uint8Array): string =>
  createHash("sha256").update(sent).digest("hex")

/** Claims a request, or finds what became of it. */
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
  const asked = sha256(`${route.method}\n${path}\n${canonicalJson(bodyIdentityOf(route, body))}`)
  const isLasting = !isRouteVariants(route) && route.permanentIdempotency !== undefined
  const claim: IdempotencyClaimRequest = {
    companyId: caller.companyId,
    keyId: claimScopeOf(caller),
    idempotencyKey,
    fingerprint: ports.sealing.installationTag(`request ${asked}`),
    requestId: caller.requestId,
    at: ports.clock.now(),
    isPermanent: isLasting,
  }
  const made = await ports.idempotency.claim(claim)
  switch (made.state) {
    case "mine": {
      const { attempt, firstRequestId, isTakenOver } = made
      return {
        state: "mine",
        claim,
        seed: seedOf(ports, claim, firstRequestId, attempt),
        isTakenOver: isTakenOver,
      }
    }
    case "done":
      return { state: "replay", answer: await unsealAnswer(ports, claim, made.answer) }
    case "running": {
      if (isLasting) {
        return { state: "running", seed: seedOf(ports, claim, "", made.attempt) }
      }
      const message = "A request with this Idempotency-Key is still running; send it again later."
      return { state: "refused", refusal: refusal("conflict", message) }
    }
    case "conflict": {
      const message = "This Idempotency-Key was used with another request; use a new one."
      return { state: "refused", refusal: refusal("idempotency_conflict", message) }
    }
  }
}

/**
 * What the ids of one attempt derive from. `begun` is new once the key was forgotten: what is sent
 * with it after that is another request, and must not find the facts of the first. What lasts for
 * ever is always the same request.
 */
function seedOf(
  ports: Pick<Ports, "idempotency">,
  claim: IdempotencyClaimRequest,
  begun: string,
  attempt: number,
): Seed {
  const first = claim.isPermanent === true ? [] : [begun]
  return {
    parts: [claim.keyId, claim.idempotencyKey, ...first, String(attempt)],
    isKeyed: true,
    next: async () => seedOf(ports, claim, begun, await ports.idempotency.nextAttempt(claim)),
  }
}

/** Errors after which certainly nothing is stored. */
const NOTHING_STORED_ERRORS: ReadonlySet<string> = new Set([
  "Overloaded",
  "DeadlinePassed",
  "ClockUnsure",
])

/**
 * Lets a claim go after an error: what is certainly not stored frees the key, all else does not. Of a
 * claim that was taken over nothing is certain: whoever had it before may have carried it out.
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

/**
 * Keeps the answer for whoever sends the request again. Where that fails the caller has it all the
 * same, and whoever asks again gets it built from the facts.
 */
export async function storeAnswer(
  ports: Pick<Ports, "idempotency" | "log" | "sealing">,
  claim: IdempotencyClaimRequest,
  answer: StoredAnswer,
): Promise<void> {
  const kept = finishClaim(ports, claim, answer)
  if (!(await orWarn(ports, kept))) await orWarn(ports, ports.idempotency.abandon(claim))
}

/** An answer holds what a person wrote: it is kept sealed under the company's key. */
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
  kept: string,
): Promise<StoredAnswer> {
  const text = await ports.sealing.unseal(claim.companyId, parseStored(parseSealedText, kept))
  if (text === null) throw new Error("the answer's key was erased while its API key still works")
  return JSON.parse(text) as StoredAnswer
}

async function orWarn(ports: Pick<Ports, "log">, change: Promise<void>): Promise<boolean> {
  try {
    await change
    return true
  } catch (error) {
    ports.log.warn("a claim on an idempotency key could not be changed", error)
    return false
  }
}

/**
 * Whose `Idempotency-Key`s they are: those of a key, and through the app's shared key of each person who
 * is signed in (decisions.md §6). No caller is given another's answer.
 */
function claimScopeOf(caller: Caller): string {
  const { key, person } = caller
  if (key === null || key.personId !== null) return callerScope(caller)
  return `${key.keyId}/${person?.personId ?? "nobody"}`
}

/**
 * Carries a request out that was taken over. Before a no is told it is looked for once more: the state
 * that said no has all that was stored until then, so a charge of this request that is part of the
 * reason is found. What arrives later still is found by the same request, if it comes again.
 */
export async function continueTakenOver<T>(
  seed: Seed,
  { resume, perform, isFreeingRefusal }: TakeoverSteps<T>,
): Promise<TakeoverResult<T>> {
  const found = await resume(seed)
  if ("came" in found) return { result: found.came, isOver: true }
  const result = await perform(found.seed)
  // An attempt that follows on one that is over was begun by nobody else.
  if (found.seed !== seed || !isFreeingRefusal(result)) return { result, isOver: true }
  const again = await resume(seed)
  if ("came" in again) return { result: again.came, isOver: true }
  return { result, isOver: again.seed !== seed }
}
