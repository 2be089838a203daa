/** How much is answered over UDP, where anybody can write anybody's address on a question. */
import ipaddr from "ipaddr.js"
import type { Pacer } from "../../machine/clock/port.ts"

/** So many answers a second go to one network. */
const MOST_ANSWERS_A_SECOND = 200
const WINDOW_MS = 1_000

/**
 * Counts answers by network and second; the answer says whether one more may have records in it. It
 * remembers the networks of one second, of which there are no more than packets in it.
 */
export function openAnswerLimit({ elapsedMs }: Pick<Pacer, "elapsedMs">) {
  const counts = new Map<string, number>()
  let startedAt = elapsedMs()
  return (address: string): boolean => {
    const now = elapsedMs()
    if (now - startedAt >= WINDOW_MS) {
      counts.clear()
      startedAt = now
    }
    const network = networkOf(address)
    const count = (counts.get(network) ?? 0) + 1
    counts.set(network, count)
    return count <= MOST_ANSWERS_A_SECOND
  }
}

/** The network of an address: the /24 of an IPv4 address, the /56 of an IPv6 one. */
function networkOf(address: string): string {
  if (!address.includes(":")) return address.slice(0, address.lastIndexOf("."))
  const [plain = ""] = address.split("%")
  // A socket of both kinds writes an IPv4 address as an IPv6 one: ::ffff:192.0.2.1.
  const parsed = ipaddr.process(plain)
  if (parsed instanceof ipaddr.IPv4) return networkOf(parsed.toString())
  return parsed.toByteArray().slice(0, 7).join(":")
}
