/**
 * Asking Telnyx: JSON over HTTPS with a key. What is refused is an answer; what was not done, or may have
 * been done, is thrown as what any provider can do.
 */
import { jsonIn } from "../ask-json.ts"
import { ProviderSilent, ProviderUnavailable, isOutside } from "../outside.ts"

const WITHIN_MS = 8_000
const MOST_BYTES = 4_000_000
const MOST_REASONS = 10
const LONGEST_REASON = 500
/** Faults of a connection that was never made. */
const NEVER_SENT: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"])
/** Said of a call that was not looked at: too many of them, or a queue that is full. */
const NOT_LOOKED_AT: ReadonlySet<string> = new Set(["10011", "40318", "90103"])
/** A gateway says these, and does not know what became of what it passed on. */
const OF_GATEWAYS: ReadonlySet<number> = new Set([502, 504])

/** How Telnyx is reached. */
export interface TelnyxSettings {
  readonly key: string
  /** With the version in its path: `https://api.telnyx.com/v2`. */
  readonly url: string
}

/** What is asked of Telnyx. */
export interface TelnyxCall {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /** Behind the version, its variable parts encoded: `/messages`. */
  readonly path: string
  /** Such as `filter[record_type]`. */
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
}

/** What Telnyx answered. */
export type TelnyxAnswer =
  | {
      readonly is: "done"
      /** The whole of the answer, mostly with its `data`; undefined where there was no JSON. */
      readonly value: unknown
    }
  | {
      readonly is: "refused"
      readonly status: number
      /** The first of its error codes, such as `40300`; null where it named none. */
      readonly code: string | null
      /** Why, in its words; none where it said none. */
      readonly reasons: readonly string[]
    }

/** Asks Telnyx, once. */
export interface Telnyx {
  /**
   * A redirect is an answer, and is not followed.
   *
   * @throws ProviderUnavailable where nothing was done: it was not reached, or would not look at it
   * @throws ProviderSilent where it may have been done: no answer in eight seconds, or more than it may be
   */
  readonly ask: (call: TelnyxCall) => Promise<TelnyxAnswer>
}

/** Opens the client. It calls nobody by itself; its calls throw ProviderUnavailable and ProviderSilent. */
export function openTelnyx({ key, url }: TelnyxSettings): Telnyx {
  const base = url.replace(/\/+$/, "")
  return {
    ask: async (call) => {
      try {
        return await answered(`${base}${call.path}`, key, call)
      } catch (error) {
        if (isOutside(error)) throw error
        const cause = (error as { readonly cause?: { readonly code?: unknown } }).cause
        if (NEVER_SENT.has(cause?.code)) {
          throw new ProviderUnavailable("Telnyx cannot be reached", { cause: error })
        }
        throw new ProviderSilent("Telnyx gave no answer", { cause: error })
      }
    },
  }
}

async function answered(address: string, key: string, call: TelnyxCall): Promise<TelnyxAnswer> {
  const { method, query = {}, body } = call
  const url = new URL(address)
  for (const [name, value] of Object.entries(query)) url.searchParams.append(name, value)
  const headers = { authorization: `Bearer ${key}`, accept: "application/json" }
  const response = await fetch(url, {
    method,
    redirect: "manual",
    signal: AbortSignal.timeout(WITHIN_MS),
    headers: body === undefined ? headers : { ...headers, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const { status } = response
  if (status === 429 || status >= 500) {
    await response.body?.cancel()
    const says = `Telnyx answered ${status}`
    if (method !== "GET" && OF_GATEWAYS.has(status)) throw new ProviderSilent(says)
    throw new ProviderUnavailable(says)
  }
  const value = jsonIn(await textOf(response))
  if (response.ok) return { is: "done", value }
  const code = codeIn(value)
  if (code !== null && NOT_LOOKED_AT.has(code)) {
    throw new ProviderUnavailable(`Telnyx answered ${status} with ${code}`)
  }
  return { is: "refused", status, code, reasons: reasonsIn(value) }
}

/** The errors of an answer. */
function errorsIn(value: unknown): readonly { readonly [name: string]: unknown }[] {
  const errors = (value as { readonly errors?: unknown } | null | undefined)?.errors
  if (!Array.isArray(errors)) return []
  return errors.filter((one) => typeof one === "object" && one !== null)
}

/** The first error code of an answer; it is a text of digits, or a number. */
function codeIn(value: unknown): string | null {
  const code = errorsIn(value)[0]?.["code"]
  return typeof code === "string" || typeof code === "number" ? String(code) : null
}

/** What an answer says of its errors, each as long as a sentence may be. */
function reasonsIn(value: unknown): readonly string[] {
  return errorsIn(value)
    .flatMap(({ detail, title }) => [detail, title].find((one) => typeof one === "string") ?? [])
    .map((reason) => String(reason).slice(0, LONGEST_REASON))
    .slice(0, MOST_REASONS)
}

/** The text of an answer, as long as it may be. */
async function textOf({ body }: Response): Promise<string> {
  const pieces: Uint8Array[] = []
  let length = 0
  // Leaving the loop early cancels what still comes.
  for await (const piece of body ?? []) {
    length += piece.length
    if (length > MOST_BYTES) throw new ProviderSilent("Telnyx sent more than four megabytes")
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}
