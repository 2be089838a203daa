/**
 * Claims on idempotency keys (decisions.md §6): who carries out a request, and what it answered.
 *
 * A claim names the process that holds it. A process that died holds nothing: its claims may be
 * taken over, and the taker runs the request again with the same attempt, from which all ids derive.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"

/** What a request asks to be carried out once. */
export interface IdempotencyClaimRequest {
  readonly companyId: CompanyId
  /** Whose names they are: those of an API key, and through a shared key of the signed-in person. */
  readonly keyId: string
  /** The caller's `Idempotency-Key`, 1 to 255 characters. */
  readonly idempotencyKey: string
  /** A keyed hash over method, path and canonical body: without the key nothing of it can be guessed. */
  readonly fingerprint: string
  readonly requestId: string
  /** The ledger's time, UTC milliseconds: how long an answer is kept is counted from it. */
  readonly at: number
  /** Whether it is kept for ever once it was begun; default false. */
  readonly isPermanent?: boolean
}

/** How a claim came out. */
export type IdempotencyClaim =
  /**
   * This process carries it out now. `attempt` counts from 0; `takenOver` from a process that died.
   * `begun` names the first request of this key since it was last forgotten: ids derive from it too,
   * so that a key used again after that begins anew.
   */
  | {
      readonly state: "mine"
      readonly attempt: number
      readonly firstRequestId: string
      readonly isTakenOver: boolean
    }
  /** It was carried out: `answer` is what `finish` kept. */
  | { readonly state: "done"; readonly answer: string }
  /** A living process is carrying it out, as this attempt. */
  | { readonly state: "running"; readonly attempt: number }
  /** The key was used with another request. */
  | { readonly state: "conflict" }

/** The claim is not held by this process (any more): whoever holds it carries the request out. */
export class ClaimLost extends Error {
  override readonly name = "ClaimLost"
}

/**
 * Keeps claims. `finish`, `release` and `leave` change nothing where the claim is not held (any
 * more): a process that was thought dead has no say in what its successor does.
 */
export interface IdempotencyStore {
  readonly claim: (request: IdempotencyClaimRequest) => Promise<IdempotencyClaim>
  /** Keeps the answer for whoever sends the request again. */
  readonly finish: (request: IdempotencyClaimRequest, answer: string) => Promise<void>
  /** A decided refusal frees the key: the next one with it is a new attempt. */
  readonly release: (request: IdempotencyClaimRequest) => Promise<void>
  /**
   * Nobody knows the outcome: the claim stays, with the same attempt, for whoever sends the request
   * again.
   */
  readonly abandon: (request: IdempotencyClaimRequest) => Promise<void>
  /**
   * Moves a running claim to the next attempt, when the former one's charge was given back, and
   * answers it. @throws ClaimLost where the claim is not held (any more)
   */
  readonly nextAttempt: (request: IdempotencyClaimRequest) => Promise<number>
  /**
   * Forgets what was claimed before an instant of the ledger's time; of what lasts only the keys that
   * a refusal freed. Gives their number.
   */
  readonly forgetBefore: (at: number) => Promise<number>
}
