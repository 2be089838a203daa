/**
 * Asking Telnyx: JSON over HTTPS with a key. What is refused is an answer; what was not done, or may have
 * been done, is thrown as what any provider can do.
 */
import { requestJson } from "../json-request.ts"
import type { z } from "zod"
import { ProviderOutcomeUnknown, ProviderUnavailable } from "../provider-errors.ts"

const TIMEOUT_MS = 8_000
const MAX_BYTES = 4_000_000
const MAX_REASONS = 10
const MAX_REASON_LENGTH = 500
/** Said of a call that was not looked at: too many of them, or a queue that is full. */
const NOT_PROCESSED_CODES: ReadonlySet<string> = new Set(["10011", "40318", "90103"])

/** How Telnyx is reached. */
interface TelnyxSettings {
  readonly key: string
  /** With the version in its path: `https://api.telnyx.com/v2`. */
  readonly url: string
}

/** What is asked of Telnyx. */
export interface TelnyxRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /** Behind the version, its variable parts encoded: `/messages`. */
  readonly path: string
  /** Such as `filter[record_type]`. */
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
}

/** What Telnyx answered. */
type TelnyxAnswer =
  | {
      readonly outcome: "done"
      /** The whole of the answer, mostly with its `data`; undefined where there was no JSON. */
      readonly value: unknown
    }
  | {
      readonly outcome: "refused"
      readonly status: number
      /** The first of its error codes, such as `40300`; null where it named none. */
      readonly code: string | null
      /** Why, in its words; none where it said none. */
      readonly reasons: readonly string[]
    }

/** Asks Telnyx, once. */
export interface TelnyxClient {
  /**
   * A redirect is not followed.
   *
   * @throws ProviderUnavailable where nothing was done: it was not reached, or would not look at it
   * @throws ProviderOutcomeUnknown where it may have been done (`outcome.ts`), and where no answer came in eight seconds
   */
  readonly request: (call: TelnyxRequest) => Promise<TelnyxAnswer>
}

/** Opens the client. It calls nobody by itself; its calls throw ProviderUnavailable and ProviderOutcomeUnknown. */
export function openTelnyxClient({ key, url }: TelnyxSettings): TelnyxClient {
  const base = url.replace(/\/+$/, "")
  const headers = { authorization: `Bearer ${key}`, accept: "application/json" }
  return {
    request: async ({ method, path, query = {}, body }) => {
      const address = new URL(`${base}${path}`)
      for (const [name, value] of Object.entries(query)) address.searchParams.append(name, value)
      const { outcome, status, value } = await requestJson({
        provider: "Telnyx",
        url: address,
        method,
        headers,
        ...(body === undefined ? {} : { body }),
        timeoutMs: TIMEOUT_MS,
        maxBytes: MAX_BYTES,
        isKnownNotDone: isNotDone,
      })
      if (outcome === "done") return { outcome: "done", value }
      return { outcome: "refused", status, code: firstErrorCode(value), reasons: reasonsOf(value) }
    },
  }
}

/** Whether Telnyx says that it did not look at a call: the same again may work. */
function isNotDone(value: unknown): boolean {
  const code = firstErrorCode(value)
  return code !== null && NOT_PROCESSED_CODES.has(code)
}

/** The errors of an answer. */
function errorsOf(value: unknown): readonly { readonly [name: string]: unknown }[] {
  const errors = (value as { readonly errors?: unknown } | null | undefined)?.errors
  if (!Array.isArray(errors)) return []
  return errors.filter((one) => typeof one === "object" && one !== null)
}

/** The first error code of an answer; it is a text of digits, or a number. */
function firstErrorCode(value: unknown): string | null {
  const code = errorsOf(value)[0]?.["code"]
  return typeof code === "string" || typeof code === "number" ? String(code) : null
}

/** What an answer says of its errors, each as long as a sentence may be. */
function reasonsOf(value: unknown): readonly string[] {
  return errorsOf(value)
    .flatMap(({ detail, title }) => [detail, title].find((one) => typeof one === "string") ?? [])
    .map((reason) => String(reason).slice(0, MAX_REASON_LENGTH))
    .slice(0, MAX_REASONS)
}

/** Whoever hears these has no account that may do this just now: it is no answer about a thing. */
const ACCOUNT_STATUSES: ReadonlySet<number> = new Set([401, 402, 403])

/** A refusal. */
export type TelnyxRefusal = Extract<TelnyxAnswer, { readonly outcome: "refused" }>

/**
 * Whether a refusal of this status says nothing of what was asked: the key, the funds or the address are
 * wrong, which an operator can mend.
 */
export function isAccountRefusal({ status }: TelnyxRefusal): boolean {
  return ACCOUNT_STATUSES.has(status) || status < 400
}

/** What is thrown where a refusal is no answer: nothing was done. */
export function telnyxUnavailable(
  what: string,
  { status, code }: TelnyxRefusal,
): ProviderUnavailable {
  const named = code === null ? "" : ` with ${code}`
  return new ProviderUnavailable(`Telnyx answered ${status}${named} to ${what}`)
}

/**
 * The parts of an answer that are read.
 *
 * @throws ProviderOutcomeUnknown where it has another form: whoever cannot read an answer has none
 */
export function parseTelnyxAnswer<T>(schema: z.ZodType<T>, value: unknown): T {
  const read = schema.safeParse(value)
  if (!read.success) throw new ProviderOutcomeUnknown("Telnyx answered what nobody can read")
  return read.data
}
