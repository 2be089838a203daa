/**
 * What a connection begins with, read before anybody serves it, and who that names. It is an optimization:
 * any process may take any call, as nginx's and Envoy's files in `deploy/` say of machines.
 */
import type { Socket } from "node:net"

/** A head that is longer goes to any process, which says what it thinks of that; bytes. */
const LONGEST_HEAD = 16_384
/** So does one that is slower. */
const HEAD_WITHIN_MS = 10_000
const END_OF_HEAD = "\r\n\r\n"
const KEY = /\bcpk_([0-9A-Za-z]+)_/
const CONSOLE = /\/console\/co_([0-9A-Za-z]+)(?:[/?#]|$)/

/** Who a connection is for. */
export interface Named {
  /** Connections of one name go to one process. */
  readonly name: string
  /** The process whose own state is asked for, from 1; null for any. */
  readonly process: number | null
}

/** Who listens, and where. */
export interface Listener {
  /** The service's own host name, as callers write it, with its port. */
  readonly ownHost: string
  /** Whether a proxy stands before it, which says last for whom it asks. */
  readonly isProxied: boolean
}

/**
 * Who the beginning of a connection names: the company of its key, or of the console's page that calls; else
 * the host, where that is not the service's own (a preview); else the caller's address, by which processes
 * count for themselves how often somebody may try.
 *
 * @param address where the connection comes from
 * @returns null where more has to be read for it
 */
export function namedBy(
  head: string,
  { ownHost, isProxied }: Listener,
  address: string,
): Named | null {
  const end = head.indexOf(END_OF_HEAD)
  const lines = head.slice(0, end === -1 ? undefined : end).split("\r\n")
  // The last line may not be whole.
  const [first = "", ...others] = end === -1 ? lines.slice(0, -1) : lines
  const fields = new Map(others.map(fieldOf))
  const key = keyIn(fields)
  if (key !== null) return { name: key, process: null }
  // A key may come still, and stands before all else.
  if (end === -1) return null
  const page = pageIn(first, fields)
  if (page !== null) return { name: page, process: null }
  const [, number] = /^GET \/(?:livez|readyz|metrics)\?process=(\d{1,4}) /.exec(first) ?? []
  const host = fields.get("host")?.toLowerCase()
  const forwarded = isProxied ? fields.get("x-forwarded-for")?.split(",").at(-1)?.trim() : undefined
  return {
    name: host === undefined || host === ownHost ? (forwarded ?? address) : host,
    process: number === undefined ? null : Number(number),
  }
}

function fieldOf(line: string): readonly [string, string] {
  const colon = line.indexOf(":")
  return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()]
}

/** The company of a key; git sends it as a password. */
function keyIn(fields: ReadonlyMap<string, string>): string | null {
  const said = fields.get("authorization") ?? ""
  const [, basic] = /^Basic +(\S+)$/i.exec(said) ?? []
  const key = basic === undefined ? said : Buffer.from(basic, "base64").toString("latin1")
  return KEY.exec(key)?.[1] ?? null
}

/** The company of a page of the console, or of the page that asks. */
function pageIn(first: string, fields: ReadonlyMap<string, string>): string | null {
  const [, path = ""] = first.split(" ", 2)
  const found = CONSOLE.exec(path) ?? CONSOLE.exec(fields.get("referer") ?? "")
  return found?.[1] ?? null
}

/** The beginning of a connection, and who it names; nothing more is read of it from then on. */
export interface Beginning extends Named {
  readonly head: Buffer
}

/** Reads it; null for a connection that ended before it began. */
export function beginningOf(socket: Socket, listener: Listener): Promise<Beginning | null> {
  const { remoteAddress: address = "" } = socket
  const { promise, resolve } = Promise.withResolvers<Beginning | null>()
  let head: Buffer = Buffer.alloc(0)
  const done = (named: Named | null) => {
    clearTimeout(late)
    socket.removeAllListeners("data").removeAllListeners("end").removeAllListeners("close")
    if (named === null) return resolve(null)
    stopReading(socket)
    resolve({ ...named, head })
  }
  const toAnybody = () => done({ name: address, process: null })
  const late = setTimeout(toAnybody, HEAD_WITHIN_MS)
  socket.on("data", (bytes: Buffer) => {
    head = head.length === 0 ? bytes : Buffer.concat([head, bytes])
    const named = namedBy(head.toString("latin1"), listener, address)
    if (named !== null) done(named)
    else if (head.length > LONGEST_HEAD) toAnybody()
  })
  // Who says no more may wait for an answer to what was said.
  socket.on("end", toAnybody)
  socket.on("close", () => done(null))
  socket.on("error", () => socket.destroy())
  return promise
}

/**
 * Leaves what comes from now on to who gets the socket. A paused stream goes on reading until it is full, and
 * the framework's own way (`pauseOnConnect`) is for sockets of which nothing was read.
 */
function stopReading(socket: Socket): void {
  const { _handle: handle } = socket as unknown as { _handle: { readStop: () => number } | null }
  handle?.readStop()
}
