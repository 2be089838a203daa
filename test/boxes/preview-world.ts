/** A world that listens, with a box; tests listen on its ports and visit its links. */
import { once } from "node:events"
import type { IncomingMessage, RequestListener } from "node:http"
import { createServer as createHttpServer, request } from "node:http"
import type { AddressInfo, Server, Socket } from "node:net"
import { connect, createServer } from "node:net"
import { afterAll, expect } from "vitest"
import type { BoxHost } from "../../adapters/sandbox/boxhost/port.ts"
import { BOXES_PATH, makeBoxCompany, ownBoxWorld, startBoxAndWait } from "./box-world.ts"

export interface VisitResponse {
  readonly status: number
  readonly headers: IncomingMessage["headers"]
  readonly body: string
}

export interface VisitOptions {
  readonly method?: string
  readonly path?: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string | Buffer
}

/** A world with a box and a visitor of its links. */
export type PreviewWorld = Awaited<ReturnType<typeof ownPreviewWorld>>

/** Opens a preview world. Call it at the top level of the file. */
export async function ownPreviewWorld() {
  const one = await ownBoxWorld()
  const { world } = one
  const machine = openListeners<number>()
  const boxHost: { find: BoxHost["find"] } = world.ports.boxHost
  const { find } = boxHost
  boxHost.find = async (id) => {
    const box = await find(id)
    if (box === null) return null
    return {
      ...box,
      connectToPort: async (port) => (await machine.dial(port)) ?? box.connectToPort(port),
    }
  }
  const company = await makeBoxCompany(one)
  const boxId = await startBoxAndWait(world, company)
  afterAll(machine.close)
  const openLink = (port: number, id = boxId) =>
    world.call(company.key, "POST", `${BOXES_PATH}/${id}/previews`, { body: { port } })
  return {
    one,
    company,
    boxId,
    openLink,
    ...newVisitor(Number(new URL(one.server).port)),
    /** Listens on a port of the box. */
    listen: machine.listen,
    /** Opens a link; returns its host name. */
    hostOf: async (port: number) => {
      const { status, body } = await openLink(port)
      expect(status).toBe(200)
      return new URL(body.url).host
    },
  }
}

/** A client that visits hosts of a server on a port. */
export function newVisitor(port: number) {
  /** Starts a request; the caller sends the body. */
  const startRequest = (host: string, { method = "GET", path = "/", headers }: VisitOptions = {}) =>
    request({ host: "127.0.0.1", port, method, path, agent: false, headers: { host, ...headers } })
  return {
    startRequest,
    visit: async (host: string, visit: VisitOptions = {}): Promise<VisitResponse> => {
      const outgoing = startRequest(host, visit)
      outgoing.end(visit.body)
      const [answer] = (await once(outgoing, "response")) as [IncomingMessage]
      const body = await readText(answer)
      return { status: answer.statusCode ?? 0, headers: answer.headers, body }
    },
    /** Opens a connection and sends bytes. */
    sendRaw: (bytes: string) => {
      const socket = connect(port, "127.0.0.1")
      socket.write(bytes)
      return socket
    },
  }
}

/** Listeners in boxes and apps by name, over local connections. */
export function openListeners<Name>() {
  const servers = new Map<Name, Server>()
  const sockets = new Set<Socket>()
  return {
    listen: async (name: Name, handle: (socket: Socket) => void) => {
      const inner = createServer((socket) => {
        sockets.add(socket)
        socket.on("error", () => undefined)
        handle(socket)
      })
      servers.get(name)?.close()
      servers.set(name, inner)
      await once(inner.listen(0, "127.0.0.1"), "listening")
    },
    dial: async (name: Name) => {
      const inner = servers.get(name)
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

/** Reads an answer to its end. @throws if it is aborted */
export async function readText(answer: AsyncIterable<unknown>): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of answer) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}

/** Handles the connections of a port with an HTTP listener. */
export function httpSocketHandler(listener: RequestListener): (socket: Socket) => void {
  const inner = createHttpServer(listener)
  return (socket) => inner.emit("connection", socket)
}
