/**
 * Reads the routing key from the beginning of a connection. Routing is an optimization: any worker
 * can serve any call, like the machines behind nginx and Envoy in `deploy/`.
 */
import { METHODS } from "node:http"
import type { Socket } from "node:net"

/** A connection with a longer head goes to any worker, which rejects it; bytes. */
const MAX_HEAD_BYTES = 16_384
/** So does a slower one. */
const HEAD_WITHIN_MS = 10_000
/** Including an empty line before it and the space after it. */
const MAX_METHOD_CHARACTERS = Math.max(...METHODS.map(({ length }) => length)) + 2
const REQUEST_LINE = /^\S+ (\S+) HTTP\/1\.[01]$/
/** The URLs that a supervisor asks of one worker. */
const WORKER_URL = /^\/(?:livez|readyz|metrics)\?(\S+)$/
const API_KEY = /\bcpk_([0-9A-Za-z]+)_/
const CONSOLE_PATH = /\/console\/co_([0-9A-Za-z]+)(?:[/?#]|$)/

export interface RoutingKey {
  /** Connections with the same name go to the same worker. */
  readonly name: string
  /** The worker whose own state is requested, from 1; null for any. */
  readonly workerNumber: number | null
}

/** How the service is reached. */
export interface ListenerInfo {
  /** The service's own host name with its port, as callers write it. */
  readonly ownHost: string
  /** Whether a proxy is in front, which appends the client's address to X-Forwarded-For. */
  readonly isProxied: boolean
}

/** Takes the next bytes; returns the routing key, or null if more bytes are needed. */
export type RoutingKeyReader = (bytes: Buffer) => RoutingKey | null

/**
 * Reads the routing key: the worker whose state is requested; else the company of the API key or
 * console page; else a host that is not the service's own (a preview); else the client's address,
 * because workers count sign-in attempts by address. Bytes that are not HTTP get the address
 * immediately.
 *
 * Each byte is read once, up to the maximum head.
 *
 * @param address the client's address
 */
export function openRoutingKeyReader(listener: ListenerInfo, address: string): RoutingKeyReader {
  const head = { first: null as string | null, fields: new Map<string, string>() }
  const anyWorker: RoutingKey = { name: address, workerNumber: null }
  /** The last line, as far as it was read. */
  let rest = ""
  let left = MAX_HEAD_BYTES
  /** The routing key after a line; null if it is not known yet. */
  const namedByLine = (line: string): RoutingKey | null => {
    if (head.first === null) {
      // HTTP allows empty lines before a request.
      if (line === "") return null
      head.first = line
      const workerNumber = requestedWorkerIn(line)
      if (workerNumber !== null) return { name: address, workerNumber }
      return isRequestPrefix(line) && REQUEST_LINE.test(line) ? null : anyWorker
    }
    if (line === "") return routingKeyOfHead(head.first, head.fields, listener, address)
    const colon = line.indexOf(":")
    if (colon < 1) return anyWorker
    const name = line.slice(0, colon).trim().toLowerCase()
    head.fields.set(name, line.slice(colon + 1).trim())
    // A key may come in a late header and has priority.
    const key = name === "authorization" ? apiKeyCompanyIn(head.fields) : null
    return key === null ? null : { name: key, workerNumber: null }
  }
  return (bytes) => {
    const [more = "", ...others] = bytes.toString("latin1", 0, left).split("\n")
    left -= bytes.length
    const isVerbKnown = head.first !== null || rest.length > MAX_METHOD_CHARACTERS
    rest += more
    for (const next of others) {
      const named = namedByLine(rest.replace(/\r$/, ""))
      if (named !== null) return named
      rest = next
    }
    if (left <= 0) return anyWorker
    return isVerbKnown || head.first !== null || isRequestPrefix(rest) ? null : anyWorker
  }
}

/** Whether a request can begin with this text. */
function isRequestPrefix(line: string): boolean {
  const start = line.replace(/^\r/, "")
  return METHODS.some((verb) => `${verb} `.startsWith(start) || start.startsWith(`${verb} `))
}

/** The number of the worker whose state is requested; null for none. */
function requestedWorkerIn(line: string): number | null {
  const [, target = ""] = REQUEST_LINE.exec(line) ?? []
  const [, query] = WORKER_URL.exec(target) ?? []
  const number = query === undefined ? null : new URLSearchParams(query).get("process")
  return number === null ? null : Number(number)
}

/** The routing key of a complete head without an API key. */
function routingKeyOfHead(
  first: string,
  fields: ReadonlyMap<string, string>,
  { ownHost, isProxied }: ListenerInfo,
  address: string,
): RoutingKey {
  const page = consoleCompanyIn(first, fields)
  if (page !== null) return { name: page, workerNumber: null }
  const host = fields.get("host")?.toLowerCase()
  const forwarded = isProxied ? fields.get("x-forwarded-for")?.split(",").at(-1)?.trim() : undefined
  const isOwn = host === undefined || host === ownHost
  return { name: isOwn ? (forwarded ?? address) : host, workerNumber: null }
}

/** The company of an API key; git sends the key as a password. */
function apiKeyCompanyIn(fields: ReadonlyMap<string, string>): string | null {
  const authorization = fields.get("authorization") ?? ""
  const [, basic] = /^Basic +(\S+)$/i.exec(authorization) ?? []
  const key = basic === undefined ? authorization : Buffer.from(basic, "base64").toString("latin1")
  return API_KEY.exec(key)?.[1] ?? null
}

/** The company of a console page, or of the page that sent the request. */
function consoleCompanyIn(first: string, fields: ReadonlyMap<string, string>): string | null {
  const [, path = ""] = first.split(" ", 2)
  const found = CONSOLE_PATH.exec(path) ?? CONSOLE_PATH.exec(fields.get("referer") ?? "")
  return found?.[1] ?? null
}

/** The bytes read from a connection, and its routing key. */
export interface ConnectionStart extends RoutingKey {
  readonly head: Buffer
}

/**
 * Reads the beginning of a connection; null if it ended first.
 *
 * The server's high-water mark is 0, so each chunk fills the stream and stops reading until
 * `read(0)`. Bytes after the head stay in the kernel for the worker that gets the socket.
 */
export function readConnectionStart(
  socket: Socket,
  listener: ListenerInfo,
): Promise<ConnectionStart | null> {
  const { remoteAddress: address = "" } = socket
  const { promise, resolve } = Promise.withResolvers<ConnectionStart | null>()
  const read = openRoutingKeyReader(listener, address)
  const parts: Buffer[] = []
  const done = (named: RoutingKey | null) => {
    clearTimeout(late)
    socket.removeAllListeners("readable").removeAllListeners("end").removeAllListeners("close")
    resolve(named === null ? null : { ...named, head: Buffer.concat(parts) })
  }
  const anyWorker = () => done({ name: address, workerNumber: null })
  const late = setTimeout(anyWorker, HEAD_WITHIN_MS)
  socket.on("readable", () => {
    const bytes = socket.read() as Buffer | null
    if (bytes === null) return
    parts.push(bytes)
    const named = read(bytes)
    if (named === null) socket.read(0)
    else done(named)
  })
  // A half-closed client may still wait for its answer.
  socket.on("end", anyWorker)
  socket.on("close", () => done(null))
  socket.on("error", () => socket.destroy())
  return promise
}
