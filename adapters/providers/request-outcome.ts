/**
 * The one rule that says what became of a request to a provider. Every client uses it, so that no adapter decides
 * by itself whether something may be repeated or refunded.
 */
import { ProviderOutcomeUnknown, ProviderUnavailable } from "./provider-errors.ts"

/**
 * What became of a request. `rejected`: the provider looked at it and did nothing. `not done`: it did not look at it;
 * the same request may work later. `unknown`: it may have been done; check before it is repeated or refunded.
 */
export type RequestOutcome = "done" | "rejected" | "not done" | "unknown"

/** A request that was too early, or that the provider gave up on, or that met another one: it may have been done. */
const UNKNOWN_OUTCOME_STATUSES: ReadonlySet<number> = new Set([408, 409, 425])
const TOO_MANY_REQUESTS = 429
/** Faults of a connection that was never made. */
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

/** The outcome of a command to a server of mail, by its reply code (RFC 5321, 4.2.1). */
export function smtpOutcome(replyCode: number): RequestOutcome {
  if (replyCode >= 200 && replyCode < 300) return "done"
  if (replyCode >= 400 && replyCode < 500) return "not done"
  if (replyCode >= 500 && replyCode < 600) return "rejected"
  return "unknown"
}

/** Whether the connection was never made, by the code of a system error. */
export function isNeverSentCode(code: unknown): boolean {
  return NEVER_SENT_CODES.has(code)
}

/**
 * The error of an exchange that broke: the provider did nothing where the connection was never made; anything else
 * leaves the outcome unknown.
 *
 * @param provider as sentences call it: `Telnyx`
 * @param error what `fetch` threw, with the system error as its cause
 */
export function brokenExchangeError(
  provider: string,
  error: unknown,
): ProviderUnavailable | ProviderOutcomeUnknown {
  const cause = (error as { readonly cause?: { readonly code?: unknown } }).cause
  return isNeverSentCode(cause?.code)
    ? new ProviderUnavailable(`${provider} cannot be reached`, { cause: error })
    : new ProviderOutcomeUnknown(`${provider} gave no answer`, { cause: error })
}
