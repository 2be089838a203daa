/** One request for a page, over a connection of its own to one address. */
import { createHash } from "node:crypto"
import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import { request as httpsRequest } from "node:https"
import { isIP } from "node:net"
import type { TLSSocket } from "node:tls"
import { connect as connectTls } from "node:tls"
import type { SiteAnswer, SiteProblemCode, SiteProblem } from "./port.ts"
import { TextDecoder, promisify } from "node:util"
import { brotliDecompress, gunzip, inflate, inflateRaw } from "node:zlib"
import { isPublicAddress, normalizeAddress } from "../addresses/public-addresses.ts"

/** A page has at most so many bytes. */
const MAX_PAGE_BYTES = 1_048_576
/** So much of a page tells its encoding (WHATWG HTML, "prescan"). */
const PRESCAN_BYTES = 1_024

const [byGzip, byBrotli, byZlib, byDeflate] = [
  promisify(gunzip),
  promisify(brotliDecompress),
  promisify(inflate),
  promisify(inflateRaw),
]

/** The bytes before they were compressed; or what is wrong with them. */
async function decompress(bytes: Buffer, encoding: string): Promise<Buffer | SiteProblemCode> {
  const most = { maxOutputLength: MAX_PAGE_BYTES }
  try {
    switch (encoding.trim().toLowerCase()) {
      case "":
      case "identity":
        return bytes.length > MAX_PAGE_BYTES ? "too_large" : bytes
      case "gzip":
      case "x-gzip":
        return await byGzip(bytes, most)
      case "br":
        return await byBrotli(bytes, most)
      case "deflate":
        return await (hasZlibHead(bytes) ? byZlib(bytes, most) : byDeflate(bytes, most))
      default:
        return "unreachable"
    }
  } catch (error) {
    const { code } = error as { readonly code?: unknown }
    if (code === "ERR_BUFFER_TOO_LARGE") return "too_large"
    // What was sent is not what it says it is.
    if (typeof code === "string") return "unreachable"
    throw error
  }
}

/** Whether deflated bytes are wrapped as the standard says; many servers leave that out. */
function hasZlibHead(bytes: Buffer): boolean {
  const [first = 0, second = 0] = bytes
  return (first & 0x0f) === 8 && ((first << 8) | second) % 31 === 0
}

/** The text of a page, by what its head or itself says of its characters; else UTF-8. */
function decodeText(bytes: Buffer, contentType: string): string {
  const start = bytes.subarray(0, PRESCAN_BYTES).toString("latin1")
  const hasMark = start.startsWith("\u00EF\u00BB\u00BF")
  const said = /charset\s*=\s*["']?([\w-]+)/i
  const inItself = /<meta\b[^>]{0,200}?charset\s*=\s*["']?([\w-]+)/i
  const label = hasMark ? "utf-8" : (said.exec(contentType)?.[1] ?? inItself.exec(start)?.[1])
  return decoderOf(label ?? "utf-8").decode(bytes)
}

function decoderOf(label: string): TextDecoder {
  try {
    return new TextDecoder(label)
  } catch (error) {
    // Nobody knows such characters.
    if (error instanceof RangeError) return new TextDecoder()
    throw error
  }
}

const MAX_HEADER_BYTES = 16_384
/** What is compressed into nothing is more than a page, too: it is not read for ever. */
const MAX_SENT_BYTES = 2 * MAX_PAGE_BYTES
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** What a request says of itself: nothing of who asked for it. */
const HEADERS = {
  "user-agent": "company-ledger (check of pages)",
  accept: "text/html",
  "accept-encoding": "gzip, br, deflate",
}

/** Whom a connection is made to. */
export interface TlsDestination {
  readonly address: string
  readonly port: 443
  /** The name that its certificate has to be for; empty: for the address. */
  readonly servername: string
}

/** Begins a connection. */
export type ConnectTls = (to: TlsDestination) => TLSSocket

/** Connects to the address itself, and believes a certificate that this machine's authorities vouch for. */
export const openTlsConnection: ConnectTls = ({ address, port, servername }) =>
  connectTls({
    host: address,
    port,
    servername,
    ALPNProtocols: ["http/1.1"],
    // Whatever the environment says of it.
    rejectUnauthorized: true,
  })

/** What a site answered: a page, why there is none, or where it is instead. */
export type PageResponse = SiteAnswer | { readonly kind: "redirect"; readonly url: string }

/** How a page is asked for. */
interface PageRequestOptions {
  readonly connect: ConnectTls
  /** Called once the connection stands. */
  readonly onConnected: () => void
  readonly signal: AbortSignal
}

/**
 * Asks for a page, once, and closes the connection.
 *
 * @throws Error with a code, where the connection or what came over it fails; the signal's reason
 */
export async function requestPage(
  { url, host, address }: PageAddress,
  { connect, onConnected, signal }: PageRequestOptions,
): Promise<PageResponse> {
  const socket = connect({ address, port: 443, servername: isIP(host) === 0 ? host : "" })
  socket.once("secureConnect", onConnected)
  const request = httpsRequest({
    // With a connection that is there no agent has a part in it: none is kept, and none is a proxy's.
    createConnection: () => socket,
    host,
    path: `${url.pathname}${url.search}`,
    method: "GET",
    signal,
    headers: { ...HEADERS, host: url.host },
    maxHeaderSize: MAX_HEADER_BYTES,
  })
  // Whoever waits hears of it; what comes once nobody does is about a connection that is closed.
  for (const one of [request, socket]) one.on("error", () => undefined)
  try {
    request.end()
    const [response] = (await once(request, "response", { signal })) as [IncomingMessage]
    return await readResponse(response, url)
  } finally {
    request.destroy()
    socket.destroy()
  }
}

async function readResponse(response: IncomingMessage, url: URL): Promise<PageResponse> {
  const { statusCode: status = 0, headers } = response
  const { location } = headers
  if (REDIRECTS.has(status) && location !== undefined) {
    if (!URL.canParse(location, url.href)) return siteProblem("unreachable")
    return { kind: "redirect", url: new URL(location, url.href).href }
  }
  if (status === 401 || status === 403) return siteProblem("login_needed")
  const type = headers["content-type"] ?? ""
  const isPage = status >= 200 && status < 300 && /^\s*text\/html\s*(?:;|$)/i.test(type)
  if (!isPage) return siteProblem("unreachable")
  const sent = await readBytes(response)
  if (sent === null) return siteProblem("too_large")
  const bytes = await decompress(sent, headers["content-encoding"] ?? "")
  if (typeof bytes === "string") return siteProblem(bytes)
  const sha256 = createHash("sha256").update(bytes).digest("hex")
  return { kind: "page", html: decodeText(bytes, type), sha256, url: url.href }
}

/** What was sent, as it was; null for more than is read. */
async function readBytes(response: IncomingMessage): Promise<Buffer | null> {
  const isPlain = /^(?:identity)?$/i.test(response.headers["content-encoding"] ?? "")
  const most = isPlain ? MAX_PAGE_BYTES : MAX_SENT_BYTES
  const pieces: Buffer[] = []
  let length = 0
  // Leaving the loop early ends what still comes.
  for await (const piece of response as AsyncIterable<Buffer>) {
    length += piece.length
    if (length > most) return null
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}

/** A page, and the one address that it is read from. */
interface PageAddress {
  readonly kind: "place"
  readonly url: URL
  /** Its host without brackets, and without the dot at the end of a full name. */
  readonly host: string
  /** The address of that host which was looked at. */
  readonly address: string
}

/** What places are looked at with. */
export interface PageAddressRules {
  /** The addresses of a host name; none where it has none. */
  readonly resolve: (host: string, signal: AbortSignal) => Promise<readonly string[]>
  /** Whether a host name or an address is this installation's own. */
  readonly isOwn: (host: string) => boolean
}

/** A page that is not read. */
export const siteProblem = (code: SiteProblemCode): SiteProblem => ({ kind: "problem", code })

/**
 * The place of an address that a stranger wrote. Every address of its name has to be public, and one of them is
 * the only one that is talked to: who answers for the name has no second say.
 */
export async function resolvePageAddress(
  text: string,
  { resolve, isOwn }: PageAddressRules,
  signal: AbortSignal,
): Promise<PageAddress | SiteProblem> {
  if (!URL.canParse(text)) return siteProblem("unreachable")
  const url = new URL(text)
  if (url.protocol !== "https:") return siteProblem("not_https")
  if (url.username !== "" || url.password !== "" || url.port !== "") {
    return siteProblem("blocked_address")
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "")
  // What is written as an address is looked up by nobody, and so has to be looked at here. The URL has it in
  // the usual form, whichever it was written in: 0x7f.1 is 127.0.0.1.
  const isLiteral = isIP(host) !== 0
  // A name of one word is one of this machine's network.
  if (!isLiteral && !host.includes(".")) return siteProblem("blocked_address")
  if (isOwn(host)) return siteProblem("blocked_address")
  const addresses = isLiteral ? [host] : await resolve(host, signal)
  if (addresses.some((one) => !isPublicAddress(one) || isOwn(normalizeAddress(one)))) {
    return siteProblem("blocked_address")
  }
  // A machine without IPv6 reads pages, too.
  const address = addresses.find((one) => isIP(one) === 4) ?? addresses[0]
  return address === undefined ? siteProblem("unreachable") : { kind: "place", url, host, address }
}
