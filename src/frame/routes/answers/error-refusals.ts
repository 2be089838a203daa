/** Converts errors to refusals that reveal no internals. */
import { isConnectionFault } from "../../../../adapters/postgres/port.ts"
import type { Log } from "../../kernel/log.ts"
import type { BodyTooLarge, RequestFacts } from "../api-call.ts"
import type { Refusal } from "./refusal.ts"
import { refusal } from "./refusal.ts"

const RETRY_AFTER = { "retry-after": "5" }

/** A corrupt stream needs an operator, so a quick retry is useless. */
const CORRUPT_RETRY_AFTER = { "retry-after": "300" }
const CORRUPT_MESSAGE = "Some of this company's data is corrupt"

const INTERNAL_MESSAGE =
  "Something went wrong on our side. Send the request again, with the same Idempotency-Key if it had one. " +
  "If it fails again, report the requestId."

/** Errors of a ledger that is unreachable or too slow. */
const UNAVAILABLE_ERRORS: ReadonlySet<string> = new Set(["DeadlinePassed", "Unavailable"])

/** Returns the answer to a thrown error. */
export function errorRefusal(error: Error, asked: RequestFacts, log: Log): Refusal {
  const { requestId } = asked
  switch (error.name) {
    case "BodyTooLarge":
      return tooLargeRefusal(error as BodyTooLarge)
    case "BodyCutOff": {
      const fields = { body: "The body does not have the length that Content-Length says." }
      return refusal(
        "validation",
        "The connection ended before the whole body arrived. Send the request again.",
        { fields },
      )
    }
    case "Overloaded":
      return overloadedRefusal(asked)
    case "ClockUnsure": {
      log.warn("a request was answered with 503 unavailable", error)
      const why = "This server has no recent measurement of the ledger's time"
      return sendAgainRefusal("unavailable", why, asked, error)
    }
    case "CorruptStream":
      // The runner has logged it once.
      return {
        ...sendAgainRefusal("stream_corrupt", CORRUPT_MESSAGE, asked, error),
        headers: CORRUPT_RETRY_AFTER,
      }
    case "OutcomeUnknown":
      log.warn(`the outcome of request ${requestId} is unknown`, error)
      return unknownOutcomeRefusal(error, asked)
    case "ClaimLost": {
      return refusal(
        "conflict",
        "Another process is executing the request with this Idempotency-Key. Send it again in a few " +
          "seconds to get its answer.",
      )
    }
  }
  // Failures after a charge are unknown outcomes, so these errors charged nothing.
  if (UNAVAILABLE_ERRORS.has(error.name) || isConnectionFault(error)) {
    log.warn("a request was answered with 503 unavailable", error)
    return sendAgainRefusal("unavailable", "The ledger cannot be reached right now", asked, error)
  }
  log.warn(`request ${requestId} failed`, error)
  return refusal("internal", INTERNAL_MESSAGE, { requestId })
}

/** Returns the answer to a call during shutdown. */
export function stoppingRefusal(requestId: string): Refusal {
  const message = "This server is shutting down and did not run this request. Send it again."
  return { ...refusal("unavailable", message, { requestId }), headers: RETRY_AFTER }
}

/** Returns the answer to a call that would wait too long. */
export function overloadedRefusal(asked: RequestFacts): Refusal {
  return sendAgainRefusal("overloaded", "Too many calls are waiting", asked, null)
}

/**
 * Returns the answer if this request did nothing. It says that nothing was paid only if no earlier request with
 * the same key can have paid.
 */
function sendAgainRefusal(
  code: "unavailable" | "overloaded" | "stream_corrupt",
  why: string,
  asked: RequestFacts,
  error: Error | null,
): Refusal {
  const { requestId, paymentKind, mayHaveRun } = asked
  const nothing = paymentKind === null ? "" : `; nothing was ${PAYMENT_VERBS[paymentKind]}`
  const notified = code === "stream_corrupt" ? " The operator has been notified." : ""
  const message = mayHaveRun
    ? `${why}.${notified} An earlier request with this Idempotency-Key may have been ` +
      `${PAYMENT_VERBS[paymentKind ?? "charge"]}. ${safeRetryText(asked)}.`
    : `${why}${nothing}.${notified} Send the request again ${code === "stream_corrupt" ? "once the data is repaired" : "later"}.`
  const named = mayHaveRun && error !== null ? idsInError(error) : {}
  return { ...refusal(code, message, { requestId, ...named }), headers: RETRY_AFTER }
}

function tooLargeRefusal({ maxBytes }: BodyTooLarge): Refusal {
  const most = maxBytes.toLocaleString("en-US")
  return refusal("too_large", `The body is larger than ${most} bytes, the limit of this route.`)
}

const PAYMENT_VERBS = { charge: "charged", purchase: "paid" } as const

function safeRetryText({ paymentKind }: RequestFacts): string {
  const once = paymentKind === null ? "done" : PAYMENT_VERBS[paymentKind]
  return `Send it again with the same Idempotency-Key: it is ${once} at most once`
}

function unknownOutcomeRefusal(error: Error, asked: RequestFacts): Refusal {
  const { requestId, paymentKind, isKeyed } = asked
  const named = idsInError(error)
  const isCharge = "chargeId" in named
  const done = paymentKind === null ? "done" : PAYMENT_VERBS[paymentKind]
  const retry = isCharge
    ? `Send it again with the same Idempotency-Key (it is ${done} at most once), or look up the charge by its chargeId`
    : safeRetryText(asked)
  const lookUp = `Look ${isCharge ? "up the charge by its chargeId" : "it up"} before you send it again`
  const next = isKeyed ? retry : lookUp
  const message = `It is not known yet whether this was ${done}. ${next}.`
  return { ...refusal("unavailable", message, { requestId, ...named }), headers: RETRY_AFTER }
}

/** Returns the id in an error that may exist, for a look-up. */
function idsInError(error: Error): Readonly<Record<string, unknown>> {
  if ("purchaseId" in error) return { purchaseId: error.purchaseId }
  return "chargeId" in error ? { chargeId: error.chargeId } : {}
}
