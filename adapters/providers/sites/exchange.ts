/** One request for a page, over a connection of its own to one address. */
import { createHash } from "node:crypto"
import { once } from "node:events"
import type { IncomingMessage } from "node:http"
import { request as httpsRequest } from "node:https"
import { isIP } from "node:net"
import type { TLSSocket } from "node:tls"
import { connect as connectTls } from "node:tls"
import { MOST_BYTES, decompressed, textOf } from "./body.ts"
import type { Place } from "./place.ts"
import { problem } from "./place.ts"
import type { SiteAnswer } from "./port.ts"

const MOST_HEAD_BYTES = 16_384
/** What is compressed into nothing is more than a page, too: it is not read for ever. */
const MOST_SENT_BYTES = 2 * MOST_BYTES
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** What a request says of itself: nothing of who asked for it. */
const HEADERS = {
  "user-agent": "company-ledger (check of pages)",
  accept: "text/html",
  "accept-encoding": "gzip, br, deflate",
}

/** Whom a connection is made to. */
export interface Destination {
  readonly address: string
  readonly port: 443
  /** The name that its certificate has to be for; empty: for the address. */
  readonly servername: string
}

/** Begins a connection. */
export type Connect = (to: Destination) => TLSSocket

/** Connects to the address itself, and believes a certificate that this machine's authorities vouch for. */
export const connectByTls: Connect = ({ address, port, servername }) =>
  connectTls({
    host: address,
    port,
    servername,
    ALPNProtocols: ["http/1.1"],
    // Whatever the environment says of it.
    rejectUnauthorized: true,
  })

/** What a site answered: a page, why there is none, or where it is instead. */
export type Answered = SiteAnswer | { readonly is: "redirect"; readonly to: string }

/** How a page is asked for. */
export interface Asking {
  readonly connect: Connect
  /** Called once the connection stands. */
  readonly onConnected: () => void
  readonly signal: AbortSignal
}

/**
 * Asks for a page, once, and closes the connection.
 *
 * @throws Error with a code, where the connection or what came over it fails; the signal's reason
 */
export async function ask(
  { url, host, address }: Place,
  { connect, onConnected, signal }: Asking,
): Promise<Answered> {
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
    maxHeaderSize: MOST_HEAD_BYTES,
  })
  // Whoever waits hears of it; what comes once nobody does is about a connection that is closed.
  for (const one of [request, socket]) one.on("error", () => undefined)
  try {
    request.end()
    const [response] = (await once(request, "response", { signal })) as [IncomingMessage]
    return await answerOf(response, url)
  } finally {
    request.destroy()
    socket.destroy()
  }
}

async function answerOf(response: IncomingMessage, url: URL): Promise<Answered> {
  const { statusCode: status = 0, headers } = response
  const { location } = headers
  if (REDIRECTS.has(status) && location !== undefined) {
    if (!URL.canParse(location, url.href)) return problem("unreachable")
    return { is: "redirect", to: new URL(location, url.href).href }
  }
  if (status === 401 || status === 403) return problem("login_needed")
  const type = headers["content-type"] ?? ""
  const isPage = status >= 200 && status < 300 && /^\s*text\/html\s*(?:;|$)/i.test(type)
  if (!isPage) return problem("unreachable")
  const sent = await bytesOf(response)
  if (sent === null) return problem("too_large")
  const bytes = await decompressed(sent, headers["content-encoding"] ?? "")
  if (typeof bytes === "string") return problem(bytes)
  const sha256 = createHash("sha256").update(bytes).digest("hex")
  return { is: "page", html: textOf(bytes, type), sha256, url: url.href }
}

/** What was sent, as it was; null for more than is read. */
async function bytesOf(response: IncomingMessage): Promise<Buffer | null> {
  const isPlain = /^(?:identity)?$/i.test(response.headers["content-encoding"] ?? "")
  const most = isPlain ? MOST_BYTES : MOST_SENT_BYTES
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
