/** Answers to what never becomes a call of a route, because HTTP itself says no to it. */
import type { IncomingMessage, ServerResponse } from "node:http"
import { STATUS_CODES } from "node:http"
import type { Socket } from "node:net"
import { newId } from "../kernel/ids.ts"
import type { Refusal } from "../routes/answers/refusal.ts"
import { bodyOf, refusal } from "../routes/answers/refusal.ts"
import { isTwofold } from "./hosts.ts"

const JSON_TYPE = "application/json; charset=utf-8"
const NO_REQUEST = "These bytes are no HTTP request that can be served."

/** A new name for a request. */
export function newRequestId(): string {
  return newId("req")
}

/** The code of a request for another protocol than HTTP where none is spoken. */
export const NO_UPGRADE = "NO_UPGRADE"

/** The code of a request for another protocol that names more hosts than one. */
export const TWO_HOSTS = "TWO_HOSTS"

/** Statuses of requests that ended before there was one, and why; others are 400. */
const OF_BYTES: Readonly<Record<string, readonly [status: number, why: string]>> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, "The whole of it did not come in time."],
  [TWO_HOSTS]: [400, "It does not say, once, which host it asks."],
  [NO_UPGRADE]: [400, "No other protocol is spoken here: ask without Upgrade."],
  HPE_HEADER_OVERFLOW: [431, "Its headers are too large: they may have 16 KiB in all."],
}

/** Answers bytes that are no HTTP request, as far as the socket still takes an answer. */
export function refuseBytes(error: { readonly code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy(error as Error)
    return
  }
  const [status, why] = OF_BYTES[error.code ?? ""] ?? [400, NO_REQUEST]
  const body = JSON.stringify(bodyOf(invalid({ request: why })))
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nx-request-id: ${newRequestId()}\r\n` +
      `cache-control: no-store\r\ncontent-type: ${JSON_TYPE}\r\ncontent-length: ${body.length}\r\n` +
      `connection: close\r\n\r\n${body}`,
  )
}

/** Answers a request that expects what no server here does: anything but `100-continue`. */
export function refuseExpectation(_request: IncomingMessage, response: ServerResponse): void {
  const body = JSON.stringify(
    bodyOf(invalid({ Expect: "Must be 100-continue, where it is sent at all." })),
  )
  // Its body is not read: what comes behind it on this connection cannot be told from it.
  response.writeHead(417, {
    "x-request-id": newRequestId(),
    "cache-control": "no-store",
    "content-type": JSON_TYPE,
    "content-length": body.length,
    connection: "close",
  })
  response.end(body)
}

/** The refusal of a request that does not say, once, whom it asks; null where it does, or need not. */
export function hostRefusal(request: IncomingMessage): Refusal | null {
  const { headers, rawHeaders, httpVersion } = request
  const hosts = rawHeaders.filter((name, i) => i % 2 === 0 && name.toLowerCase() === "host")
  // Node takes the first; whoever stands before this server may have taken the other.
  if (hosts.length > 1) return invalid({ Host: "Must be sent once." })
  if (isTwofold(request)) return invalid({ Host: "Must be the one that the target names." })
  if (httpVersion !== "1.1" || headers.host !== undefined) return null
  return invalid({ Host: "Must be sent, as HTTP/1.1 has it." })
}

function invalid(fields: Readonly<Record<string, string>>): Refusal {
  return refusal("validation", "This is no valid request.", { fields })
}
