/**
 * Public forms: which pages may send them, and how robots are detected. Robots get the same answer as people, but
 * nothing they send is stored; the metrics count them.
 */
import type { RawRequest } from "./route.ts"
import { headerValue, hasPlainUtf8Body, parseJsonBody } from "../api-call.ts"
import type { Ports } from "../../ports.ts"
import type { Refusal } from "../answers/refusal.ts"
import { refusal } from "../answers/refusal.ts"
import { bodyRefusal } from "../checks/7-values.ts"

declare module "../../counters.ts" {
  interface CounterLabels {
    /** Forms that robots sent. */
    readonly robots: "reason"
  }
}

/** A field that people do not see and robots fill in. */
export const HONEYPOT_FIELD = "website_url"
/** Signed time at which a hosted page was made. */
export const PAGE_TIME_FIELD = "_time"

/** People need longer than this to fill in a form. */
const TOO_QUICK_MS = 2_000

/**
 * Signs the time at which a hosted page was made, so that it cannot be forged.
 *
 * @param form the page's form, unique in the installation
 */
export function signPageTime(
  { sealing, clock }: Pick<Ports, "sealing" | "clock">,
  form: string,
  at: number = clock.now(),
): string {
  const time = at.toString(36)
  return `${time}-${sealing.installationTag(`form page ${form} ${time}`)}`
}

/**
 * Returns the signal that a robot sent the form; null if there is none. `unsigned` means that the form has no
 * page time, as on pages of other sites.
 */
export function robotSignal(
  ports: Pick<Ports, "sealing" | "clock">,
  form: string,
  values: ReadonlyMap<string, string>,
): "honeypot" | "quick" | "unsigned" | null {
  if ((values.get(HONEYPOT_FIELD) ?? "") !== "") return "honeypot"
  const time = values.get(PAGE_TIME_FIELD) ?? ""
  const at = Number.parseInt(/^[0-9a-z]{1,9}-/.exec(time)?.[0] ?? "", 36)
  if (Number.isNaN(at) || time !== signPageTime(ports, form, at)) return "unsigned"
  return ports.clock.now() - at < TOO_QUICK_MS ? "quick" : null
}

/**
 * Whether a page may send this request: a page of this service, of the same host, of one of these host names, or
 * one without an origin, as programs and privacy-minded browsers send.
 */
export function isAllowedOrigin(
  { baseUrl }: Pick<Ports, "baseUrl">,
  sent: RawRequest,
  hostnames: readonly string[] = [],
): boolean {
  const header = headerValue(sent, "origin") ?? "null"
  if (header === "null") return true
  const origin = URL.parse(header)
  if (origin === null) return false
  const own = URL.parse(baseUrl())
  const isOwn = origin.host === own?.host || origin.host === headerValue(sent, "host")
  return isOwn || hostnames.includes(origin.hostname)
}

/** HTML of the field that people do not see. @param attribute hides it */
export const honeypotHtml = (attribute: string): string =>
  `<label ${attribute} aria-hidden="true">Leave this empty ` +
  `<input name="${HONEYPOT_FIELD}" tabindex="-1" autocomplete="off"></label>`

const URLENCODED = "application/x-www-form-urlencoded"

/** Whether a browser sent the request: a form, or a request that accepts pages. */
export function isBrowserRequest(sent: Pick<RawRequest, "headers">): boolean {
  return (
    hasPlainUtf8Body(sent, URLENCODED) || (headerValue(sent, "accept") ?? "").includes("text/html")
  )
}

export interface SubmittedForm {
  /** Whether a browser sent it, so that people see the answer. */
  readonly isFromBrowser: boolean
  /** Values by name. In a map, `__proto__` and `constructor` are names like any others. */
  readonly values: ReadonlyMap<string, string>
}

/**
 * Parses a form from a body. The first of several values of a name counts; invalid UTF-8 becomes U+FFFD. JSON
 * values are texts, numbers, true, false and null (as if absent).
 */
export function parseForm(
  sent: Pick<RawRequest, "headers">,
  bytes: Uint8Array,
): SubmittedForm | { readonly refusal: Refusal } {
  if (hasPlainUtf8Body(sent, URLENCODED)) {
    const values = new Map<string, string>()
    for (const [name, value] of new URLSearchParams(Buffer.from(bytes).toString())) {
      if (!values.has(name)) values.set(name, value)
    }
    return { isFromBrowser: true, values }
  }
  const body = parseJsonBody(sent, bytes)
  if (bodyRefusal(body)?.error === "unsupported_media_type") {
    const message = `The body must be ${URLENCODED} or application/json, in UTF-8, uncompressed.`
    return { refusal: refusal("unsupported_media_type", message) }
  }
  const fault = bodyRefusal(body)
  if (fault !== null) return { refusal: fault }
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    return invalidFormRefusal("The body must be an object.")
  }
  const values = new Map<string, string>()
  for (const [name, value] of Object.entries(body) as [string, unknown][]) {
    if (value === null) continue
    // Names are not repeated in messages: they come from the sender.
    if (typeof value === "object")
      return invalidFormRefusal("Each value must be text, a number or a flag.")
    values.set(name, String(value))
  }
  return { isFromBrowser: false, values }
}

function invalidFormRefusal(why: string): { readonly refusal: Refusal } {
  return {
    refusal: refusal("validation", `The request is not valid: ${why}`, { fields: { body: why } }),
  }
}
