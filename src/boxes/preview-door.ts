/**
 * What stands behind the links of previews: whatever listens on the port of the box. The host name alone
 * leads here, before the API is looked at, so nothing of a box's is ever served under the API's name. Names
 * of the domain that lead nowhere are answered here, too.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http"
import { Agent, request as httpRequest } from "node:http"
import type { Duplex } from "node:stream"
import { finished } from "node:stream"
import { BoxGone } from "../../adapters/providers/boxhost/port.ts"
import { ProviderSilent, ProviderUnavailable } from "../../adapters/providers/outside.ts"
import type { PreviewRow } from "../../projections/boxes/previews.ts"
import { findPreview } from "../../projections/boxes/previews.ts"
import type { Door } from "../frame/http/hosts.ts"
import { hostOf } from "../frame/http/hosts.ts"
import type { Ports } from "../frame/ports.ts"
import { pageOf } from "./preview-pages.ts"
import { previewSeen } from "./preview-traffic.ts"
import { tagOf, tokenIn } from "./preview-url.ts"
import { boxSettings } from "./settings.ts"

/** What ends at this hop (RFC 9110 §7.6.1). */
const HOP_BY_HOP = new Set([
  ...["connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection"],
  ...["te", "trailer", "transfer-encoding", "upgrade"],
])

/** Where a preview leads; null where its name is nobody's. */
type Target = { readonly row: PreviewRow; readonly socket: Duplex | null } | null

/** The door of previews. */
export function previewDoor(ports: Ports): Door {
  const domain = ports.settings(boxSettings).BOX_DOMAIN
  return {
    name: "previews",
    takes: (host) => host === domain || host.endsWith(`.${domain}`),
    serve: (request, response) => void serve(ports, domain, request, response),
    upgrade: (request, socket, head) => void upgrade(ports, domain, request, socket, head),
  }
}

/** The port that a request is for, with a connection to it where something listens. */
async function targetOf(ports: Ports, domain: string, request: IncomingMessage): Promise<Target> {
  const token = tokenIn(hostOf(request) ?? "", domain)
  const row = token === null ? null : await findPreview(ports.readAll, tagOf(token))
  if (row === null) return null
  try {
    const box = await ports.boxHost.find(row.box_id)
    const socket = (await box?.dial(row.port)) ?? null
    if (socket !== null) await previewSeen(ports, row)
    return { row, socket }
  } catch (error) {
    const isNoBox =
      error instanceof BoxGone ||
      error instanceof ProviderUnavailable ||
      error instanceof ProviderSilent
    if (!isNoBox) throw error
    return { row, socket: null }
  }
}

async function serve(
  ports: Ports,
  domain: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    const target = await targetOf(ports, domain, request)
    if (target === null) return pageOf(response, 404)
    if (target.socket === null) return pageOf(response, 502)
    pass(target.row.port, target.socket, request, response)
  } catch (error) {
    ports.log.warn("a preview could not be served", error)
    if (response.headersSent) response.destroy()
    else pageOf(response, 502)
  }
}

/** Passes a request on, and its answer back. */
function pass(
  port: number,
  socket: Duplex,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const agent = new Agent({ keepAlive: false })
  agent.createConnection = () => socket as never
  const { method = "GET", url = "/" } = request
  const headers = headersFor(port, request)
  const inner = httpRequest({ agent, method, path: url, headers })
  inner.on("response", (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.statusMessage, {
      ...withoutHops(answer.headers),
      "referrer-policy": "no-referrer",
      "x-robots-tag": "noindex",
    })
    answer.pipe(response)
    // Who left in the middle of a stream is not waited for.
    finished(answer, (error) => void (error && response.destroy()))
  })
  inner.on("error", () => {
    if (response.headersSent) response.destroy()
    else pageOf(response, 502)
  })
  response.on("close", () => inner.destroy())
  request.pipe(inner)
}

/** Passes a connection on that is to speak another protocol, byte for byte. */
async function upgrade(
  ports: Ports,
  domain: string,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): Promise<void> {
  try {
    const target = await targetOf(ports, domain, request)
    const inner = target?.socket ?? null
    if (target === null || inner === null) {
      socket.end(`HTTP/1.1 ${target === null ? "404 Not Found" : "502 Bad Gateway"}\r\n\r\n`)
      return
    }
    const { method = "GET", url = "/" } = request
    const fields = Object.entries({
      ...headersFor(target.row.port, request),
      connection: "Upgrade",
      upgrade: request.headers.upgrade ?? "",
    }).flatMap(([name, value]) => [value ?? []].flat().map((one) => `${name}: ${one}\r\n`))
    inner.write(`${method} ${url} HTTP/1.1\r\n${fields.join("")}\r\n`)
    inner.write(head)
    inner.pipe(socket)
    socket.pipe(inner)
    for (const [one, other] of [
      [inner, socket],
      [socket, inner],
    ] as const) {
      finished(one, () => other.destroy())
    }
  } catch (error) {
    ports.log.warn("a preview could not be served", error)
    socket.destroy()
  }
}

const withoutHops = (headers: IncomingHttpHeaders): Record<string, string | string[]> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || HOP_BY_HOP.has(name) ? [] : [[name, value]],
    ),
  )

/** The headers that what listens in the box gets: it is asked by the name that it knows itself by. */
function headersFor(port: number, { headers, socket }: IncomingMessage) {
  const own = `localhost:${port}`
  const isOriginOwn = headers.origin !== undefined && hostIn(headers.origin) === headers.host
  return {
    ...withoutHops(headers),
    host: own,
    ...(isOriginOwn ? { origin: `http://${own}` } : {}),
    "x-forwarded-for": socket.remoteAddress ?? "",
    "x-forwarded-host": headers.host ?? "",
    "x-forwarded-proto": headers["x-forwarded-proto"] === "https" ? "https" : "http",
  }
}

const hostIn = (origin: string): string | null =>
  URL.canParse(origin) ? new URL(origin).host : null
