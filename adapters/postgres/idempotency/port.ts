/**
 * Idempotency claims (docs/decisions/api.md): which process executes a request, and its answer.
 *
 * A claim names the process that holds it. Claims of dead processes may be taken over; the request
 * then runs again with the same attempt, from which all ids derive.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"

/** A request that must be executed once. */
export interface IdempotencyClaimRequest {
  readonly companyId: CompanyId
  /** Scope of the idempotency key: the API key, or the signed-in person if it is the app key. */
  readonly keyId: string
  /** The caller's `Idempotency-Key`, 1 to 255 characters. */
  readonly idempotencyKey: string
  /** A keyed hash of method, path and canonical body, which reveals nothing about them. */
  readonly fingerprint: string
  readonly requestId: string
  /** The ledger's time, UTC milliseconds: answers expire relative to it. */
  readonly at: number
  /** Whether the claim is stored forever once it has begun; default false. */
  readonly isPermanent?: boolean
}

export type IdempotencyClaim =
  /**
   * This process executes it now. `attempt` counts from 0; `isTakenOver` from a dead process. Ids also derive from
   * `firstRequestId`, the first request since the key was last forgotten, so that a reused key gets new ids.
   */
  | {
      readonly state: "claimed"
      readonly attempt: number
      readonly firstRequestId: string
      readonly isTakenOver: boolean
    }
  | { readonly state: "done"; readonly answer: string }
  /** A living process is executing this attempt. */
  | { readonly state: "running"; readonly attempt: number }
  /** The key was used with another request. */
  | { readonly state: "conflict" }

/** This process does not, or no longer, hold the claim; its holder executes the request. */
export class ClaimLost extends Error {
  override readonly name = "ClaimLost"
}

/**
 * Stores claims. `finish`, `release` and `abandon` do nothing if the claim is not held: a process
 * that was considered dead must not affect its successor.
 */
export interface IdempotencyStore {
  readonly claim: (request: IdempotencyClaimRequest) => Promise<IdempotencyClaim>
  readonly finish: (request: IdempotencyClaimRequest, answer: string) => Promise<void>
  /** Frees the key after a refusal: the next request with it is a new attempt. */
  readonly release: (request: IdempotencyClaimRequest) => Promise<void>
  /** Gives up a request with an unknown outcome: the claim stays, with the same attempt, for retries. */
  readonly abandon: (request: IdempotencyClaimRequest) => Promise<void>
  /**
   * Moves a running claim to the next attempt, after the previous one's charge was refunded, and
   * returns it. @throws ClaimLost if the claim is not held
   */
  readonly nextAttempt: (request: IdempotencyClaimRequest) => Promise<number>
  /**
   * Forgets claims from before an instant of the ledger's time; of permanent ones only keys freed
   * by a refusal. Returns how many.
   */
  readonly forgetBefore: (at: number) => Promise<number>
}
