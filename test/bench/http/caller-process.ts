/**
 * Run in a process of its own, on the same cores: calls over HTTP with connections that are kept. It
 * writes and reads the bytes of HTTP itself, because Node's client takes more of a core than what it
 * would measure: with it the quick side of a ratio is as slow as the client.
 */
import { once } from "node:events"
import type { Socket } from "node:net"
import { connect } from "node:net"
import { performance } from "node:perf_hooks"
import type { Answers, Asking } from "./asking.ts"

/** Area codes whose numbers can be texted. */
const AREAS = ["212", "213", "303", "312", "404", "415", "512", "617", "702", "808"]
const LINES = 10_000
/** Exchange codes from 200 on: 800 of them in an area. */
const EXCHANGES = 800

/** How many calls were made by this process: no two text the same number or have the same name. */
let calls = 0

process.on("message", (asking: Asking) => {
  void ask(asking).then((answers) => process.send?.(answers))
})

async function ask(asking: Asking): Promise<Answers> {
  const { port, connections, forMs } = asking
  const sockets = await Promise.all(Array.from({ length: connections }, () => connected(port)))
  const statuses: Record<number, number> = {}
  const ids: string[] = []
  const begun = performance.now()
  const caller = async (socket: Socket): Promise<void> => {
    const exchange = openExchange(socket)
    while (performance.now() - begun < forMs) {
      const { status, body } = await exchange(requestOf(asking))
      statuses[status] = (statuses[status] ?? 0) + 1
      const id = asking.texts === true ? /"id":"(\w+)"/.exec(body)?.[1] : undefined
      if (status === 200 && id !== undefined) ids.push(id)
    }
  }
  await Promise.all(sockets.map(caller))
  const perSecond = ((statuses[200] ?? 0) * 1_000) / (performance.now() - begun)
  for (const socket of sockets) socket.destroy()
  return { statuses, perSecond, ids }
}

async function connected(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1")
  await once(socket, "connect")
  return socket.setNoDelay(true).setEncoding("latin1")
}

function requestOf({ method, path, keys, texts = false, named = false }: Asking): string {
  const own = calls
  calls += 1
  const body = texts ? JSON.stringify({ to: numberOf(own), body: `Text ${own} of many.` }) : ""
  return [
    `${method} ${path} HTTP/1.1`,
    "host: 127.0.0.1",
    `authorization: Bearer ${keys[own % keys.length]}`,
    ...(named ? [`idempotency-key: call-${own}`] : []),
    ...(texts ? ["content-type: application/json", `content-length: ${body.length}`] : []),
    "",
    body,
  ].join("\r\n")
}

function numberOf(own: number): string {
  const area = AREAS[own % AREAS.length]
  const rest = Math.floor(own / AREAS.length)
  const exchange = 200 + (Math.floor(rest / LINES) % EXCHANGES)
  return `+1${area}${exchange}${String(rest % LINES).padStart(4, "0")}`
}

interface Exchanged {
  readonly status: number
  readonly body: string
}

/** Sends one request after the other over a connection, each once the one before was answered. */
function openExchange(socket: Socket): (request: string) => Promise<Exchanged> {
  let waiting: PromiseWithResolvers<Exchanged> | null = null
  let came = ""
  const lost = (): void => waiting?.reject(new Error("a connection ended without an answer"))
  socket.on("error", lost).on("close", lost)
  socket.on("data", (chunk: string) => {
    came += chunk
    const answer = answerIn(came)
    if (answer === null) return
    came = ""
    waiting?.resolve(answer)
  })
  return (request) => {
    waiting = Promise.withResolvers()
    socket.write(request, "latin1")
    return waiting.promise
  }
}

/** The answer that these bytes are; null as long as some of them are missing. */
function answerIn(came: string): Exchanged | null {
  const head = came.indexOf("\r\n\r\n")
  if (head === -1) return null
  const length = /\r\ncontent-length: (\d+)/i.exec(came.slice(0, head))?.[1]
  if (length === undefined) throw new Error("an answer does not say how long it is")
  const body = came.slice(head + 4)
  if (body.length < Number(length)) return null
  return { status: Number(came.slice(9, 12)), body }
}
