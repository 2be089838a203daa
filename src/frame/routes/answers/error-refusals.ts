/** Errors that are nobody's refusal, as callers see them: nothing of the inside. */
import { isConnectionFault } from "../../../../adapters/postgres/port.ts"
import type { Log } from "../../kernel/log.ts"
import type { Refusal } from "./refusal.ts"
import { refusal } from "./refusal.ts"

const RETRY_AFTER = { "retry-after": "5" }

/** It is mended by people, not by waiting. */
const CORRUPT_RETRY_AFTER = { "retry-after": "300" }
const CORRUPT_MESSAGE = "Part of this company's records is damaged, and the operator has been told"

/** Errors of the ledger that say it cannot be reached or written to in time. */
const UNAVAILABLE_ERRORS: ReadonlySet<string> = new Set(["DeadlinePassed", "Unavailable"])

/** What is known of a request that fails. */
export interface RequestFacts {
  readonly requestId: string
  /** What it pays for; null where nothing is paid for by it. */
  readonly paymentKind: "charge" | "purchase" | null
  /** Whether it has an `Idempotency-Key`. */
  readonly isKeyed: boolean
  /** Whether an earlier request with the same `Idempotency-Key` may have been carried out. */
  readonly mayHaveRun: boolean
}

/** The answer to an error that was thrown. */
export function errorRefusal(error: Error, asked: RequestFacts, log: Log): Refusal {
  const { requestId } = asked
  switch (error.name) {
    case "BodyTooLarge":
      return refusal("too_large", "The body is larger than this route takes.")
    case "BodyCutOff": {
      const fields = { body: "The body does not have the length that Content-Length says." }
      return refusal("validation", "The body was cut off.", { fields })
    }
    case "Overloaded":
      return overloadedRefusal(asked)
    case "ClockUnsure": {
      log.warn("a call could not be served", error)
      const why = "This server does not know the ledger's time well enough to write right now"
      return sendAgainRefusal("unavailable", why, asked, error)
    }
    case "CorruptStream":
      // The runner has told of it, once.
      return {
        ...sendAgainRefusal("stream_damaged", CORRUPT_MESSAGE, asked, error),
        headers: CORRUPT_RETRY_AFTER,
      }
    case "OutcomeUnknown":
      log.warn(`the outcome of request ${requestId} is unknown`, error)
      return unknownOutcomeRefusal(error, asked)
    case "ClaimLost": {
      const message = "Another process carries out the request with this Idempotency-Key by now."
      return refusal("conflict", message)
    }
  }
  // Whatever fails behind a charge is an unknown outcome: what comes here has charged nothing.
  if (UNAVAILABLE_ERRORS.has(error.name) || isConnectionFault(error)) {
    log.warn("a call could not be served", error)
    return sendAgainRefusal("unavailable", "The ledger cannot be reached right now", asked, error)
  }
  log.warn(`request ${requestId} failed`, error)
  return refusal("internal", "Something went wrong on our side.", { requestId })
}

/** The answer to a call that comes while the server stops. */
export function stoppingRefusal(requestId: string): Refusal {
  const message = "This server is stopping and has not begun this call. Send it again."
  return { ...refusal("unavailable", message, { requestId }), headers: RETRY_AFTER }
}

/** The answer to a call that would wait for too long. */
export function overloadedRefusal(asked: RequestFacts): Refusal {
  return sendAgainRefusal("overloaded", "Too many calls wait here right now", asked, null)
}

/**
 * The answer where this request did nothing: that nothing was paid is said only where no earlier one
 * can have done it.
 */
function sendAgainRefusal(
  code: "unavailable" | "overloaded" | "stream_damaged",
  why: string,
  asked: RequestFacts,
  error: Error | null,
): Refusal {
  const { requestId, paymentKind, mayHaveRun } = asked
  const nothing = paymentKind === null ? "" : `; nothing was ${PAYMENT_VERBS[paymentKind]}`
  const message = mayHaveRun
    ? `${why}, and it is not known yet whether an earlier request with this Idempotency-Key was ` +
      `${PAYMENT_VERBS[paymentKind ?? "charge"]}. ${safeRetryText(asked)}.`
    : `${why}${nothing}. ${code === "stream_damaged" ? "Send it again once that is mended." : "Send it again later."}`
  const named = mayHaveRun && error !== null ? idsInError(error) : {}
  return { ...refusal(code, message, { requestId, ...named }), headers: RETRY_AFTER }
}

const PAYMENT_VERBS = { charge: "charged", purchase: "paid" } as const

function safeRetryText({ paymentKind }: RequestFacts): string {
  const once = paymentKind === null ? "done" : PAYMENT_VERBS[paymentKind]
  return (
    `Send it again with the same Idempotency-Key: it is ${once} at most once, and you get the ` +
    "answer that was stored"
  )
}

function unknownOutcomeRefusal(error: Error, asked: RequestFacts): Refusal {
  const { requestId, paymentKind, isKeyed } = asked
  const named = idsInError(error)
  const isCharge = "chargeId" in named
  const done = paymentKind === null ? "done" : PAYMENT_VERBS[paymentKind]
  const next = isKeyed
    ? `${safeRetryText(asked)}${isCharge ? ", or look the charge up by its chargeId" : ""}`
    : `Look ${isCharge ? "the charge up by its chargeId" : "at it"} before you send it again`
  const message = `Nobody knows yet whether this was ${done}. ${next}.`
  return { ...refusal("unavailable", message, { requestId, ...named }), headers: RETRY_AFTER }
}

/** What an error names that may have been made, to be looked up. */
function idsInError(error: Error): Readonly<Record<string, unknown>> {
  if ("purchaseId" in error) return { purchaseId: error.purchaseId }
  return "chargeId" in error ? { chargeId: error.chargeId } : {}
}
