/**
 * Asking Telnyx: JSON over HTTPS with a key. What is refused is an answer; what was not done, or may have
 * been done, is thrown as what any provider can do.
 */
import { askJson } from "../ask-json.ts"
import type { z } from "zod"
import { ProviderSilent, ProviderUnavailable } from "../outside.ts"

const WITHIN_MS = 8_000
const MOST_BYTES = 4_000_000
const MOST_REASONS = 10
const LONGEST_REASON = 500
/** Said of a call that was not looked at: too many of them, or a queue that is full. */
const NOT_LOOKED_AT: ReadonlySet<string> = new Set(["10011", "40318", "90103"])

/** How Telnyx is reached. */
interface TelnyxSettings {
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
type TelnyxAnswer =
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
   * A redirect is not followed.
   *
   * @throws ProviderUnavailable where nothing was done: it was not reached, or would not look at it
   * @throws ProviderSilent where it may have been done (`outcome.ts`), and where no answer came in eight seconds
   */
  readonly ask: (call: TelnyxCall) => Promise<TelnyxAnswer>
}

/** Opens the client. It calls nobody by itself; its calls throw ProviderUnavailable and ProviderSilent. */
export function openTelnyx({ key, url }: TelnyxSettings): Telnyx {
  const base = url.replace(/\/+$/, "")
  const headers = { authorization: `Bearer ${key}`, accept: "application/json" }
  return {
    ask: async ({ method, path, query = {}, body }) => {
      const address = new URL(`${base}${path}`)
      for (const [name, value] of Object.entries(query)) address.searchParams.append(name, value)
      const { outcome, status, value } = await askJson({
        provider: "Telnyx",
        url: address,
        method,
        headers,
        ...(body === undefined ? {} : { body }),
        withinMs: WITHIN_MS,
        mostBytes: MOST_BYTES,
        isNotDone,
      })
      if (outcome === "done") return { is: "done", value }
      return { is: "refused", status, code: codeIn(value), reasons: reasonsIn(value) }
    },
  }
}

/** Whether Telnyx says that it did not look at a call: the same again may work. */
function isNotDone(value: unknown): boolean {
  const code = codeIn(value)
  return code !== null && NOT_LOOKED_AT.has(code)
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

/** Whoever hears these has no account that may do this just now: it is no answer about a thing. */
const OF_THE_ACCOUNT: ReadonlySet<number> = new Set([401, 402, 403])

/** A refusal. */
export type Refused = Extract<TelnyxAnswer, { readonly is: "refused" }>

/**
 * Whether a refusal of this status says nothing of what was asked: the key, the funds or the address are
 * wrong, which an operator can mend.
 */
export function isOfAccount({ status }: Refused): boolean {
  return OF_THE_ACCOUNT.has(status) || status < 400
}

/** What is thrown where a refusal is no answer: nothing was done. */
export function notDone(what: string, { status, code }: Refused): ProviderUnavailable {
  const named = code === null ? "" : ` with ${code}`
  return new ProviderUnavailable(`Telnyx answered ${status}${named} to ${what}`)
}

/**
 * The parts of an answer that are read.
 *
 * @throws ProviderSilent where it has another form: whoever cannot read an answer has none
 */
export function readAs<T>(schema: z.ZodType<T>, value: unknown): T {
  const read = schema.safeParse(value)
  if (!read.success) throw new ProviderSilent("Telnyx answered what nobody can read")
  return read.data
}
