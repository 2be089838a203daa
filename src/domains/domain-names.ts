/** Names of domains as people write them, in the one form that everything here keeps them in. */
import { domainToASCII, domainToUnicode } from "node:url"
import { parse } from "tldts"
import { MOST_NAME } from "../../domain/domains/host-names.ts"

/** A domain that somebody can have registered, or what is wrong with it. */
export type ReadDomain =
  | {
      readonly name: string
      /** Whether letters of several scripts stand in one label, as where one name imitates another. */
      readonly isMixed: boolean
    }
  | { readonly fault: string }

/** Letters, marks, digits, dashes and dots: `domainToASCII` cuts or decodes whatever else there is. */
const WRITTEN = /^[\p{L}\p{M}\p{N}.-]+$/u
const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/**
 * The form of a host name: small letters, punycode; null where it cannot be one. What `domainToASCII` lets
 * through is looked at again, for it is no check (RFC 1123 §2.1).
 */
export function hostNameOf(text: string): string | null {
  if (!WRITTEN.test(text)) return null
  const name = domainToASCII(text)
  const labels = name.split(".")
  if (name.length > MOST_NAME || labels.length < 2 || !labels.every((one) => LABEL.test(one))) {
    return null
  }
  // The last label is never a number: 0x7f.1 is an address.
  if (/^\d+$/.test(labels.at(-1) ?? "")) return null
  const shown = domainToUnicode(name)
  const isPlain = labels.every((label) => !label.startsWith("xn--")) || shown !== name
  return isPlain && domainToASCII(shown) === name && domainToASCII(name) === name ? name : null
}

/** Reads a domain that is to be connected: one that a registry gives out, and not a name under it. */
export function readDomain(text: string): ReadDomain {
  const name = hostNameOf(text)
  if (name === null) return { fault: "Must be a domain name such as acme.com." }
  const { domain, isIp } = parse(name, { allowPrivateDomains: true })
  if (isIp === true || domain === null) {
    return { fault: `${name} is nobody's alone: names under it are given out.` }
  }
  if (domain !== name) return { fault: `Must be the whole domain: ${domain}.` }
  return { name, isMixed: isMixed(name) }
}

const SCRIPTS = [
  /\p{Script=Latin}/u,
  /\p{Script=Cyrillic}/u,
  /\p{Script=Greek}/u,
  /\p{Script=Armenian}/u,
  /\p{Script=Cherokee}/u,
  /\p{Script=Hebrew}/u,
  /\p{Script=Arabic}/u,
]

/** Whether a label of a name has letters of several scripts that look alike. */
export function isMixed(name: string): boolean {
  return domainToUnicode(name)
    .split(".")
    .some((label) => SCRIPTS.filter((script) => script.test(label)).length > 1)
}
