/**
 * Who sends a form that is open to everybody: from which page it may come, and what gives robots away. They
 * are answered like everybody, nothing of what they sent is stored, and the metrics say how many there were.
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

/** Filled by whoever fills all that there is: people do not see it. */
export const HONEYPOT_FIELD = "website_url"
/** When a hosted page was made, signed. */
export const PAGE_TIME_FIELD = "_time"

/** Nobody fills in a form in less. */
const TOO_QUICK_MS = 2_000

/**
 * When a hosted page was made, so that nobody else can say it.
 *
 * @param form what the page is of, unique in the installation
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
 * What gives a robot away, whatever the form asks for: `unsigned` is a form that does not say when its page
 * was made, as those on pages of others are. Null where nothing does.
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
 * Whether the page it comes from may send it: this service's own, that of the host it is sent to, one of
 * these host names, or one that does not say where it is, as programs and browsers that keep it to themselves.
 */
export function isAllowedOrigin(
  { baseUrl }: Pick<Ports, "baseUrl">,
  sent: RawRequest,
  hostnames: readonly string[] = [],
): boolean {
  const said = headerValue(sent, "origin") ?? "null"
  if (said === "null") return true
  const origin = URL.parse(said)
  if (origin === null) return false
  const own = URL.parse(baseUrl())
  const isOwn = origin.host === own?.host || origin.host === headerValue(sent, "host")
  return isOwn || hostnames.includes(origin.hostname)
}

/** HTML of the field that people do not see, in a form. @param attribute what takes it out of sight */
export const honeypotHtml = (attribute: string): string =>
  `<label ${attribute} aria-hidden="true">Leave this empty ` +
  `<input name="${HONEYPOT_FIELD}" tabindex="-1" autocomplete="off"></label>`

const URLENCODED = "application/x-www-form-urlencoded"

/** Whether people in a browser asked: it sent a form, or says that it shows pages. */
export function isBrowserRequest(sent: Pick<RawRequest, "headers">): boolean {
  return (
    hasPlainUtf8Body(sent, URLENCODED) || (headerValue(sent, "accept") ?? "").includes("text/html")
  )
}

/** A form that was sent. */
export interface SubmittedForm {
  /** Whether a browser sent it: then people look at the answer. */
  readonly isFromBrowser: boolean
  /** Values by their names, as they were sent. `__proto__` and `constructor` are names like others. */
  readonly values: ReadonlyMap<string, string>
}

/**
 * A form out of a body. Of several values of a name the first stands; bytes that are no UTF-8 become
 * U+FFFD. The values of JSON are texts, numbers, true, false and null (as if it was not there).
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
    const message = `The body must be ${URLENCODED} or application/json, in UTF-8 and not encoded.`
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
    // Names are not told again: they are the sender's words.
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
