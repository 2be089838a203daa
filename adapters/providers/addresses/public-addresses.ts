/**
 * Recognizes public Internet addresses, the only ones that a name chosen by a stranger may resolve
 * to.
 */
import ipaddr from "ipaddr.js"

/** All IPv6 addresses allocated for global unicast so far (RFC 4291 §2.4, IANA). */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3")
/** Documentation addresses (RFC 9637). */
const DOCUMENTATION = ipaddr.IPv6.parseCIDR("3fff::/20")
/** Marks an IPv4 address embedded in an IPv6 one (RFC 5214). */
const ISATAP = 0x5efe

/**
 * Whether an address is public: not private, not local, and not an IPv4 address behind a translator
 * or a tunnel. False for text that is not an address in its usual form.
 */
export function isPublicAddress(address: string): boolean {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) {
    return ipaddr.IPv4.parse(address).range() === "unicast"
  }
  if (!ipaddr.IPv6.isValid(address) || address.includes("%")) return false
  const parsed = ipaddr.IPv6.parse(address)
  const { parts } = parsed
  // The bit 0x200 of the fifth part says whether the IPv4 address is globally unique.
  const isIsatap = ((parts[4] ?? 0) & ~0x200) === 0 && parts[5] === ISATAP
  return (
    parsed.range() === "unicast" &&
    parsed.match(GLOBAL_UNICAST) &&
    !parsed.match(DOCUMENTATION) &&
    !isIsatap
  )
}

/**
 * Normalizes an address, so that two spellings compare equal. @throws Error if the text is not an
 * address
 */
export function normalizeAddress(address: string): string {
  return ipaddr.parse(address).toString()
}
