/**
 * `Idempotency-Key` on charged POSTs (decisions.md §6): the same key and body give the same answer,
 * a decided refusal frees the key, an unknown outcome does not.
 */
import { scopeOf } from "../checks/1-caller.ts"
import { createHash } from "node:crypto"
import type { ClaimRequest } from "../../../../adapters/postgres/idempotency/port.ts"
import { parseSealed, parsed } from "../../../../domain/kernel/ids.ts"
import { COMPANY_SUBJECT } from "../../../../adapters/sealing/port.ts"
import { canonicalJson } from "../../kernel/envelope.ts"
import type { Ports } from "../../ports.ts"
import type { Refusal } from "../answers/refusal.ts"
import { refusal } from "../answers/refusal.ts"
import type { Call, ReadBody } from "../call.ts"
import type { Caller, Seed } from "../declare/route.ts"
import { BYTES } from "../declare/route.ts"
import { isOneOf } from "../declare/one-of.ts"

/** How a request that was taken over is carried out; `T` is what it comes to. */
export interface Steps<T> {
  /** Finds what was done of an attempt and goes on from there; the same seed where nothing is found. */
  readonly resume: (seed: Seed) => Promise<{ readonly came: T } | { readonly seed: Seed }>
  /** Carries the attempt out. */
  readonly perform: (seed: Seed) => Promise<T>
  /** Whether it is a refusal that frees the key. */
  readonly isNo: (came: T) => boolean
}

/** What a request came to. */
export interface CameTo<T> {
  readonly came: T
  /** Whether nothing more of this attempt can be stored; where it can, its key is kept for it. */
  readonly isOver: boolean
}

/** An answer as it is kept and sent again, byte for byte. */
export interface KeptAnswer {
  readonly status: number
  readonly body: string
  /** The `Ledger-Position` of the first answer. */
  readonly position: string | null
  /** What else the head of a refusal says; nothing of it is kept. */
  readonly headers?: Refusal["headers"]
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
  /** Somebody is carrying it out, from this seed. */
  | { readonly state: "running"; readonly seed: Seed }
  | { readonly state: "refused"; readonly refusal: Refusal }

/** Why a header cannot be an idempotency key; null where it can. `sent` are all values of it. */
export function idempotencyFault(sent: readonly string[]): string | null {
  const [key = "", second] = sent
  if (second !== undefined) return "given once"
  return key.length >= 1 && key.length <= 255 && /^[\x20-\x7e]+$/.test(key)
    ? null
    : "1 to 255 printable ASCII characters"
}

/** What of a body tells two requests apart: what stands in it, or its bytes where those are taken. */
function sentIn(route: Call["route"], { bytes, value }: ReadBody): unknown {
  const isRaw = !isOneOf(route) && route.body === BYTES
  if (isRaw) return bytes === null ? null : { sha256: sha256(bytes) }
  return typeof value === "symbol" ? String(value) : value
}

const sha256 = (sent: string | Uint8Array): string =>
  createHash("sha256").update(sent).digest("hex")

/** Claims a request, or finds what became of it. */
export async function claimRequest(
  ports: Pick<Ports, "claims" | "clock" | "sealing">,
  { route, params }: Pick<Call, "route" | "params">,
  caller: Caller,
  idempotencyKey: string,
  body: ReadBody,
): Promise<Claimed> {
  const path = route.url.replaceAll(/:(\w+)/g, (_all, name: string) =>
    encodeURIComponent(params[name] ?? ""),
  )
  const asked = sha256(`${route.method}\n${path}\n${canonicalJson(sentIn(route, body))}`)
  const isLasting = !isOneOf(route) && route.once !== undefined
  const claim: ClaimRequest = {
    companyId: caller.companyId,
    keyId: claimScopeOf(caller),
    idempotencyKey,
    fingerprint: ports.sealing.installationTag(`request ${asked}`),
    requestId: caller.requestId,
    at: ports.clock.now(),
    lasting: isLasting,
  }
  const made = await ports.claims.claim(claim)
  switch (made.state) {
    case "mine": {
      const { attempt, begun, takenOver } = made
      return { state: "mine", claim, seed: seedOf(ports, claim, begun, attempt), takenOver }
    }
    case "done":
      return { state: "replay", answer: await openAnswer(ports, claim, made.answer) }
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
  ports: Pick<Ports, "claims">,
  claim: ClaimRequest,
  begun: string,
  attempt: number,
): Seed {
  const first = claim.lasting === true ? [] : [begun]
  return {
    parts: [claim.keyId, claim.idempotencyKey, ...first, String(attempt)],
    isNamed: true,
    next: async () => seedOf(ports, claim, begun, await ports.claims.nextAttempt(claim)),
  }
}

/** Errors after which certainly nothing is stored. */
const HARMLESS: ReadonlySet<string> = new Set(["Overloaded", "DeadlinePassed", "ClockUnsure"])

/**
 * Lets a claim go after an error: what is certainly not stored frees the key, all else does not. Of a
 * claim that was taken over nothing is certain: whoever had it before may have carried it out.
 */
export async function letGo(
  ports: Pick<Ports, "claims" | "log">,
  { claim, takenOver }: { readonly claim: ClaimRequest; readonly takenOver: boolean },
  error: unknown,
): Promise<void> {
  const isHarmless = !takenOver && error instanceof Error && HARMLESS.has(error.name)
  await orWarn(ports, isHarmless ? ports.claims.release(claim) : ports.claims.leave(claim))
}

/**
 * Keeps the answer for whoever sends the request again. Where that fails the caller has it all the
 * same, and whoever asks again gets it built from the facts.
 */
export async function keep(
  ports: Pick<Ports, "claims" | "log" | "sealing">,
  claim: ClaimRequest,
  answer: KeptAnswer,
): Promise<void> {
  const kept = finish(ports, claim, answer)
  if (!(await orWarn(ports, kept))) await orWarn(ports, ports.claims.leave(claim))
}

/** An answer holds what a person wrote: it is kept sealed under the company's key. */
async function finish(
  ports: Pick<Ports, "claims" | "sealing">,
  claim: ClaimRequest,
  answer: KeptAnswer,
): Promise<void> {
  const { companyId } = claim
  const { status, body, position } = answer
  const text = JSON.stringify({ status, body, position })
  const sealed = await ports.sealing.seal(companyId, COMPANY_SUBJECT, text)
  await ports.claims.finish(claim, sealed)
}

async function openAnswer(
  ports: Pick<Ports, "sealing">,
  claim: ClaimRequest,
  kept: string,
): Promise<KeptAnswer> {
  const text = await ports.sealing.open(claim.companyId, parsed(parseSealed, kept))
  if (text === null) throw new Error("the answer's key was erased while its API key still works")
  return JSON.parse(text) as KeptAnswer
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
  if (key === null || key.personId !== null) return scopeOf(caller)
  return `${key.keyId}/${person?.personId ?? "nobody"}`
}

/**
 * Carries a request out that was taken over. Before a no is told it is looked for once more: the state
 * that said no has all that was stored until then, so a charge of this request that is part of the
 * reason is found. What arrives later still is found by the same request, if it comes again.
 */
export async function goOnWith<T>(
  seed: Seed,
  { resume, perform, isNo }: Steps<T>,
): Promise<CameTo<T>> {
  const found = await resume(seed)
  if ("came" in found) return { came: found.came, isOver: true }
  const came = await perform(found.seed)
  // An attempt that follows on one that is over was begun by nobody else.
  if (found.seed !== seed || !isNo(came)) return { came, isOver: true }
  const again = await resume(seed)
  if ("came" in again) return { came: again.came, isOver: true }
  return { came, isOver: again.seed !== seed }
}
