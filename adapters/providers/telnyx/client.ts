/**
 * A client of the Telnyx API: JSON over HTTPS with a key. A refusal is returned; the errors of any
 * provider are thrown.
 */
import { requestJson } from "../json-request.ts"
import type { z } from "zod"
import { ProviderOutcomeUnknown, ProviderUnavailable } from "../provider-errors.ts"

const TIMEOUT_MS = 8_000
const MAX_BYTES = 4_000_000
const MAX_REASONS = 10
const MAX_REASON_LENGTH = 500
/** Too many requests or a full queue: Telnyx did not process the request. */
const NOT_PROCESSED_CODES: ReadonlySet<string> = new Set(["10011", "40318", "90103"])

/** How to reach Telnyx. */
interface TelnyxSettings {
  readonly key: string
  /** With the version in its path: `https://api.telnyx.com/v2`. */
  readonly url: string
}

export interface TelnyxRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
  /** Without the version; variable parts are URL-encoded: `/messages`. */
  readonly path: string
  /** For example `filter[record_type]`. */
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
}

type TelnyxAnswer =
  | {
      readonly outcome: "done"
      /** The response body, mostly with its `data`; undefined if it is not JSON. */
      readonly value: unknown
    }
  | {
      readonly outcome: "refused"
      readonly status: number
      /** The first error code, such as `40300`; null if there is none. */
      readonly code: string | null
      /** The reasons in Telnyx's words; may be empty. */
      readonly reasons: readonly string[]
    }

export interface TelnyxClient {
  /**
   * Sends one request; redirects are not followed.
   *
   * @throws ProviderUnavailable if nothing was done: Telnyx was not reached, or did not process it
   * @throws ProviderOutcomeUnknown if it may have been executed (`request-outcome.ts`), or after
   * eight seconds without an answer
   */
  readonly request: (call: TelnyxRequest) => Promise<TelnyxAnswer>
}

/**
 * Opens the client. It connects on the first request; requests throw ProviderUnavailable and
 * ProviderOutcomeUnknown.
 */
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

/** Whether Telnyx says that it did not process a request; the same request may succeed later. */
function isNotDone(value: unknown): boolean {
  const code = firstErrorCode(value)
  return code !== null && NOT_PROCESSED_CODES.has(code)
}

function errorsOf(value: unknown): readonly { readonly [name: string]: unknown }[] {
  const errors = (value as { readonly errors?: unknown } | null | undefined)?.errors
  if (!Array.isArray(errors)) return []
  return errors.filter((one) => typeof one === "object" && one !== null)
}

/** The first error code of an answer; Telnyx sends it as a string of digits or as a number. */
function firstErrorCode(value: unknown): string | null {
  const code = errorsOf(value)[0]?.["code"]
  return typeof code === "string" || typeof code === "number" ? String(code) : null
}

/** The reasons of an answer's errors, each cut to the maximum length. */
function reasonsOf(value: unknown): readonly string[] {
  return errorsOf(value)
    .flatMap(({ detail, title }) => [detail, title].find((one) => typeof one === "string") ?? [])
    .map((reason) => String(reason).slice(0, MAX_REASON_LENGTH))
    .slice(0, MAX_REASONS)
}

/** The account may not do this now; the status says nothing about the request's content. */
const ACCOUNT_STATUSES: ReadonlySet<number> = new Set([401, 402, 403])

export type TelnyxRefusal = Extract<TelnyxAnswer, { readonly outcome: "refused" }>

/**
 * Whether a refusal is about the account, not about the request: the key, the funds or the URL are
 * wrong, which an operator can fix.
 */
export function isAccountRefusal({ status }: TelnyxRefusal): boolean {
  return ACCOUNT_STATUSES.has(status) || status < 400
}

/** The error for a refusal that says nothing about the request: nothing was done. */
export function telnyxUnavailable(
  request: string,
  { status, code }: TelnyxRefusal,
): ProviderUnavailable {
  const suffix = code === null ? "" : ` with ${code}`
  return new ProviderUnavailable(`Telnyx answered ${status}${suffix} to ${request}`)
}

/**
 * Parses an answer of Telnyx.
 *
 * @throws ProviderOutcomeUnknown if the answer does not match the schema
 */
export function parseTelnyxAnswer<T>(schema: z.ZodType<T>, value: unknown): T {
  const read = schema.safeParse(value)
  if (!read.success)
    throw new ProviderOutcomeUnknown("Telnyx's answer does not have the expected form")
  return read.data
}
