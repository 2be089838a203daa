/** Host routes over raw HTTP: they get requests unchanged, but no request that names two hosts. */
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { connect } from "node:net"
import { afterAll, describe, expect, it } from "vitest"
import { buildApp } from "../../src/frame/http/app.ts"
import type { HostRoute } from "../../src/frame/http/host-routes.ts"
import { PROGRAM } from "../../src/slices.ts"
import { sharedWorld } from "../support/world.ts"

const hostRoute: HostRoute = {
  name: "sample",
  matches: (host) => host.endsWith(".host.test"),
  serve: (request, response, { address }) => {
    response.end(`served ${request.method} ${request.url} from ${address}`)
  },
  upgrade: (request, socket) => socket.end(`HTTP/1.1 101 Yes\r\nx-url: ${request.url}\r\n\r\n`),
}

const world = await sharedWorld()
const app = await buildApp(world.ports, PROGRAM.entries, PROGRAM.retiredPaths, {
  rateLimits: "on",
  ownHost: "api.test",
  hostRoutes: [hostRoute],
})
await app.listen({ host: "127.0.0.1", port: 0 })
afterAll(() => app.close())

/** Sends these lines of a request and returns the answer. */
async function send(...lines: readonly string[]): Promise<string> {
  const { port } = app.server.address() as AddressInfo
  const socket = connect(port, "127.0.0.1")
  let text = ""
  socket.on("data", (piece) => (text += piece.toString()))
  socket.write([...lines, "connection: close", "", ""].join("\r\n"))
  await once(socket, "close")
  return text
}

const TO_HOST_ROUTE = "host: a.host.test"
const TO_API = "host: api.test"

describe("a target", () => {
  it.for([
    ["/api/v1/account"],
    ["/%"],
    ["/%zz"],
    ["//evil.test/x"],
    [`/${"a".repeat(3_000)}`],
    ["/served"],
    ["*"],
    ["/a#b"],
  ])("%s reaches a host route unchanged", async ([target = ""]) => {
    const method = target === "*" ? "OPTIONS" : "PROPFIND"
    const answer = await send(`${method} ${target} HTTP/1.1`, TO_HOST_ROUTE)
    expect(answer).toContain(`served ${method} ${target} from 127.0.0.1`)
  })

  it("with a host reaches a host route without it", async () => {
    for (const [target, path] of [
      ["http://a.host.test/x?y", "/x?y"],
      ["HTTP://A.host.test:80", "/"],
      ["http://a.host.test?y", "/?y"],
      ["http://a.host.test//evil.test", "//evil.test"],
    ]) {
      expect(await send(`GET ${target} HTTP/1.1`, TO_HOST_ROUTE)).toContain(
        `served GET ${path} from`,
      )
    }
  })
})

describe("a request that names two hosts", () => {
  it.for([
    ["GET / HTTP/1.1", TO_HOST_ROUTE, TO_HOST_ROUTE],
    ["GET / HTTP/1.1", TO_HOST_ROUTE, TO_API],
    ["GET /livez HTTP/1.1", TO_API, TO_HOST_ROUTE],
    ["GET http://api.test/livez HTTP/1.1", TO_HOST_ROUTE],
    ["GET http://a.host.test/livez HTTP/1.1", TO_API],
    ["GET http://b.host.test/ HTTP/1.1", TO_HOST_ROUTE],
    ["GET http://a.host.test@b.host.test/ HTTP/1.1", TO_HOST_ROUTE],
    ["GET http://[/ HTTP/1.1", TO_HOST_ROUTE],
  ])("is rejected: %j", async (lines) => {
    const answer = await send(...lines)
    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
    expect(answer).toContain('"error":"validation"')
  })

  it("cannot upgrade to another protocol", async () => {
    const offer = ["connection: upgrade", "upgrade: x"]
    for (const lines of [
      ["GET / HTTP/1.1", TO_HOST_ROUTE, TO_API, ...offer],
      ["GET http://b.host.test/ HTTP/1.1", TO_HOST_ROUTE, ...offer],
    ]) {
      expect(await send(...lines)).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
    }
    const agreed = await send("GET http://a.host.test/x HTTP/1.1", TO_HOST_ROUTE, ...offer)
    expect(agreed).toContain("x-url: /x\r\n")
  })

  it("is accepted if both are the API's host", async () => {
    expect(await send("GET http://api.test/livez HTTP/1.1", TO_API)).toMatch(
      /^HTTP\/1\.1 200 OK\r\n/,
    )
  })
})
