/**
 * Forms as they are sent, by a browser (`application/x-www-form-urlencoded`) or a program (a JSON object):
 * names and values out of the bytes of a body that was taken as `BYTES`.
 */
import type { AsSent } from "../as-sent.ts"
import { fieldOf } from "../as-sent.ts"
import { isPlain, jsonIn } from "../body.ts"
import type { Refusal } from "../answers/refusal.ts"
import { refusal } from "../answers/refusal.ts"
import { bodyFault } from "../checks/7-values.ts"

const URLENCODED = "application/x-www-form-urlencoded"

/** Whether people in a browser asked: it sent a form, or says that it shows pages. */
export function isBrowser(sent: Pick<AsSent, "headers">): boolean {
  return isPlain(sent, URLENCODED) || (fieldOf(sent, "accept") ?? "").includes("text/html")
}

/** A form that was sent. */
export interface SentForm {
  /** Whether a browser sent it: then people look at the answer. */
  readonly isPage: boolean
  /** Values by their names, as they were sent. `__proto__` and `constructor` are names like others. */
  readonly values: ReadonlyMap<string, string>
}

/**
 * A form out of a body. Of several values of a name the first stands; bytes that are no UTF-8 become
 * U+FFFD. The values of JSON are texts, numbers, true, false and null (as if it was not there).
 */
export function formIn(
  sent: Pick<AsSent, "headers">,
  bytes: Uint8Array,
): SentForm | { readonly refusal: Refusal } {
  if (isPlain(sent, URLENCODED)) {
    const values = new Map<string, string>()
    for (const [name, value] of new URLSearchParams(Buffer.from(bytes).toString())) {
      if (!values.has(name)) values.set(name, value)
    }
    return { isPage: true, values }
  }
  const body = jsonIn(sent, bytes)
  if (bodyFault(body)?.error === "unsupported_media_type") {
    const message = `The body must be ${URLENCODED} or application/json, in UTF-8 and not encoded.`
    return { refusal: refusal("unsupported_media_type", message) }
  }
  const fault = bodyFault(body)
  if (fault !== null) return { refusal: fault }
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    return invalid("The body must be an object.")
  }
  const values = new Map<string, string>()
  for (const [name, value] of Object.entries(body) as [string, unknown][]) {
    if (value === null) continue
    // Names are not told again: they are the sender's words.
    if (typeof value === "object") return invalid("Each value must be text, a number or a flag.")
    values.set(name, String(value))
  }
  return { isPage: false, values }
}

function invalid(why: string): { readonly refusal: Refusal } {
  return {
    refusal: refusal("validation", `The request is not valid: ${why}`, { fields: { body: why } }),
  }
}
