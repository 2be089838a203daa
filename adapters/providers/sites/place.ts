/** Where a page is, and whether it may be read there. */
import { isIP } from "node:net"
import { isPublic, spelled } from "../addresses/public.ts"
import type { SiteProblem, SiteProblemCode } from "./port.ts"

/** A page, and the one address that it is read from. */
export interface Place {
  readonly is: "place"
  readonly url: URL
  /** Its host without brackets, and without the dot at the end of a full name. */
  readonly host: string
  /** The address of that host which was looked at. */
  readonly address: string
}

/** What places are looked at with. */
export interface PlaceRules {
  /** The addresses of a host name; none where it has none. */
  readonly resolve: (host: string, signal: AbortSignal) => Promise<readonly string[]>
  /** Whether a host name or an address is this installation's own. */
  readonly isOwn: (host: string) => boolean
}

/** A page that is not read. */
export const problem = (code: SiteProblemCode): SiteProblem => ({ is: "problem", code })

/**
 * The place of an address that a stranger wrote. Every address of its name has to be public, and one of them is
 * the only one that is talked to: who answers for the name has no second say.
 */
export async function placeOf(
  text: string,
  { resolve, isOwn }: PlaceRules,
  signal: AbortSignal,
): Promise<Place | SiteProblem> {
  if (!URL.canParse(text)) return problem("unreachable")
  const url = new URL(text)
  if (url.protocol !== "https:") return problem("not_https")
  if (url.username !== "" || url.password !== "" || url.port !== "") {
    return problem("blocked_address")
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "")
  // What is written as an address is looked up by nobody, and so has to be looked at here. The URL has it in
  // the usual form, whichever it was written in: 0x7f.1 is 127.0.0.1.
  const isLiteral = isIP(host) !== 0
  // A name of one word is one of this machine's network.
  if (!isLiteral && !host.includes(".")) return problem("blocked_address")
  if (isOwn(host)) return problem("blocked_address")
  const addresses = isLiteral ? [host] : await resolve(host, signal)
  if (addresses.some((one) => !isPublic(one) || isOwn(spelled(one)))) {
    return problem("blocked_address")
  }
  // A machine without IPv6 reads pages, too.
  const address = addresses.find((one) => isIP(one) === 4) ?? addresses[0]
  return address === undefined ? problem("unreachable") : { is: "place", url, host, address }
}
