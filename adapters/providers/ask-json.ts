/** Asking a provider over HTTP for JSON, with bounds on its time and on what it sends. */
import { ProviderSilent, ProviderUnavailable, isOutside } from "./outside.ts"

const WITHIN_MS = 5_000
const MOST_BYTES = 1_000_000
/** Faults of a connection that was never made. */
const NEVER_SENT: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"])

/** What is asked. */
export interface JsonRequest {
  /** As sentences call them: `Google Places`. */
  readonly provider: string
  readonly url: URL
  readonly headers?: Readonly<Record<string, string>>
  /** Sent by POST as JSON; without one it is a GET. */
  readonly body?: object
}

/** What was answered; `value` is undefined where it is no JSON. */
export interface JsonAnswer {
  readonly status: number
  readonly value: unknown
}

/**
 * Asks, once. A redirect is an answer, and is not followed.
 *
 * @throws ProviderUnavailable where it did nothing: it was not reached, or said 429 or 5xx
 * @throws ProviderSilent where it said nothing in five seconds, or more than a megabyte
 */
export async function askJson(request: JsonRequest): Promise<JsonAnswer> {
  const { provider, url, headers = {}, body } = request
  const sent =
    body === undefined
      ? { headers }
      : {
          method: "POST",
          headers: { ...headers, "content-type": "application/json" },
          body: JSON.stringify(body),
        }
  try {
    const signal = AbortSignal.timeout(WITHIN_MS)
    const response = await fetch(url, { ...sent, redirect: "manual", signal })
    const { status } = response
    if (status === 429 || status >= 500) {
      await response.body?.cancel()
      throw new ProviderUnavailable(`${provider} answered ${status}`)
    }
    return { status, value: jsonIn(await textOf(response, provider)) }
  } catch (error) {
    if (isOutside(error)) throw error
    const cause = (error as { readonly cause?: { readonly code?: unknown } }).cause
    if (NEVER_SENT.has(cause?.code)) {
      throw new ProviderUnavailable(`${provider} cannot be reached`, { cause: error })
    }
    throw new ProviderSilent(`${provider} gave no answer`, { cause: error })
  }
}

/** The text of an answer, as long as it may be. */
async function textOf({ body }: Response, provider: string): Promise<string> {
  const pieces: Uint8Array[] = []
  let length = 0
  // Leaving the loop early cancels what still comes.
  for await (const piece of body ?? []) {
    length += piece.length
    if (length > MOST_BYTES) throw new ProviderSilent(`${provider} sent more than a megabyte`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

/** The value of JSON; undefined where a text is none. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
