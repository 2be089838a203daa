/**
 * What any provider can do beside answering as its port says: refuse to do anything for now, or say
 * nothing. The two are one vocabulary for all of them, for what follows from each is the same.
 */
import type { Pacer } from "../machine/clock/port.ts"

/** A provider's answer has so long where nothing else is said. */
const DEFAULT_TIMEOUT_MS = 10_000

/** A provider did nothing and said so: the same again may work. */
export class ProviderUnavailable extends Error {
  override readonly name: string = "ProviderUnavailable"
}

/**
 * A provider did nothing because its account, or our settings for it, do not allow what was asked: an
 * operator has to fix that. The message says what the provider objects to.
 */
export class ProviderMisconfigured extends ProviderUnavailable {
  override readonly name = "ProviderMisconfigured"
}

/**
 * A provider did not answer: it may have done what it was asked to. Ask what became of it; only where
 * its port says that the same again is one and the same thing may it be done again.
 */
export class ProviderOutcomeUnknown extends Error {
  override readonly name = "ProviderOutcomeUnknown"
}

/** Whether an error says only that a provider does not answer now: nobody did anything wrong. */
export function isProviderError(
  error: unknown,
): error is ProviderUnavailable | ProviderOutcomeUnknown {
  return error instanceof ProviderUnavailable || error instanceof ProviderOutcomeUnknown
}

/**
 * What follows a request that a provider accepted: where that fails, the outcome of the whole is unknown, and never
 * undone.
 *
 * @param provider as a sentence calls it: `the carrier`
 * @throws ProviderOutcomeUnknown in the place of ProviderUnavailable; any other error as it is
 */
export async function withUnknownOutcome<T>(
  provider: string,
  follow: () => Promise<T>,
): Promise<T> {
  try {
    return await follow()
  } catch (error) {
    if (!(error instanceof ProviderUnavailable)) throw error
    throw new ProviderOutcomeUnknown(`${provider} accepted a part of it`, { cause: error })
  }
}

/**
 * A provider's answer, for which there are ten seconds unless said otherwise.
 *
 * @param provider as a sentence calls it: `the carrier`
 * @param withinMs how long it may take, milliseconds
 * @throws ProviderOutcomeUnknown once they are over; what the provider throws
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
    late.reject(new ProviderOutcomeUnknown(`${provider} did not answer in time`))
  })
  try {
    return await Promise.race([answer, late.promise])
  } finally {
    // The timer ends with the question.
    answered.abort()
  }
}

/**
 * What a provider knows of something that it was asked about: null where it does not say so, or not
 * in time. Then it is asked again later.
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
