/** The errors that every provider can throw in addition to the answers of its port. */
import type { Pacer } from "../machine/clock/port.ts"

/** Used where a caller gives no timeout. */
const DEFAULT_TIMEOUT_MS = 10_000

/** A provider did nothing and said so; the same request may succeed later. */
export class ProviderUnavailable extends Error {
  override readonly name: string = "ProviderUnavailable"
}

/**
 * A provider did nothing because its account, or our settings for it, do not allow the request. An
 * operator has to fix that; the message says what the provider objects to.
 */
export class ProviderMisconfigured extends ProviderUnavailable {
  override readonly name = "ProviderMisconfigured"
}

/**
 * A provider did not answer, so the request may have been executed. Check its status before you
 * repeat it, unless the port says that the call is idempotent.
 */
export class ProviderOutcomeUnknown extends Error {
  override readonly name = "ProviderOutcomeUnknown"
}

/** Whether the provider was unavailable, misconfigured or silent; other errors are faults of this program. */
export function isProviderError(
  error: unknown,
): error is ProviderUnavailable | ProviderOutcomeUnknown {
  return error instanceof ProviderUnavailable || error instanceof ProviderOutcomeUnknown
}

/**
 * Runs the steps that follow a request which a provider accepted. If a step fails, the outcome is
 * unknown: the accepted part is not undone.
 *
 * @param provider as a sentence calls it: `the carrier`
 * @throws ProviderOutcomeUnknown instead of ProviderUnavailable; other errors unchanged
 */
export async function withUnknownOutcome<T>(
  provider: string,
  follow: () => Promise<T>,
): Promise<T> {
  try {
    return await follow()
  } catch (error) {
    if (!(error instanceof ProviderUnavailable)) throw error
    throw new ProviderOutcomeUnknown(`${provider} accepted part of the request; the rest failed`, {
      cause: error,
    })
  }
}

/**
 * Waits for a provider's answer, by default ten seconds.
 *
 * @param provider as a sentence calls it: `the carrier`
 * @param withinMs timeout, milliseconds
 * @throws ProviderOutcomeUnknown after the timeout; errors of the provider
 */
export async function withProviderTimeout<T>(
  pacer: Pacer,
  provider: string,
  answer: Promise<T>,
  withinMs: number = DEFAULT_TIMEOUT_MS,
): Promise<T> {
  const answered = new AbortController()
  const late = Promise.withResolvers<never>()
  void pacer.pause(withinMs, answered.signal).then(() => {
    if (answered.signal.aborted) return
    late.reject(new ProviderOutcomeUnknown(`${provider} did not answer within ${withinMs} ms`))
  })
  try {
    return await Promise.race([answer, late.promise])
  } finally {
    answered.abort()
  }
}

/**
 * Waits for a provider's answer to a status check. Null if it is unavailable or does not answer in
 * time; check again later.
 */
export async function providerResultOrNull<T>(
  pacer: Pacer,
  provider: string,
  answer: Promise<T>,
  withinMs: number = DEFAULT_TIMEOUT_MS,
): Promise<T | null> {
  try {
    return await withProviderTimeout(pacer, provider, answer, withinMs)
  } catch (error) {
    if (isProviderError(error)) return null
    throw error
  }
}
