/**
 * What a connection begins with, read before anybody serves it, and who that names. It is an optimization:
 * any process may take any call, as nginx's and Envoy's files in `deploy/` say of machines.
 */
import { METHODS } from "node:http"
import type { Socket } from "node:net"

/** A head that is longer goes to any process, which says what it thinks of that; bytes. */
const MAX_HEAD_BYTES = 16_384
/** So does one that is slower. */
const HEAD_WITHIN_MS = 10_000
/** Behind an empty line, which may come first, and with the space that ends it. */
const MAX_METHOD_CHARACTERS = Math.max(...METHODS.map(({ length }) => length)) + 2
const REQUEST_LINE = /^\S+ (\S+) HTTP\/1\.[01]$/
/** What supervisors ask of one process. */
const WORKER_URL = /^\/(?:livez|readyz|metrics)\?(\S+)$/
const API_KEY = /\bcpk_([0-9A-Za-z]+)_/
const CONSOLE_PATH = /\/console\/co_([0-9A-Za-z]+)(?:[/?#]|$)/

/** Who a connection is for. */
export interface RoutingKey {
  /** Connections of one name go to one process. */
  readonly name: string
  /** The process whose own state is asked for, from 1; null for any. */
  readonly workerNumber: number | null
}

/** Who listens, and where. */
export interface ListenerInfo {
  /** The service's own host name, as callers write it, with its port. */
  readonly ownHost: string
  /** Whether a proxy stands before it, which says last for whom it asks. */
  readonly isProxied: boolean
}

/** Takes what came next; answers who the connection names, null where more has to be read for that. */
export type RoutingKeyReader = (bytes: Buffer) => RoutingKey | null

/**
 * Reads who the beginning of a connection names: the process whose state is asked for; the company of its
 * key, or of the console's page that calls; else the host, where that is not the service's own (a preview);
 * else the caller's address, by which processes count for themselves how often somebody may try. So does
 * what is no HTTP, as soon as that is seen.
 *
 * Each byte is looked at once, and no more of them than a head may have.
 *
 * @param address where the connection comes from
 */
export function openRoutingKeyReader(listener: ListenerInfo, address: string): RoutingKeyReader {
  const head = { first: null as string | null, fields: new Map<string, string>() }
  const toAnybody: RoutingKey = { name: address, workerNumber: null }
  /** The last line, as far as it came. */
  let rest = ""
  let left = MAX_HEAD_BYTES
  /** Who a line names with those before it; null where it does not. */
  const namedByLine = (line: string): RoutingKey | null => {
    if (head.first === null) {
      // Empty lines before a request are nothing.
      if (line === "") return null
      head.first = line
      const asked = requestedWorkerIn(line)
      if (asked !== null) return { name: address, workerNumber: asked }
      return isRequestPrefix(line) && REQUEST_LINE.test(line) ? null : toAnybody
    }
    if (line === "") return routingKeyOfHead(head.first, head.fields, listener, address)
    const colon = line.indexOf(":")
    if (colon < 1) return toAnybody
    const name = line.slice(0, colon).trim().toLowerCase()
    head.fields.set(name, line.slice(colon + 1).trim())
    // A key may come late, and stands before all else.
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
    if (left <= 0) return toAnybody
    return isVerbKnown || head.first !== null || isRequestPrefix(rest) ? null : toAnybody
  }
}

/** Whether a request may begin so. */
function isRequestPrefix(line: string): boolean {
  const start = line.replace(/^\r/, "")
  return METHODS.some((verb) => `${verb} `.startsWith(start) || start.startsWith(`${verb} `))
}

/** The number of the process that a request asks about itself; null where it asks no certain one. */
function requestedWorkerIn(line: string): number | null {
  const [, target = ""] = REQUEST_LINE.exec(line) ?? []
  const [, query] = WORKER_URL.exec(target) ?? []
  const number = query === undefined ? null : new URLSearchParams(query).get("process")
  return number === null ? null : Number(number)
}

/** Who a whole head names that has no key. */
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

/** The company of a key; git sends it as a password. */
function apiKeyCompanyIn(fields: ReadonlyMap<string, string>): string | null {
  const said = fields.get("authorization") ?? ""
  const [, basic] = /^Basic +(\S+)$/i.exec(said) ?? []
  const key = basic === undefined ? said : Buffer.from(basic, "base64").toString("latin1")
  return API_KEY.exec(key)?.[1] ?? null
}

/** The company of a page of the console, or of the page that asks. */
function consoleCompanyIn(first: string, fields: ReadonlyMap<string, string>): string | null {
  const [, path = ""] = first.split(" ", 2)
  const found = CONSOLE_PATH.exec(path) ?? CONSOLE_PATH.exec(fields.get("referer") ?? "")
  return found?.[1] ?? null
}

/** The beginning of a connection, and who it names; nothing more is read of it from then on. */
export interface ConnectionStart extends RoutingKey {
  readonly head: Buffer
}

/**
 * Reads it; null for a connection that ended before it began.
 *
 * The socket's server has the high-water mark 0. So each chunk fills the stream and stops the reading, which only
 * `read(0)` begins again: what comes behind the head stays with the system, for the process that gets the socket.
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
  const toAnybody = () => done({ name: address, workerNumber: null })
  const late = setTimeout(toAnybody, HEAD_WITHIN_MS)
  socket.on("readable", () => {
    const bytes = socket.read() as Buffer | null
    if (bytes === null) return
    parts.push(bytes)
    const named = read(bytes)
    if (named === null) socket.read(0)
    else done(named)
  })
  // Who says no more may wait for an answer to what was said.
  socket.on("end", toAnybody)
  socket.on("close", () => done(null))
  socket.on("error", () => socket.destroy())
  return promise
}
