/** Features of routes, tested with sample routes over HTTP. */
import { connect } from "node:net"
import type { AddressInfo } from "node:net"
import { once } from "node:events"
import { afterAll, beforeEach, describe, expect, it } from "vitest"
import type { Route } from "../../src/frame/routes/declare/route.ts"
import type { RouteVariants } from "../../src/frame/routes/declare/route-variants.ts"
import { buildApp } from "../../src/frame/http/app.ts"
import { openApi } from "../../src/frame/http/documents/documents.ts"
import type { Company } from "../support/world.ts"
import { callApp, makeCompany, sharedWorld } from "../support/world.ts"
import type { WaitObserver } from "./sample-routes.ts"
import {
  STORED_BYTES,
  shortDeadlineRoute,
  createRoute,
  waitingRoute,
  whoAmIRoute,
  storedBytesRoute,
  bytesRoute,
  streamedBodyRoute,
  paramsRoute,
} from "./sample-routes.ts"

const world = await sharedWorld()
let company: Company
let watched: WaitObserver = { started: () => undefined, ended: () => undefined }
const ROUTES: readonly (Route | RouteVariants)[] = [
  paramsRoute,
  createRoute,
  bytesRoute,
  streamedBodyRoute,
  storedBytesRoute,
  shortDeadlineRoute,
  whoAmIRoute,
  waitingRoute(() => watched),
]

const app = await buildApp(world.ports, ROUTES, [])
afterAll(() => app.close())
beforeEach(async () => {
  company = await makeCompany(world)
})

const bearer = () => ({ authorization: `Bearer ${company.key}` })
const post = (url: string, body: unknown, key: string | null = company.key) =>
  callApp(app, key, "POST", url, { body })

describe("a parameter of a path", () => {
  it("is decoded and parsed", async () => {
    const answer = await callApp(app, company.key, "GET", "/api/v1/pretended/a%20b%2Fc/ports/8080")
    expect(answer).toMatchObject({ status: 200, body: { thing: "a b/c", port: 8080 } })
  })

  it("may be long", async () => {
    const url = `/api/v1/pretended/${"x".repeat(253)}/ports/1`
    expect((await callApp(app, company.key, "GET", url)).status).toBe(200)
  })

  it("that is invalid is named in the error", async () => {
    const answer = await callApp(app, company.key, "GET", "/api/v1/pretended/a/ports/many")
    expect(answer).toMatchObject({ status: 400, body: { fields: { port: expect.any(String) } } })
  })

  it("is in the document", () => {
    const { paths } = openApi(ROUTES, [], "http://ledger.test") as {
      paths: Record<string, Record<string, { parameters: object[] }>>
    }
    expect(paths["/api/v1/pretended/{thing}/ports/{port}"]?.["get"]?.parameters).toEqual([
      {
        name: "thing",
        in: "path",
        required: true,
        example: "a thing",
        schema: { type: "string" },
      },
      {
        name: "port",
        in: "path",
        required: true,
        schema: expect.objectContaining({ type: "integer" }),
        example: "8080",
      },
    ])
  })
})

describe("an answer", () => {
  it("has the route's first status", async () => {
    expect(await post("/api/v1/pretended", { name: "a" })).toMatchObject({ status: 201 })
  })
})

describe("a body", () => {
  it("of any type is read up to its size limit", async () => {
    const put = (payload: Buffer) =>
      app.inject({
        method: "PUT",
        url: "/api/v1/pretended/bytes",
        payload,
        headers: { ...bearer(), "content-type": "application/x-git" },
      })
    expect((await put(Buffer.alloc(100, 1))).json()).toEqual({ bytes: 100 })
    const answer = await put(Buffer.alloc(101, 1))
    expect([answer.statusCode, answer.json().error]).toEqual([413, "too_large"])
  })

  it("of any length can be read in chunks", async () => {
    const answer = await app.inject({
      method: "POST",
      url: "/api/v1/pretended/pieces",
      payload: Buffer.alloc(3_000_000),
      headers: { ...bearer(), "content-type": "application/octet-stream" },
    })
    expect(answer.json()).toEqual({ bytes: 3_000_000 })
  })

  it("that does not arrive within its route's timeout ends the connection with 408", async () => {
    const listening = await buildApp(world.ports, [shortDeadlineRoute], [])
    await listening.listen({ host: "127.0.0.1", port: 0 })
    const { port } = listening.server.address() as AddressInfo
    const socket = connect(port, "127.0.0.1")
    const head = "POST /api/v1/pretended/hasty HTTP/1.1\r\nhost: a\r\ncontent-length: 20\r\n"
    socket.write(`${head}content-type: application/json\r\n\r\n{`)
    const [answer] = (await once(socket, "data")) as [Buffer]
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 408 .*did not arrive completely in time/s)
    socket.destroy()
    await listening.close()
  })
})

describe("stored bytes", () => {
  const get = (range?: string) =>
    app.inject({
      method: "GET",
      url: "/api/v1/pretended/recording",
      headers: { ...bearer(), ...(range === undefined ? {} : { range }) },
    })

  it.for([
    [undefined, 200, 0, 36, undefined],
    ["bytes=0-9", 206, 0, 10, "bytes 0-9/36"],
    ["bytes=30-", 206, 30, 36, "bytes 30-35/36"],
    ["bytes=-5", 206, 31, 36, "bytes 31-35/36"],
    ["bytes=10-1000", 206, 10, 36, "bytes 10-35/36"],
    ["bytes=0-0,2-3", 200, 0, 36, undefined],
    ["lines=1-2", 200, 0, 36, undefined],
    ["bytes=9-3", 200, 0, 36, undefined],
  ] as const)(
    "requested with the range %s are answered with %i",
    async ([range, status, from, to, contentRange]) => {
      const answer = await get(range)
      expect(answer.statusCode).toBe(status)
      expect(answer.rawPayload.equals(STORED_BYTES.subarray(from, to))).toBe(true)
      expect(answer.headers["content-range"]).toBe(contentRange)
      expect(answer.headers["accept-ranges"]).toBe("bytes")
      expect(answer.headers["content-type"]).toBe("audio/mpeg")
      expect(answer.headers["content-length"]).toBe(String(to - from))
    },
  )

  it.for(["bytes=36-", "bytes=100-200", "bytes=-0"])(
    "outside the file (%s) are answered with 416",
    async (range) => {
      const answer = await get(range)
      expect([answer.statusCode, answer.headers["content-range"]]).toEqual([416, "bytes */36"])
      const message = "The requested range is outside the file, which has 36 bytes."
      expect(answer.json()).toEqual({ error: "range_not_satisfiable", message })
    },
  )
})

describe("a long call", () => {
  /** Begins a call; `ended` resolves with the reason for its end. */
  async function begin() {
    const listening = await buildApp(world.ports, ROUTES, [])
    await listening.listen({ host: "127.0.0.1", port: 0 })
    const { port } = listening.server.address() as AddressInfo
    const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()]
    watched = { started: begun.resolve, ended: ended.resolve }
    const socket = connect(port, "127.0.0.1")
    const head = `host: a\r\nauthorization: Bearer ${company.key}\r\nconnection: close`
    socket.write(`GET /api/v1/pretended/patient HTTP/1.1\r\n${head}\r\n\r\n`)
    await begun.promise
    return { listening, socket, ended: ended.promise }
  }

  it("is notified when its caller disconnects", async () => {
    const { listening, socket, ended } = await begin()
    socket.destroy()
    expect(await ended).toBe("gone")
    await listening.close()
  })

  it("is notified when the process is about to stop, and answers", async () => {
    const { listening, socket, ended } = await begin()
    const answered = once(socket, "data")
    await listening.close()
    expect(await ended).toBe("stopping")
    expect(String(await answered)).toContain('"ended":"stopping"')
    socket.destroy()
  })
})
