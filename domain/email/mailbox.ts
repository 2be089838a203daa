/**
 * Mailboxes as people write them: `ada@example.com` or `Ada Lovelace <ada@example.com>`. This is the only parser of
 * addresses. It accepts far less than RFC 5322: a text that mail programs read in several ways (groups, comments,
 * routes, two addresses) would reach recipients who were neither meant nor paid for.
 */

/** A parsed mailbox. */
export interface Mailbox {
  /** Null if there is only an address. */
  readonly name: string | null
  /** The local part as written, and the domain in lowercase punycode. */
  readonly address: string
  /** The domain of the address. */
  readonly domain: string
}

/** Converts a domain of any alphabet to ASCII; returns `""` if it is invalid. */
export type DomainToAscii = (domain: string) => string

const MAX_NAME = 200
const MAX_LOCAL = 64
const MAX_DOMAIN = 253
const MAX_ADDRESS = 254

/** `Name <address>`, with an optionally quoted name. */
const NAMED = /^(?<name>[^<>]*?) *<(?<address>[^<>]*)>$/u
const QUOTED = /^"(?<text>(?:[^"\\]|\\["\\])*)"$/u
/** Characters of an unquoted name that have a meaning to mail programs. */
const SPECIAL = /["(),:;<>@[\\\]]/u
/** Control characters, line and paragraph separators, and characters that change text direction. */
const INVISIBLE = /[\p{Cc}\p{Cs}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

const ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
const LOCAL = new RegExp(`^${ATOM}(?:\\.${ATOM})*$`)
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
/** Letters, digits and marks of any alphabet, with hyphens and single dots between them. */
const WRITTEN_DOMAIN = /^[\p{L}\p{N}\p{M}-]+(?:\.[\p{L}\p{N}\p{M}-]+)+$/u

/**
 * Parses a mailbox; null if the text is not exactly one.
 *
 * A local part outside of ASCII is rejected: it would need SMTPUTF8 on every server on the way.
 */
export function parseMailbox(text: string, toAscii: DomainToAscii): Mailbox | null {
  if (INVISIBLE.test(text)) return null
  const { name: written, address = text } = NAMED.exec(text.trim())?.groups ?? {}
  const name = written === undefined || written === "" ? null : nameIn(written)
  if (name === "") return null
  const found = addressIn(address === text ? text.trim() : address, toAscii)
  return found === null ? null : { name, ...found }
}

/** The name before an address; empty if it is invalid. */
function nameIn(written: string): string {
  const quoted = QUOTED.exec(written)?.groups?.["text"]
  if (quoted === undefined && SPECIAL.test(written)) return ""
  const name = (quoted?.replaceAll(/\\(["\\])/g, "$1") ?? written).trim()
  return [...name].length > MAX_NAME ? "" : name
}

function addressIn(text: string, toAscii: DomainToAscii): Omit<Mailbox, "name"> | null {
  const [local = "", written = "", ...rest] = text.split("@")
  if (rest.length > 0 || local.length > MAX_LOCAL || !LOCAL.test(local)) return null
  const domain = domainIn(written, toAscii)
  const address = `${local}@${domain ?? ""}`
  return domain === null || address.length > MAX_ADDRESS ? null : { address, domain }
}

/** Normalizes a domain; null if it is invalid, a single label or an IP address. */
function domainIn(written: string, toAscii: DomainToAscii): string | null {
  // The ASCII conversion would decode escapes and drop unknown characters.
  if (!WRITTEN_DOMAIN.test(written)) return null
  const domain = toAscii(written.toLowerCase())
  const labels = domain.split(".")
  const isName = labels.length > 1 && labels.every((label) => LABEL.test(label))
  if (!isName || domain.length > MAX_DOMAIN || /^\d+$/.test(labels.at(-1) ?? "")) return null
  return toAscii(domain) === domain ? domain : null
}

/**
 * Returns the address by which recipients are counted, charged and suppressed: equal for two spellings of one
 * address.
 */
export const normalizedAddress = ({ address }: Mailbox): string => address.toLowerCase()

/** Formats a mailbox so that `parseMailbox` can read it. */
export function formatMailbox({ name, address }: Mailbox): string {
  if (name === null) return address
  return `"${name.replaceAll(/["\\]/g, "\\$&")}" <${address}>`
}
