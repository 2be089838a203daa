/**
 * Reads pages of public sites. Whoever names them may mean any machine, this one and its neighbours too: each
 * address is looked at before it is talked to, and a redirect is one more address that a stranger named.
 */
import type { Pacer } from "../../machine/clock/port.ts"
import type { PageResponse, ConnectTls, PageAddressRules } from "./page-request.ts"
import { requestPage, openTlsConnection, resolvePageAddress, siteProblem } from "./page-request.ts"
import type { SiteAnswer, SiteReader } from "./port.ts"
import { Resolver } from "node:dns/promises"

const RESOLVE_TIMEOUT_MS = 2_000

const RESOLVE_ATTEMPTS = 2

const CONNECT_TIMEOUT_MS = 5_000
const TOTAL_TIMEOUT_MS = 10_000
const MAX_REDIRECTS = 3

/** What it works with. */
export interface PublicSitesOptions extends Pick<PageAddressRules, "isOwn"> {
  readonly pacer: Pacer
  /** Default: the name servers of this machine. */
  readonly resolve?: PageAddressRules["resolve"]
  /** Default: the address itself, with a certificate that authorities vouch for. */
  readonly connect?: ConnectTls
}

/** Opens it. It asks nobody before the first page. */
export function openPublicSites(options: PublicSitesOptions): SiteReader {
  const { pacer, isOwn, resolve = resolveAddresses, connect = openTlsConnection } = options
  const rules = { resolve, isOwn }
  return {
    read: async (url) => {
      const whole = startTimeout(pacer, TOTAL_TIMEOUT_MS)
      try {
        return await followRedirects(url, (at) =>
          visitPage(at, { pacer, rules, connect, whole: whole.signal }),
        )
      } finally {
        whole.stop()
      }
    },
  }
}

/** Goes where redirects lead. */
async function followRedirects(
  url: string,
  visited: (url: string) => Promise<PageResponse>,
): Promise<SiteAnswer> {
  let at = url
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const answer = await visited(at)
    if (answer.kind !== "redirect") return answer
    at = answer.url
  }
  return siteProblem("unreachable")
}

interface PageVisit {
  readonly pacer: Pacer
  readonly rules: PageAddressRules
  readonly connect: ConnectTls
  /** Aborted once the time for the page is over, wherever it led. */
  readonly whole: AbortSignal
}

async function visitPage(
  at: string,
  { pacer, rules, connect, whole }: PageVisit,
): Promise<PageResponse> {
  const connecting = startTimeout(pacer, CONNECT_TIMEOUT_MS)
  const signal = AbortSignal.any([whole, connecting.signal])
  try {
    const place = await unlessAborted(signal, resolvePageAddress(at, rules, signal))
    if (place.kind === "problem") return place
    const onConnected = connecting.stop
    return await unlessAborted(signal, requestPage(place, { connect, onConnected, signal }))
  } catch (error) {
    if (signal.aborted) return siteProblem("too_slow")
    const { code } = error as { readonly code?: unknown }
    // What came over the connection, or it itself, is at fault; whatever else is, is ours.
    if (typeof code !== "string" || error instanceof TypeError) throw error
    return siteProblem(code === "HPE_HEADER_OVERFLOW" ? "too_large" : "unreachable")
  } finally {
    connecting.stop()
  }
}

/** What comes of work, while nobody gave it up. @throws the signal's reason once it aborts */
async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  signal.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const end = (): void => aborted.reject(signal.reason)
  signal.addEventListener("abort", end, { once: true })
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener("abort", end)
  }
}

/** A signal that aborts after so many milliseconds, unless it is stopped before. */
function startTimeout(
  pacer: Pacer,
  ms: number,
): { readonly signal: AbortSignal; readonly stop: () => void } {
  const late = new AbortController()
  const stopped = new AbortController()
  void pacer.pause(ms, stopped.signal).then(() => {
    if (!stopped.signal.aborted) late.abort()
  })
  return { signal: late.signal, stop: () => stopped.abort() }
}

/**
 * All addresses of a host name. Name servers alone are asked, and not this machine's own list of hosts: what
 * stands there is no site. One kind of address that cannot be looked up keeps nobody from the other.
 */
async function resolveAddresses(host: string, signal: AbortSignal): Promise<readonly string[]> {
  const resolver = new Resolver({ timeout: RESOLVE_TIMEOUT_MS, tries: RESOLVE_ATTEMPTS })
  const cancel = (): void => resolver.cancel()
  signal.addEventListener("abort", cancel, { once: true })
  try {
    const asked = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    return asked.flatMap((one) => (one.status === "fulfilled" ? one.value : []))
  } finally {
    signal.removeEventListener("abort", cancel)
  }
}
