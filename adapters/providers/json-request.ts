/** Asking a provider over HTTP for JSON, with bounds on its time and on what it sends. */
import { brokenExchangeError, httpOutcome } from "./request-outcome.ts"
import { ProviderOutcomeUnknown, ProviderUnavailable, isProviderError } from "./provider-errors.ts"

const DEFAULT_TIMEOUT_MS = 5_000
const DEFAULT_MAX_BYTES = 1_000_000

/** What is asked. */
export interface JsonRequest {
  /** As sentences call it: `Google Places`. */
  readonly provider: string
  readonly url: URL
  /** Default POST with a body, GET without one. */
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: object
  /** How long the provider may take, milliseconds; default 5,000. */
  readonly timeoutMs?: number
  /** The longest answer that is read, bytes; default 1,000,000. */
  readonly maxBytes?: number
  /** Whether the vendor says by this JSON that it did nothing, whatever the status. */
  readonly isKnownNotDone?: (value: unknown) => boolean
  /** Statuses that the vendor documents as an answer, though the rule would call them unknown. */
  readonly definitiveStatuses?: readonly number[]
}

/** What was answered; `value` is undefined where it is no JSON. */
export interface JsonResponse {
  /** `rejected`: the provider did nothing because of what it was asked. */
  readonly outcome: "done" | "rejected"
  readonly status: number
  readonly value: unknown
}

/**
 * Asks, once. A redirect is not followed.
 *
 * @throws ProviderUnavailable where nothing was done: it was not reached, or the rule of `outcome.ts` says so
 * @throws ProviderOutcomeUnknown where it may have been done: another status of that rule, no answer in time, or a longer
 *   one than is read
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
  const says = `${provider} answered ${status}`
  // Of an unknown outcome the vendor's own words may say more.
  const isRead = outcome !== "not done" && (outcome !== "unknown" || isKnownNotDone !== undefined)
  const value = isRead
    ? parseJsonOrUndefined(await readText(response, provider, maxBytes))
    : undefined
  if (!isRead) await response.body?.cancel()
  if (outcome === "not done" || (outcome !== "done" && isKnownNotDone?.(value) === true)) {
    throw new ProviderUnavailable(says)
  }
  if (outcome === "unknown") throw new ProviderOutcomeUnknown(says)
  return { outcome, status, value }
}

/** The text of an answer, as long as it may be. */
async function readText({ body }: Response, provider: string, mostBytes: number): Promise<string> {
  const pieces: Uint8Array[] = []
  let length = 0
  // Leaving the loop early cancels what still comes.
  for await (const piece of body ?? []) {
    length += piece.length
    if (length > mostBytes) {
      throw new ProviderOutcomeUnknown(`${provider} sent more than ${mostBytes / 1_000_000} MB`)
    }
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

/** The value of JSON; undefined where a text is none. */
export function parseJsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
