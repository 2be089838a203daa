/**
 * Refusals as callers see them: `{error, message, …}` with the status of the code (specification,
 * "Errors"; decisions.md §1). A code without a status does not compile.
 */
import type { ChargeId } from "../../../../domain/kernel/ids.ts"

/** Every error code that any route may answer with, and its HTTP status. */
export const ERROR_STATUSES = {
  validation: 400,
  bad_number: 400,
  bad_amount: 400,
  idempotency_key_required: 400,
  invalid_key: 401,
  payment_required: 402,
  needs_managed_plan: 402,
  card_required: 402,
  no_card: 402,
  needs_owner: 402,
  declined: 402,
  payment_failed: 402,
  operation_not_granted: 403,
  not_allowed: 403,
  role: 403,
  purchase_not_allowed: 403,
  purchase_needs_review: 403,
  over_purchase_limit: 403,
  over_monthly_limit: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  idempotency_conflict: 409,
  no_number: 409,
  opted_out: 409,
  gone: 410,
  too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  misdirected: 421,
  rate_limited: 429,
  spend_limit_reached: 429,
  internal: 500,
  overloaded: 503,
  stream_damaged: 503,
  unavailable: 503,
} as const

/** An error code that any route may answer with. */
export type ErrorCode = keyof typeof ERROR_STATUSES

/** An error code of a slice alone. */
export interface SliceErrorCode {
  readonly error: string
  readonly status: number
  /** A body with it, for the document: its message, and whatever else it says. */
  readonly example: { readonly message: string; readonly [detail: string]: unknown }
}

/** An error code. */
export type RefusalCode = ErrorCode | SliceErrorCode

/** The code as callers see it. */
export function publicErrorCode(code: RefusalCode): string {
  return typeof code === "string" ? code : code.error
}

/** Its HTTP status. */
export function statusOfCode(code: RefusalCode): number {
  return typeof code === "string" ? ERROR_STATUSES[code] : code.status
}

/** A no, ready to be sent. */
export interface Refusal {
  readonly error: string
  readonly status: number
  /** One sentence for a person. */
  readonly message: string
  /** What else the body says. */
  readonly details?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
  /** The charge that was refused: its evidence is found by it. For the log; no answer says it. */
  readonly chargeId?: ChargeId
}

/** Makes a refusal. */
export function refusal(
  code: RefusalCode,
  message: string,
  details?: Readonly<Record<string, unknown>>,
): Refusal {
  const refused = { error: publicErrorCode(code), status: statusOfCode(code), message }
  return details === undefined ? refused : { ...refused, details }
}

/** The body of a refusal. */
export function refusalBody({ error, message, details }: Refusal) {
  return { error, message, ...details }
}
