/**
 * Reads pages of public sites. A stranger's address may name this machine or its neighbors, so each
 * address, including every redirect, is checked before the connection.
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

export interface PublicSitesOptions extends Pick<PageAddressRules, "isOwn"> {
  readonly pacer: Pacer
  /** Default: the name servers of this machine. */
  readonly resolve?: PageAddressRules["resolve"]
  /** Default: connect to the address and verify its certificate. */
  readonly connect?: ConnectTls
}

/** Opens the reader; it connects for the first page. */
export function openPublicSites(options: PublicSitesOptions): SiteReader {
  const { pacer, isOwn, resolve = resolveAddresses, connect = openTlsConnection } = options
  const rules = { resolve, isOwn }
  return {
    read: async (url) => {
      const total = startTimeout(pacer, TOTAL_TIMEOUT_MS)
      try {
        return await followRedirects(url, (at) =>
          visitPage(at, { pacer, rules, connect, total: total.signal }),
        )
      } finally {
        total.stop()
      }
    },
  }
}

async function followRedirects(
  url: string,
  visit: (url: string) => Promise<PageResponse>,
): Promise<SiteAnswer> {
  let at = url
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const answer = await visit(at)
    if (answer.kind !== "redirect") return answer
    at = answer.url
  }
  return siteProblem("unreachable")
}

interface PageVisit {
  readonly pacer: Pacer
  readonly rules: PageAddressRules
  readonly connect: ConnectTls
  /** Aborted when the time for the page, including redirects, is over. */
  readonly total: AbortSignal
}

async function visitPage(
  at: string,
  { pacer, rules, connect, total }: PageVisit,
): Promise<PageResponse> {
  const connecting = startTimeout(pacer, CONNECT_TIMEOUT_MS)
  const signal = AbortSignal.any([total, connecting.signal])
  try {
    const place = await unlessAborted(signal, resolvePageAddress(at, rules, signal))
    if (place.kind === "problem") return place
    const onConnected = connecting.stop
    return await unlessAborted(signal, requestPage(place, { connect, onConnected, signal }))
  } catch (error) {
    if (signal.aborted) return siteProblem("too_slow")
    const { code } = error as { readonly code?: unknown }
    // Errors with a code come from the connection or the response; others are bugs of ours.
    if (typeof code !== "string" || error instanceof TypeError) throw error
    return siteProblem(code === "HPE_HEADER_OVERFLOW" ? "too_large" : "unreachable")
  } finally {
    connecting.stop()
  }
}

/** Waits for work until the signal aborts. @throws the signal's reason */
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

/** Starts a signal that aborts after some milliseconds unless it is stopped. */
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
 * All addresses of a host name, from name servers only: this machine's hosts file lists no public
 * sites. If one address family fails, the other is used.
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
