/** A world that listens, with a box whose links are visited; what listens in the box is the test's. */
import { once } from "node:events"
import type { IncomingMessage, RequestListener } from "node:http"
import { createServer as createHttpServer, request } from "node:http"
import type { AddressInfo, Server, Socket } from "node:net"
import { connect, createServer } from "node:net"
import { afterAll, expect } from "vitest"
import type { BoxHost } from "../../adapters/providers/boxhost/port.ts"
import type { BoxId } from "../../domain/boxes/ids.ts"
import type { CodeWorld } from "../code/code-world.ts"
import type { ApiAnswer, Company } from "../support/world.ts"
import { BOXES, makeBoxCompany, boxWorld, running } from "./boxes-world.ts"

/** What is answered to a visitor. */
export interface Visited {
  readonly status: number
  readonly headers: IncomingMessage["headers"]
  readonly body: string
}

/** How a link is visited. */
export interface Visit {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string | Buffer
}

/** One. */
export interface PreviewWorld {
  readonly one: CodeWorld
  readonly company: Company
  readonly boxId: BoxId
  /** The port that the server listens on. */
  readonly server: number
  /** Has something listen in the box, beside the built-in pages. */
  readonly listen: (port: number, handle: (socket: Socket) => void) => Promise<void>
  readonly opened: (port: number, boxId?: BoxId) => Promise<ApiAnswer>
  /** Opens a link; answers its host name. */
  readonly hostOf: (port: number) => Promise<string>
  /** Begins a request; its body is the caller's to send. */
  readonly begin: (host: string, visit?: Visit) => ReturnType<typeof request>
  readonly visit: (host: string, visit?: Visit) => Promise<Visited>
  /** A connection that says something else than HTTP's clients do. */
  readonly say: (bytes: string) => Socket
}

/** Opens one for the calling file, at its top level. */
export async function previewWorld(): Promise<PreviewWorld> {
  const one = await boxWorld()
  const { world } = one
  const machine = openMachine()
  const boxHost: { find: BoxHost["find"] } = world.ports.boxHost
  const { find } = boxHost
  boxHost.find = async (id) => {
    const box = await find(id)
    if (box === null) return null
    return { ...box, dial: async (port) => (await machine.dial(port)) ?? box.dial(port) }
  }
  const company = await makeBoxCompany(one)
  const boxId = await running(world, company)
  const server = Number(new URL(one.server).port)
  afterAll(machine.close)
  const opened: PreviewWorld["opened"] = (port, id = boxId) =>
    world.call(company.key, "POST", `${BOXES}/${id}/previews`, { body: { port } })
  const begin: PreviewWorld["begin"] = (host, { method = "GET", path = "/", headers } = {}) =>
    request({
      host: "127.0.0.1",
      port: server,
      method,
      path,
      agent: false,
      headers: { host, ...headers },
    })
  return {
    one,
    company,
    boxId,
    server,
    opened,
    begin,
    listen: machine.listen,
    hostOf: async (port) => {
      const { status, body } = await opened(port)
      expect(status).toBe(200)
      return new URL(body.url).host
    },
    visit: async (host, visit = {}) => {
      const asked = begin(host, visit)
      asked.end(visit.body)
      const [answer] = (await once(asked, "response")) as [IncomingMessage]
      const body = await textOf(answer)
      return { status: answer.statusCode ?? 0, headers: answer.headers, body }
    },
    say: (bytes) => {
      const socket = connect(server, "127.0.0.1")
      socket.write(bytes)
      return socket
    },
  }
}

/** What listens in a box, over connections of this machine. */
function openMachine() {
  const servers = new Map<number, Server>()
  const sockets = new Set<Socket>()
  return {
    listen: async (port: number, handle: (socket: Socket) => void) => {
      const inner = createServer((socket) => {
        sockets.add(socket)
        socket.on("error", () => undefined)
        handle(socket)
      })
      servers.get(port)?.close()
      servers.set(port, inner)
      await once(inner.listen(0, "127.0.0.1"), "listening")
    },
    dial: async (port: number) => {
      const inner = servers.get(port)
      if (inner === undefined) return null
      const socket = connect((inner.address() as AddressInfo).port, "127.0.0.1")
      await once(socket, "connect")
      return socket
    },
    close: () => {
      for (const socket of sockets) socket.destroy()
      for (const inner of servers.values()) inner.close()
    },
  }
}

/** The whole of an answer. @throws where it is torn */
export async function textOf(answer: AsyncIterable<unknown>): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of answer) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}

/** What answers HTTP in a box. */
export function answering(listener: RequestListener): (socket: Socket) => void {
  const inner = createHttpServer(listener)
  return (socket) => inner.emit("connection", socket)
}
