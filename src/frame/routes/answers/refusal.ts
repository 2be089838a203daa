/**
 * Refusals as callers get them: `{error, message, …}` with the status of the code (specification, "Errors";
 * docs/api.md, "Order of checks"). A code without a status does not compile.
 */
import type { ChargeId } from "../../../../domain/kernel/ids.ts"

/** Every error code of the API, with its HTTP status. */
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
  stream_corrupt: 503,
  unavailable: 503,
} as const

export type ErrorCode = keyof typeof ERROR_STATUSES

export interface SliceErrorCode {
  readonly error: string
  readonly status: number
  /** Example body for the API document. */
  readonly example: { readonly message: string; readonly [detail: string]: unknown }
}

export type RefusalCode = ErrorCode | SliceErrorCode

/** Returns the code as callers see it. */
export function publicErrorCode(code: RefusalCode): string {
  return typeof code === "string" ? code : code.error
}

/** Returns the HTTP status of a code. */
export function statusOfCode(code: RefusalCode): number {
  return typeof code === "string" ? ERROR_STATUSES[code] : code.status
}

/** A refusal, ready to send. */
export interface Refusal {
  readonly error: string
  readonly status: number
  /** One sentence for people. */
  readonly message: string
  /** Additional fields of the body. */
  readonly details?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
  /** The rejected charge, for the log only; its evidence is stored under this id. */
  readonly chargeId?: ChargeId
}

/** Creates a refusal. */
export function refusal(
  code: RefusalCode,
  message: string,
  details?: Readonly<Record<string, unknown>>,
): Refusal {
  const refused = { error: publicErrorCode(code), status: statusOfCode(code), message }
  return details === undefined ? refused : { ...refused, details }
}

/** Returns the body of a refusal. */
export function refusalBody({ error, message, details }: Refusal) {
  return { error, message, ...details }
}
