/** Requests a page over its own connection to one address. */
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

/** Longest page, bytes. */
const MAX_PAGE_BYTES = 1_048_576
/** The part of a page that is searched for its encoding (WHATWG HTML, "prescan"). */
const PRESCAN_BYTES = 1_024

const [byGzip, byBrotli, byZlib, byDeflate] = [
  promisify(gunzip),
  promisify(brotliDecompress),
  promisify(inflate),
  promisify(inflateRaw),
]

/** Decompresses a body, or returns the problem with it. */
async function decompress(bytes: Buffer, encoding: string): Promise<Buffer | SiteProblemCode> {
  const limits = { maxOutputLength: MAX_PAGE_BYTES }
  try {
    switch (encoding.trim().toLowerCase()) {
      case "":
      case "identity":
        return bytes.length > MAX_PAGE_BYTES ? "too_large" : bytes
      case "gzip":
      case "x-gzip":
        return await byGzip(bytes, limits)
      case "br":
        return await byBrotli(bytes, limits)
      case "deflate":
        return await (hasZlibHead(bytes) ? byZlib(bytes, limits) : byDeflate(bytes, limits))
      default:
        return "unreachable"
    }
  } catch (error) {
    const { code } = error as { readonly code?: unknown }
    if (code === "ERR_BUFFER_TOO_LARGE") return "too_large"
    // The bytes do not match their declared encoding.
    if (typeof code === "string") return "unreachable"
    throw error
  }
}

/** Whether deflated bytes have the zlib header that the standard requires; many servers omit it. */
function hasZlibHead(bytes: Buffer): boolean {
  const [first = 0, second = 0] = bytes
  return (first & 0x0f) === 8 && ((first << 8) | second) % 31 === 0
}

/** Decodes a page by the encoding of its header or its own declaration; default UTF-8. */
function decodeText(bytes: Buffer, contentType: string): string {
  const start = bytes.subarray(0, PRESCAN_BYTES).toString("latin1")
  const hasMark = start.startsWith("\u00EF\u00BB\u00BF")
  const headerCharset = /charset\s*=\s*["']?([\w-]+)/i
  const metaCharset = /<meta\b[^>]{0,200}?charset\s*=\s*["']?([\w-]+)/i
  const label = hasMark
    ? "utf-8"
    : (headerCharset.exec(contentType)?.[1] ?? metaCharset.exec(start)?.[1])
  return decoderOf(label ?? "utf-8").decode(bytes)
}

function decoderOf(label: string): TextDecoder {
  try {
    return new TextDecoder(label)
  } catch (error) {
    // Unknown encoding.
    if (error instanceof RangeError) return new TextDecoder()
    throw error
  }
}

const MAX_HEADER_BYTES = 16_384
/** A body that decompresses to little still has to end. */
const MAX_SENT_BYTES = 2 * MAX_PAGE_BYTES
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** The headers reveal nothing about the person who asked for the page. */
const HEADERS = {
  "user-agent": "company-ledger (check of pages)",
  accept: "text/html",
  "accept-encoding": "gzip, br, deflate",
}

export interface TlsDestination {
  readonly address: string
  readonly port: 443
  /** The name that the certificate must be for; empty to check the address. */
  readonly servername: string
}

export type ConnectTls = (to: TlsDestination) => TLSSocket

/** Connects to the address and verifies the certificate against this machine's authorities. */
export const openTlsConnection: ConnectTls = ({ address, port, servername }) =>
  connectTls({
    host: address,
    port,
    servername,
    ALPNProtocols: ["http/1.1"],
    // Overrides NODE_TLS_REJECT_UNAUTHORIZED.
    rejectUnauthorized: true,
  })

/** The answer of a site: a page, a problem, or a redirect. */
export type PageResponse = SiteAnswer | { readonly kind: "redirect"; readonly url: string }

interface PageRequestOptions {
  readonly connect: ConnectTls
  /** Called when the connection is established. */
  readonly onConnected: () => void
  readonly signal: AbortSignal
}

/**
 * Requests a page once and closes the connection.
 *
 * @throws Error with a code if the connection or the response fails; the signal's reason
 */
export async function requestPage(
  { url, host, address }: PageAddress,
  { connect, onConnected, signal }: PageRequestOptions,
): Promise<PageResponse> {
  const socket = connect({ address, port: 443, servername: isIP(host) === 0 ? host : "" })
  socket.once("secureConnect", onConnected)
  const request = httpsRequest({
    // With an existing connection Node uses no agent: nothing is pooled and no proxy is used.
    createConnection: () => socket,
    host,
    path: `${url.pathname}${url.search}`,
    method: "GET",
    signal,
    headers: { ...HEADERS, host: url.host },
    maxHeaderSize: MAX_HEADER_BYTES,
  })
  // The awaited promises report these errors; later ones concern a closed connection.
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

/** Reads the body as sent; null if it is too long. */
async function readBytes(response: IncomingMessage): Promise<Buffer | null> {
  const isPlain = /^(?:identity)?$/i.test(response.headers["content-encoding"] ?? "")
  const limits = isPlain ? MAX_PAGE_BYTES : MAX_SENT_BYTES
  const chunks: Buffer[] = []
  let length = 0
  // Leaving the loop early cancels the rest of the stream.
  for await (const chunk of response as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > limits) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

interface PageAddress {
  readonly kind: "place"
  readonly url: URL
  /** The host without brackets and without a trailing dot. */
  readonly host: string
  /** The address of the host that was checked. */
  readonly address: string
}

export interface PageAddressRules {
  /** Resolves a host name to its addresses; empty if it has none. */
  readonly resolve: (host: string, signal: AbortSignal) => Promise<readonly string[]>
  /** Whether a host name or an address belongs to this installation. */
  readonly isOwn: (host: string) => boolean
}

/** Builds the answer for a page that is not read. */
export const siteProblem = (code: SiteProblemCode): SiteProblem => ({ kind: "problem", code })

/**
 * Resolves a URL that a stranger wrote. Every address of its name must be public, and the
 * connection uses the checked address, so a second DNS answer changes nothing.
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
  // A literal address is not resolved, so it is checked here. `URL` has normalized it: 0x7f.1 is
  // 127.0.0.1.
  const isLiteral = isIP(host) !== 0
  // A name without a dot is local to this machine's network.
  if (!isLiteral && !host.includes(".")) return siteProblem("blocked_address")
  if (isOwn(host)) return siteProblem("blocked_address")
  const addresses = isLiteral ? [host] : await resolve(host, signal)
  if (addresses.some((one) => !isPublicAddress(one) || isOwn(normalizeAddress(one)))) {
    return siteProblem("blocked_address")
  }
  // IPv4 first, so that a machine without IPv6 can read the page.
  const address = addresses.find((one) => isIP(one) === 4) ?? addresses[0]
  return address === undefined ? siteProblem("unreachable") : { kind: "place", url, host, address }
}
