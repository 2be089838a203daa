/** Host names select a host route or the API; behind a proxy, the caller's address comes from a header. */
import { once } from "node:events"
import type { AddressInfo } from "node:net"
import { connect } from "node:net"
import { afterAll, describe, expect, it } from "vitest"
import { readConfig } from "../../src/bootstrap/settings/config.ts"
import type { HostRoute } from "../../src/frame/http/host-routes.ts"
import { rateLimitAddress } from "../../src/frame/http/host-routes.ts"
import { buildApp } from "../../src/frame/http/app.ts"
import { RATE_LIMITS } from "../../src/frame/routes/checks/rate-limits.ts"
import { PROGRAM } from "../../src/slices.ts"
import { sharedWorld, freezeRateWindow } from "../support/world.ts"

const boxes: HostRoute = {
  name: "boxes",
  matches: (host) => host.endsWith(".box.test"),
  serve: (request, response) => {
    response.writeHead(200, { "content-type": "text/plain" })
    response.end(`box ${request.url}`)
  },
  upgrade: (_request, socket) => {
    socket.end("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n")
  },
}

const world = await sharedWorld()
const app = await buildApp(world.ports, PROGRAM.entries, PROGRAM.retiredPaths, {
  rateLimits: "on",
  ownHost: "api.test",
  hostRoutes: [boxes],
})
afterAll(() => app.close())

const get = async (host: string, url = "/livez") =>
  app.inject({ method: "GET", url, headers: { host } })

describe("a host name", () => {
  it.for(["api.test", "API.test:443", "api.test.", "localhost:3000", "127.0.0.1", "[::1]:3000"])(
    "%s belongs to the API",
    async (host) => {
      expect((await get(host)).body).toBe("ok\n")
    },
  )

  it.for(["other.test", "api.test.evil.test", "box.test", "x"])(
    "%s is rejected as misdirected",
    async (host) => {
      const answer = await get(host, "/api/v1/account")
      expect([answer.statusCode, answer.json().error]).toEqual([421, "misdirected"])
      expect(answer.headers["x-request-id"]).toMatch(/^req_/)
    },
  )

  it.for(["a.box.test", "A.BOX.test:8080"])(
    "%s selects its host route for any path",
    async (host) => {
      expect((await get(host, "/api/v1/account")).body).toBe("box /api/v1/account")
      expect((await get(host, "/nowhere")).body).toBe("box /nowhere")
    },
  )

  it("without a dot, of the API itself or of an IP address is not matched by host routes", async () => {
    const matched: string[] = []
    const matches = (host: string) => {
      matched.push(host)
      return false
    }
    const own = await buildApp(world.ports, PROGRAM.entries, PROGRAM.retiredPaths, {
      rateLimits: "on",
      ownHost: "api.test",
      hostRoutes: [{ ...boxes, matches }],
    })
    const hosts = [
      "api.test",
      "API.test:443",
      "localhost:3000",
      "127.0.0.1",
      "[::1]:3000",
      "a.test",
    ]
    for (const host of hosts) await own.inject({ method: "GET", url: "/livez", headers: { host } })
    expect(new Set(matched)).toEqual(new Set(["a.test"]))
    await own.close()
  })

  it("may be any if no public URL is set", async () => {
    const open = await buildApp(world.ports, PROGRAM.entries, PROGRAM.retiredPaths)
    const answer = await open.inject({ method: "GET", url: "/livez", headers: { host: "x.test" } })
    expect(answer.body).toBe("ok\n")
    await open.close()
  })
})

describe("an upgrade to another protocol", () => {
  it("is handled by its host route and ignored by the API", async () => {
    const listening = await buildApp(world.ports, PROGRAM.entries, PROGRAM.retiredPaths, {
      rateLimits: "on",
      hostRoutes: [boxes],
    })
    await listening.listen({ host: "127.0.0.1", port: 0 })
    const { port } = listening.server.address() as AddressInfo
    const upgrade = async (host: string): Promise<string> => {
      const socket = connect(port, "127.0.0.1")
      let answer = ""
      socket.on("data", (piece) => (answer += piece.toString()))
      socket.write(
        `GET / HTTP/1.1\r\nhost: ${host}\r\nconnection: upgrade, close\r\nupgrade: echo\r\n\r\n`,
      )
      await once(socket, "close")
      return answer
    }
    expect(await upgrade("a.box.test")).toContain("101 Switching Protocols")
    // The API answers in HTTP/1.1 and ignores the offer.
    expect(await upgrade("api.test")).toMatch(/^HTTP\/1\.1 302 .*location: \/docs/s)
    await listening.close()
  })

  it("is answered like any request if there is no host route", async () => {
    const listening = await buildApp(world.ports, PROGRAM.entries, PROGRAM.retiredPaths)
    await listening.listen({ host: "127.0.0.1", port: 0 })
    const { port } = listening.server.address() as AddressInfo
    const socket = connect(port, "127.0.0.1")
    // Clients offer HTTP/2 over plain TCP like this (RFC 7540, 3.2).
    const offer =
      "connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk\r\n"
    socket.write(`GET /livez HTTP/1.1\r\nhost: api.test\r\n${offer}\r\n`)
    const [piece] = (await once(socket, "data")) as [Buffer]
    expect(piece.toString()).toMatch(/^HTTP\/1\.1 200 .*ok\n$/s)
    socket.destroy()
    await listening.close()
  })

  it("ends when its client disconnects, without effect on other requests", async () => {
    const gone = Promise.withResolvers<unknown>()
    const echoing: HostRoute = {
      ...boxes,
      upgrade: (_request, socket) => {
        socket.on("close", gone.resolve)
        socket.write(
          "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n",
        )
        socket.pipe(socket)
      },
    }
    const listening = await buildApp(world.ports, PROGRAM.entries, PROGRAM.retiredPaths, {
      rateLimits: "on",
      hostRoutes: [echoing],
    })
    await listening.listen({ host: "127.0.0.1", port: 0 })
    const { port } = listening.server.address() as AddressInfo
    const socket = connect(port, "127.0.0.1")
    socket.write(
      "GET / HTTP/1.1\r\nhost: a.box.test\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n",
    )
    await once(socket, "data")
    socket.write(Buffer.alloc(200_000))
    socket.resetAndDestroy()
    await gone.promise
    expect((await listening.inject({ method: "GET", url: "/livez" })).statusCode).toBe(200)
    await listening.close()
  })
})

describe("the answer of a host route", () => {
  it("has none of the headers of the API's answers", async () => {
    const { headers } = await get("a.box.test")
    expect(Object.keys(headers).toSorted()).toEqual([
      "connection",
      "content-type",
      "date",
      "transfer-encoding",
    ])
  })

  it("that is endless is ended when the server stops", async () => {
    const endless: HostRoute = {
      ...boxes,
      serve: (_request, response) => void response.writeHead(200).write("one"),
      upgrade: (_request, socket) => void socket.write("HTTP/1.1 101 Yes\r\n\r\n"),
    }
    const listening = await buildApp(world.ports, PROGRAM.entries, PROGRAM.retiredPaths, {
      rateLimits: "on",
      hostRoutes: [endless],
    })
    await listening.listen({ host: "127.0.0.1", port: 0 })
    const { port } = listening.server.address() as AddressInfo
    const visits = ["", "connection: upgrade\r\nupgrade: echo\r\n"].map(async (more) => {
      const socket = connect(port, "127.0.0.1")
      socket.write(`GET / HTTP/1.1\r\nhost: a.box.test\r\n${more}\r\n`)
      await once(socket, "data")
      return { ended: once(socket, "close") }
    })
    const [first, second] = await Promise.all(visits)
    await listening.close()
    expect(await Promise.all([first?.ended, second?.ended])).toEqual([[false], [false]])
  })
})

describe("behind a proxy", () => {
  /** Reaches the rate limit of one address, then calls once more from it and once from another. */
  async function askAs(trustProxy: readonly string[]): Promise<readonly number[]> {
    const behind = await buildApp(world.ports, PROGRAM.entries, PROGRAM.retiredPaths, {
      rateLimits: "on",
      trustProxy,
    })
    const ask = async (address: string) => {
      const answer = await behind.inject({
        method: "POST",
        url: "/api/v1/connect/start",
        payload: { version: "1.0.0" },
        headers: { "x-forwarded-for": address },
      })
      return answer.statusCode
    }
    freezeRateWindow(world)
    const { max } = RATE_LIMITS.connect
    const first = await Promise.all(Array.from({ length: max }, () => ask("203.0.113.1")))
    const last = [await ask("203.0.113.1"), await ask("203.0.113.2")]
    await behind.close()
    return [...new Set(first), ...last]
  }

  it("that is trusted, callers are distinguished by the forwarded address", async () => {
    expect(await askAs(["127.0.0.0/8"])).toEqual([202, 429, 202])
  })

  it("that is not trusted, the forwarded address is ignored", async () => {
    expect(await askAs([])).toEqual([202, 429, 429])
    expect(await askAs(["10.0.0.0/8"])).toEqual([202, 429, 429])
  })

  it("callers are counted by address without port, and by IPv6 network", () => {
    const counted = (addresses: readonly string[]) => new Set(addresses.map(rateLimitAddress))
    expect(counted(["5.5.5.5", "5.5.5.5:401", "::ffff:5.5.5.5"])).toEqual(new Set(["5.5.5.5"]))
    expect(counted(["2001:db8::1", "[2001:DB8:0:0:9::2]:443"])).toEqual(
      new Set(["2001:db8:0:0::/64"]),
    )
    expect(counted(["2001:db8:0:1::1"])).toEqual(new Set(["2001:db8:0:1::/64"]))
    expect(counted(["x1", "x2", ""])).toEqual(new Set(["unknown"]))
  })

  it("TRUST_PROXY lists addresses and networks", () => {
    expect(readConfig({}).trustProxy).toEqual([])
    expect(readConfig({ TRUST_PROXY: "10.0.0.0/8, ::1" }).trustProxy).toEqual(["10.0.0.0/8", "::1"])
    for (const wrong of ["proxy.test", "10.0.0.0/33", "1.2.3.4/8/9", "true", "10.0.0.0/8,"]) {
      expect(() => readConfig({ TRUST_PROXY: wrong }), wrong).toThrow("TRUST_PROXY must be")
    }
  })
})
