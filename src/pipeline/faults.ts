/** Errors that are nobody's refusal, as callers see them: nothing of the inside. */
import type { FastifyError, FastifyRequest } from "fastify"
import { isConnectionFault } from "../../adapters/postgres/port.ts"
import type { Log } from "../ports.ts"
import type { Refusal } from "./refusal.ts"
import { refusal } from "./refusal.ts"

const RETRY_AFTER = { "retry-after": "5" }

/** Errors of the ledger that say it cannot be reached or written to in time. */
const AWAY: ReadonlySet<string> = new Set(["DeadlinePassed", "Unavailable"])

/** The answer to an error that was thrown. */
export function faultRefusal(
  error: FastifyError | Error,
  request: FastifyRequest,
  log: Log,
): Refusal {
  const requestId = request.id
  const code = "code" in error ? error.code : ""
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE") {
    return refusal("too_large", "The body is larger than this route takes.")
  }
  if (code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") {
    return refusal("unsupported_media_type", "The body must be JSON.")
  }
  if (code === "FST_ERR_CTP_INVALID_CONTENT_LENGTH") {
    const fields = { body: "The body does not have the length that Content-Length says." }
    return refusal("validation", "The body was cut off.", { fields })
  }
  switch (error.name) {
    case "Overloaded":
      return overloadedRefusal(requestId)
    case "ClockUnsure": {
      log.warn("a call could not be served", error)
      const message =
        "This server does not know the ledger's time well enough to write right now; nothing was " +
        "charged. Send it again."
      return { ...refusal("unavailable", message, { requestId }), headers: RETRY_AFTER }
    }
    case "OutcomeUnknown":
      log.warn(`the outcome of request ${requestId} is unknown`, error)
      return unknownOutcome(error, requestId)
    case "ClaimLost": {
      const message = "Another process carries out the request with this Idempotency-Key by now."
      return refusal("conflict", message)
    }
  }
  // Whatever fails behind a charge is an unknown outcome: what comes here has charged nothing.
  if (AWAY.has(error.name) || isConnectionFault(error)) {
    log.warn("a call could not be served", error)
    const message = "The ledger cannot be reached right now; nothing was charged. Send it again."
    return { ...refusal("unavailable", message, { requestId }), headers: RETRY_AFTER }
  }
  log.warn(`request ${requestId} failed`, error)
  return refusal("internal", "Something went wrong on our side.", { requestId })
}

/** The answer to a call that would wait for too long. */
export function overloadedRefusal(requestId: string): Refusal {
  const message = "Too many calls wait here right now; nothing was charged. Send it again later."
  return { ...refusal("overloaded", message, { requestId }), headers: RETRY_AFTER }
}

function unknownOutcome(error: Error, requestId: string): Refusal {
  if ("purchaseId" in error) {
    const message =
      "Nobody knows yet whether this was paid. Send it again with the same Idempotency-Key: it is " +
      "paid at most once."
    const details = { requestId, purchaseId: error.purchaseId }
    return { ...refusal("unavailable", message, details), headers: RETRY_AFTER }
  }
  const chargeId = "chargeId" in error ? error.chargeId : undefined
  const message =
    "Nobody knows yet whether this was charged. Send it again with the same Idempotency-Key, " +
    "or look the charge up by its chargeId."
  const details = chargeId === undefined ? { requestId } : { requestId, chargeId }
  return { ...refusal("unavailable", message, details), headers: RETRY_AFTER }
}
