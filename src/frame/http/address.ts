/** Where a call comes from, as limits per address count it. */
import ipaddr from "ipaddr.js"

/** What all share who come from nowhere that is an address. */
const NOWHERE = "unknown"
/** A port behind an address, as some proxies write it. */
const PORT = /^(?:\[(.*)\]|(\d+\.\d+\.\d+\.\d+)):\d+$/

/**
 * The address of a caller: an IPv4 address in one spelling; of IPv6 the network of 64 bits, which is
 * the least that one customer of a provider gets (RFC 6177).
 */
export function countedAddress(ip: string): string {
  const text = ip.replace(PORT, "$1$2")
  if (!ipaddr.isValid(text)) return NOWHERE
  const parsed = ipaddr.process(text)
  if (parsed instanceof ipaddr.IPv4) return parsed.toString()
  const network = parsed.parts.slice(0, 4).map((part) => part.toString(16))
  return `${network.join(":")}::/64`
}
