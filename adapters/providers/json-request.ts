/** Sends JSON requests to providers over HTTP, with limits on time and response size. */
import { brokenExchangeError, httpOutcome } from "./request-outcome.ts"
import { ProviderOutcomeUnknown, ProviderUnavailable, isProviderError } from "./provider-errors.ts"

const DEFAULT_TIMEOUT_MS = 5_000
const DEFAULT_MAX_BYTES = 1_000_000

export interface JsonRequest {
  /** As a sentence calls it: `Google Places`. */
  readonly provider: string
  readonly url: URL
  /** Default: POST with a body, GET without one. */
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: object
  /** Timeout, milliseconds; default 5,000. */
  readonly timeoutMs?: number
  /** Longest response that is read, bytes; default 1,000,000. */
  readonly maxBytes?: number
  /** Whether this response of the vendor says that nothing was done, whatever the status. */
  readonly isKnownNotDone?: (value: unknown) => boolean
  /**
   * Statuses that the vendor documents as a definitive answer, although `httpOutcome` would call
   * them unknown.
   */
  readonly definitiveStatuses?: readonly number[]
}

/** The response of a provider; `value` is undefined if the body is not JSON. */
export interface JsonResponse {
  /** `rejected`: the provider did nothing because of the request's content. */
  readonly outcome: "done" | "rejected"
  readonly status: number
  readonly value: unknown
}

/**
 * Sends one request; redirects are not followed.
 *
 * @throws ProviderUnavailable if nothing was done: no connection, or `httpOutcome` says so
 * @throws ProviderOutcomeUnknown if the request may have been executed: another status, a timeout,
 * or a response longer than `maxBytes`
 */
export async function requestJson(request: JsonRequest): Promise<JsonResponse> {
  const { provider, url, body, method = body === undefined ? "GET" : "POST" } = request
  const { headers = {}, timeoutMs = DEFAULT_TIMEOUT_MS } = request
  const sent =
    body === undefined
      ? { headers }
      : {
          headers: { ...headers, "content-type": "application/json" },
          body: JSON.stringify(body),
        }
  try {
    const signal = AbortSignal.timeout(timeoutMs)
    const response = await fetch(url, { ...sent, method, redirect: "manual", signal })
    return await readResponse(request, method, response)
  } catch (error) {
    throw isProviderError(error) ? error : brokenExchangeError(provider, error)
  }
}

/** @throws ProviderUnavailable, ProviderOutcomeUnknown */
async function readResponse(
  { provider, definitiveStatuses = [], isKnownNotDone, maxBytes = DEFAULT_MAX_BYTES }: JsonRequest,
  method: string,
  response: Response,
): Promise<JsonResponse> {
  const { status } = response
  const byRule = httpOutcome(method, status)
  const outcome = byRule !== "done" && definitiveStatuses.includes(status) ? "rejected" : byRule
  const message = `${provider} answered ${status}`
  // For an unknown outcome the body may say that nothing was done.
  const isRead = outcome !== "not done" && (outcome !== "unknown" || isKnownNotDone !== undefined)
  const value = isRead
    ? parseJsonOrUndefined(await readText(response, provider, maxBytes))
    : undefined
  if (!isRead) await response.body?.cancel()
  if (outcome === "not done" || (outcome !== "done" && isKnownNotDone?.(value) === true)) {
    throw new ProviderUnavailable(message)
  }
  if (outcome === "unknown") throw new ProviderOutcomeUnknown(message)
  return { outcome, status, value }
}

async function readText({ body }: Response, provider: string, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  // Leaving the loop early cancels the rest of the stream.
  for await (const chunk of body ?? []) {
    length += chunk.length
    if (length > maxBytes) {
      throw new ProviderOutcomeUnknown(
        `${provider} sent a response longer than ${maxBytes / 1_000_000} MB`,
      )
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** Parses JSON; undefined if the text is not JSON. */
export function parseJsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
