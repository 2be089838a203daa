/**
 * Mailboxes as people write them: `ada@example.com` or `Ada Lovelace <ada@example.com>`. This is the only
 * reader of addresses in the house. It takes far less than RFC 5322 allows, for whatever a mail program
 * would read in more than one way (groups, comments, routes, two addresses in one text) sends to others
 * than were meant, and for the price of one.
 */

/** Somebody's mailbox. */
export interface Mailbox {
  /** Null where none stands before the address. */
  readonly name: string | null
  /** The local part as it was written, and the domain in punycode and small letters. */
  readonly address: string
  /** The domain alone. */
  readonly domain: string
}

/** Turns a domain of any alphabet into ASCII; gives `""` for what is none. */
export type DomainToAscii = (domain: string) => string

const MAX_NAME = 200
const MAX_LOCAL = 64
const MAX_DOMAIN = 253
const MAX_ADDRESS = 254

/** `Name <address>`, where the name may stand in quotes. */
const NAMED = /^(?<name>[^<>]*?) *<(?<address>[^<>]*)>$/u
const QUOTED = /^"(?<text>(?:[^"\\]|\\["\\])*)"$/u
/** What in a name without quotes means something to mail programs. */
const SPECIAL = /["(),:;<>@[\\\]]/u
/** Controls, line and paragraph separators, and what turns the direction of text around. */
const INVISIBLE = /[\p{Cc}\p{Cs}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

const ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
const LOCAL = new RegExp(`^${ATOM}(?:\\.${ATOM})*$`)
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/
/** Letters, digits and marks of any alphabet, hyphens between them, and single dots. */
const WRITTEN_DOMAIN = /^[\p{L}\p{N}\p{M}-]+(?:\.[\p{L}\p{N}\p{M}-]+)+$/u

/**
 * The mailbox that a text is; null where it is none, or not one alone.
 *
 * A local part outside of ASCII is none: it would need SMTPUTF8 at every server on the way.
 */
export function parseMailbox(text: string, toAscii: DomainToAscii): Mailbox | null {
  if (INVISIBLE.test(text)) return null
  const { name: written, address = text } = NAMED.exec(text.trim())?.groups ?? {}
  const name = written === undefined || written === "" ? null : nameIn(written)
  if (name === "") return null
  const found = addressIn(address === text ? text.trim() : address, toAscii)
  return found === null ? null : { name, ...found }
}

/** The name that stands before an address; empty where it cannot be one. */
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

/** A domain in its form; null for none, for one label alone, and for what is an address of a machine. */
function domainIn(written: string, toAscii: DomainToAscii): string | null {
  // Whoever turns it into ASCII would decode escapes and drop what it does not know.
  if (!WRITTEN_DOMAIN.test(written)) return null
  const domain = toAscii(written.toLowerCase())
  const labels = domain.split(".")
  const isName = labels.length > 1 && labels.every((label) => LABEL.test(label))
  if (!isName || domain.length > MAX_DOMAIN || /^\d+$/.test(labels.at(-1) ?? "")) return null
  return toAscii(domain) === domain ? domain : null
}

/** What is equal for two ways of writing to one: by it recipients are counted, charged and suppressed. */
export const normalizedAddress = ({ address }: Mailbox): string => address.toLowerCase()

/** The text that `parseMailbox` reads as this mailbox. */
export function formatMailbox({ name, address }: Mailbox): string {
  if (name === null) return address
  return `"${name.replaceAll(/["\\]/g, "\\$&")}" <${address}>`
}
