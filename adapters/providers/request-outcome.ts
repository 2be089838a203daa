/**
 * Decides the outcome of a request to a provider. Every client uses these functions, so that no
 * adapter decides by itself whether a request may be repeated or refunded.
 */
import { ProviderOutcomeUnknown, ProviderUnavailable } from "./provider-errors.ts"

/**
 * Outcome of a request. `rejected`: the provider read it and did nothing. `not done`: the provider
 * did not process it; the same request may succeed later. `unknown`: it may have been executed;
 * check before you repeat or refund it.
 */
export type RequestOutcome = "done" | "rejected" | "not done" | "unknown"

/** 408 Request Timeout, 409 Conflict, 425 Too Early: the request may have been executed. */
const UNKNOWN_OUTCOME_STATUSES: ReadonlySet<number> = new Set([408, 409, 425])
const TOO_MANY_REQUESTS = 429
/** Error codes of a connection that was never established. */
const NEVER_SENT_CODES: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"])

/** The outcome of an HTTP request. A read changes nothing, so it is never unknown. */
export function httpOutcome(method: string, status: number): RequestOutcome {
  const isRead = method === "GET" || method === "HEAD"
  if (status >= 200 && status < 300) return "done"
  if (status === TOO_MANY_REQUESTS) return "not done"
  if (isRead) {
    const isLater = status === 408 || status === 425 || status >= 500
    return isLater ? "not done" : "rejected"
  }
  return status >= 400 && status < 500 && !UNKNOWN_OUTCOME_STATUSES.has(status)
    ? "rejected"
    : "unknown"
}

/** The outcome of a command to a mail server, by its reply code (RFC 5321, 4.2.1). */
export function smtpOutcome(replyCode: number): RequestOutcome {
  if (replyCode >= 200 && replyCode < 300) return "done"
  if (replyCode >= 400 && replyCode < 500) return "not done"
  if (replyCode >= 500 && replyCode < 600) return "rejected"
  return "unknown"
}

/** Whether the code of a system error means that the connection was never established. */
export function isNeverSentCode(code: unknown): boolean {
  return NEVER_SENT_CODES.has(code)
}

/**
 * The error of an exchange that broke. The provider did nothing if the connection was never
 * established; otherwise the outcome is unknown.
 *
 * @param provider as a sentence calls it: `Telnyx`
 * @param error the error that `fetch` threw, with the system error as its cause
 */
export function brokenExchangeError(
  provider: string,
  error: unknown,
): ProviderUnavailable | ProviderOutcomeUnknown {
  const cause = (error as { readonly cause?: { readonly code?: unknown } }).cause
  return isNeverSentCode(cause?.code)
    ? new ProviderUnavailable(`${provider} cannot be reached`, { cause: error })
    : new ProviderOutcomeUnknown(`${provider} did not answer`, { cause: error })
}
