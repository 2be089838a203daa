/** Doors on the wire: what is asked of them comes to them whole, and nothing comes that names two hosts. */
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { connect } from "node:net"
import { afterAll, describe, expect, it } from "vitest"
import { buildApp } from "../../src/frame/http/app.ts"
import type { HostRoute } from "../../src/frame/http/host-routes.ts"
import { PROGRAM } from "../../src/slices.ts"
import { sharedWorld } from "../support/world.ts"

const door: HostRoute = {
  name: "door",
  matches: (host) => host.endsWith(".door.test"),
  serve: (request, response, { address }) => {
    response.end(`door ${request.method} ${request.url} from ${address}`)
  },
  upgrade: (request, socket) => socket.end(`HTTP/1.1 101 Yes\r\nx-url: ${request.url}\r\n\r\n`),
}

const world = await sharedWorld()
const app = await buildApp(world.ports, PROGRAM.entries, PROGRAM.retiredPaths, {
  rateLimits: "on",
  ownHost: "api.test",
  hostRoutes: [door],
})
await app.listen({ host: "127.0.0.1", port: 0 })
afterAll(() => app.close())

/** What is heard to these lines of a head. */
async function heard(...lines: readonly string[]): Promise<string> {
  const { port } = app.server.address() as AddressInfo
  const socket = connect(port, "127.0.0.1")
  let text = ""
  socket.on("data", (piece) => (text += piece.toString()))
  socket.write([...lines, "connection: close", "", ""].join("\r\n"))
  await once(socket, "close")
  return text
}

const DOORS = "host: a.door.test"
const APIS = "host: api.test"

describe("a target", () => {
  it.for([
    ["/api/v1/account"],
    ["/%"],
    ["/%zz"],
    ["//evil.test/x"],
    [`/${"a".repeat(3_000)}`],
    ["/door"],
    ["*"],
    ["/a#b"],
  ])("%s comes to a door as it was sent", async ([target = ""]) => {
    const method = target === "*" ? "OPTIONS" : "PROPFIND"
    const answer = await heard(`${method} ${target} HTTP/1.1`, DOORS)
    expect(answer).toContain(`door ${method} ${target} from 127.0.0.1`)
  })

  it("with its host comes without it", async () => {
    for (const [target, path] of [
      ["http://a.door.test/x?y", "/x?y"],
      ["HTTP://A.door.test:80", "/"],
      ["http://a.door.test?y", "/?y"],
      ["http://a.door.test//evil.test", "//evil.test"],
    ]) {
      expect(await heard(`GET ${target} HTTP/1.1`, DOORS)).toContain(`door GET ${path} from`)
    }
  })
})

describe("a request of two hosts", () => {
  it.for([
    ["GET / HTTP/1.1", DOORS, DOORS],
    ["GET / HTTP/1.1", DOORS, APIS],
    ["GET /livez HTTP/1.1", APIS, DOORS],
    ["GET http://api.test/livez HTTP/1.1", DOORS],
    ["GET http://a.door.test/livez HTTP/1.1", APIS],
    ["GET http://b.door.test/ HTTP/1.1", DOORS],
    ["GET http://a.door.test@b.door.test/ HTTP/1.1", DOORS],
    ["GET http://[/ HTTP/1.1", DOORS],
  ])("is nobody's: %j", async (lines) => {
    const answer = await heard(...lines)
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
    expect(answer).toContain('"error":"validation"')
  })

  it("speaks no other protocol either", async () => {
    const offer = ["connection: upgrade", "upgrade: x"]
    for (const lines of [
      ["GET / HTTP/1.1", DOORS, APIS, ...offer],
      ["GET http://b.door.test/ HTTP/1.1", DOORS, ...offer],
    ]) {
      expect(await heard(...lines)).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
    }
    const agreed = await heard("GET http://a.door.test/x HTTP/1.1", DOORS, ...offer)
    expect(agreed).toContain("x-url: /x\r\n")
  })

  it("is one of the API's where it names that twice", async () => {
    expect(await heard("GET http://api.test/livez HTTP/1.1", APIS)).toMatch(
      /^HTTP\/1\.1 200 OK\r\n/,
    )
  })
})
