/**
 * What a request's host name chooses: a door of its own (hosts of boxes, of previews, of pages), else the
 * API. Where the API's own name is known, no other name reaches it: a page that a company serves at a name
 * of ours is never taken for the API.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { isIP } from "node:net"
import type { Duplex } from "node:stream"
import type { Refusal } from "../routes/answers/refusal.ts"
import { refusal } from "../routes/answers/refusal.ts"

/** Where a request comes from, as the nearest proxy that is trusted says (`TRUST_PROXY`). */
export interface Origin {
  /** As limits per address count it. */
  readonly address: string
  /** Whether it was asked by https. */
  readonly isSecure: boolean
}

/** What stands behind some host names instead of the API. */
export interface Door {
  readonly name: string
  /** Whether a host name, in small letters and without a port, is one of its own. */
  readonly takes: (host: string) => boolean
  readonly serve: (request: IncomingMessage, response: ServerResponse, origin: Origin) => void
  /** Told of what comes to its host names and is led to a path of the API by an alias. */
  readonly passes?: (request: IncomingMessage, origin: Origin) => void
  /** Takes a connection that is to speak another protocol; without it none does. */
  readonly upgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void
}

/** Host names that lead to a path of the API, and to nothing else of it. */
export interface Alias {
  /**
   * The path that a host name (in small letters, without a port) leads to, without a slash at the end:
   * `/git`; null where it is none of these. Asked for every request: answered from memory.
   */
  readonly leadsTo: (host: string) => string | null
}

/** The path that an alias leads a host name to, before any door is looked for; null where none does. */
export function ledTo(aliases: readonly Alias[], host: string | null): string | null {
  if (host === null) return null
  for (const { leadsTo } of aliases) {
    const path = leadsTo(host)
    if (path !== null) return path
  }
  return null
}

/** The host name that a request asks for, in small letters and without a port; null for none. */
export function hostOf({ headers }: Pick<IncomingMessage, "headers">): string | null {
  const { host } = headers
  if (host === undefined || host === "") return null
  const name = host.startsWith("[") ? host.slice(1, host.indexOf("]")) : host.split(":", 1)[0]
  return (name ?? "").toLowerCase().replace(/\.$/, "")
}

/** A target that names its host, too: `GET http://host/path`, as proxies are asked. */
const ABSOLUTE = /^[a-z][a-z\d+.-]*:\/\//i

/** Whether the target of a request names another host than the request itself. */
export function isTwofold(request: Pick<IncomingMessage, "headers" | "url">): boolean {
  const { url = "/" } = request
  if (!ABSOLUTE.test(url)) return false
  return !URL.canParse(url) || hostOf({ headers: { host: new URL(url).host } }) !== hostOf(request)
}

/** A target without the host that it names. */
export function ownTarget(url: string): string {
  if (!ABSOLUTE.test(url)) return url
  const rest = url.replace(ABSOLUTE, "").replace(/^[^/?]*/, "")
  return rest.startsWith("/") ? rest : `/${rest}`
}

/** The door that a host name opens; null where it is the API's to answer. */
export function doorOf(doors: readonly Door[], host: string | null): Door | null {
  return host === null ? null : (doors.find(({ takes }) => takes(host)) ?? null)
}

/**
 * The refusal of a host name that is none of the API's; null where it is: its own, this machine's, or an
 * address. Without a name of its own all others are.
 */
export function misdirected(own: string | null, host: string | null): Refusal | null {
  if (own === null || host === null || host === own) return null
  if (host === "localhost" || host.endsWith(".localhost") || isIP(host) !== 0) return null
  return refusal("misdirected", `Nothing is served here for ${host}; this API is at ${own}.`)
}
