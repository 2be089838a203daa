/** Which addresses are anybody's on the Internet: the only ones that a name chosen by a stranger may lead to. */
import ipaddr from "ipaddr.js"

/** All IPv6 addresses that are given out to anybody so far (RFC 4291 §2.4, IANA). */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR("2000::/3")
/** For examples in documents (RFC 9637). */
const DOCUMENTATION = ipaddr.IPv6.parseCIDR("3fff::/20")
/** How the interface of an IPv4 address is written inside an IPv6 one (RFC 5214). */
const ISATAP = 0x5efe

/**
 * Whether an address is anybody's on the Internet: no network of its own, no machine's own, none that stands
 * for an IPv4 address behind a translator or a tunnel. What is no address in its usual form is none.
 */
export function isPublicAddress(address: string): boolean {
  if (ipaddr.IPv4.isValidFourPartDecimal(address)) {
    return ipaddr.IPv4.parse(address).range() === "unicast"
  }
  if (!ipaddr.IPv6.isValid(address) || address.includes("%")) return false
  const parsed = ipaddr.IPv6.parse(address)
  const { parts } = parsed
  // The bit of the fifth part says whether the IPv4 address is unique in the world.
  const isIsatap = ((parts[4] ?? 0) & ~0x200) === 0 && parts[5] === ISATAP
  return (
    parsed.range() === "unicast" &&
    parsed.match(GLOBAL_UNICAST) &&
    !parsed.match(DOCUMENTATION) &&
    !isIsatap
  )
}

/** An address in the one spelling by which two are compared. @throws Error for what is none */
export function normalizeAddress(address: string): string {
  return ipaddr.parse(address).toString()
}
