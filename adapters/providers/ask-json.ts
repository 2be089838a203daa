/** Asking a provider over HTTP for JSON, with bounds on its time and on what it sends. */
import { brokenExchange, httpOutcome } from "./outcome.ts"
import { ProviderSilent, ProviderUnavailable, isOutside } from "./outside.ts"

const WITHIN_MS = 5_000
const MOST_BYTES = 1_000_000

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
  readonly withinMs?: number
  /** The longest answer that is read, bytes; default 1,000,000. */
  readonly mostBytes?: number
  /** Whether the vendor says by this JSON that it did nothing, whatever the status. */
  readonly isNotDone?: (value: unknown) => boolean
  /** Statuses that the vendor documents as an answer, though the rule would call them unknown. */
  readonly answers?: readonly number[]
}

/** What was answered; `value` is undefined where it is no JSON. */
export interface JsonAnswer {
  /** `rejected`: the provider did nothing because of what it was asked. */
  readonly outcome: "done" | "rejected"
  readonly status: number
  readonly value: unknown
}

/**
 * Asks, once. A redirect is not followed.
 *
 * @throws ProviderUnavailable where nothing was done: it was not reached, or the rule of `outcome.ts` says so
 * @throws ProviderSilent where it may have been done: another status of that rule, no answer in time, or a longer
 *   one than is read
 */
export async function askJson(request: JsonRequest): Promise<JsonAnswer> {
  const { provider, url, body, method = body === undefined ? "GET" : "POST" } = request
  const { headers = {}, withinMs = WITHIN_MS } = request
  const sent =
    body === undefined
      ? { headers }
      : {
          headers: { ...headers, "content-type": "application/json" },
          body: JSON.stringify(body),
        }
  try {
    const signal = AbortSignal.timeout(withinMs)
    const response = await fetch(url, { ...sent, method, redirect: "manual", signal })
    return await answerIn(request, method, response)
  } catch (error) {
    throw isOutside(error) ? error : brokenExchange(provider, error)
  }
}

/** @throws ProviderUnavailable, ProviderSilent */
async function answerIn(
  { provider, answers = [], isNotDone, mostBytes = MOST_BYTES }: JsonRequest,
  method: string,
  response: Response,
): Promise<JsonAnswer> {
  const { status } = response
  const byRule = httpOutcome(method, status)
  const outcome = byRule !== "done" && answers.includes(status) ? "rejected" : byRule
  const says = `${provider} answered ${status}`
  // Of an unknown outcome the vendor's own words may say more.
  const isRead = outcome !== "not done" && (outcome !== "unknown" || isNotDone !== undefined)
  const value = isRead ? jsonIn(await textOf(response, provider, mostBytes)) : undefined
  if (!isRead) await response.body?.cancel()
  if (outcome === "not done" || (outcome !== "done" && isNotDone?.(value) === true)) {
    throw new ProviderUnavailable(says)
  }
  if (outcome === "unknown") throw new ProviderSilent(says)
  return { outcome, status, value }
}

/** The text of an answer, as long as it may be. */
async function textOf({ body }: Response, provider: string, mostBytes: number): Promise<string> {
  const pieces: Uint8Array[] = []
  let length = 0
  // Leaving the loop early cancels what still comes.
  for await (const piece of body ?? []) {
    length += piece.length
    if (length > mostBytes) {
      throw new ProviderSilent(`${provider} sent more than ${mostBytes / 1_000_000} MB`)
    }
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
