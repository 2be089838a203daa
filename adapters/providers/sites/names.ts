/** The addresses of host names, asked of the name servers of this machine. */
import { Resolver } from "node:dns/promises"

const TRY_MS = 2_000
const TRIES = 2

/**
 * All addresses of a host name. Name servers alone are asked, and not this machine's own list of hosts: what
 * stands there is no site. One kind of address that cannot be looked up keeps nobody from the other.
 */
export async function addressesOf(host: string, signal: AbortSignal): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES })
  const cancel = (): void => resolver.cancel()
  signal.addEventListener("abort", cancel, { once: true })
  try {
    const asked = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    return asked.flatMap((one) => (one.status === "fulfilled" ? one.value : []))
  } finally {
    signal.removeEventListener("abort", cancel)
  }
}
