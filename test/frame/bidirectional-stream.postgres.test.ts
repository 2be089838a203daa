/** A bidirectional stream: a request of any length is answered while it is still being sent. */
import { createHash, randomBytes } from "node:crypto"
import { once } from "node:events"
import type { ClientRequest, IncomingMessage } from "node:http"
import { request } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeEach, expect, it } from "vitest"
import { buildApp } from "../../src/frame/http/app.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, sharedWorld } from "../support/world.ts"
import { echoRoute } from "./sample-routes.ts"

const MIB = 1024 * 1024
/** More MiB than any buffer of the server holds. */
const PIECES = 8

const world = await sharedWorld()
let company: Company
let ended = Promise.withResolvers<unknown>()
const app = await buildApp(world.ports, [echoRoute(() => ended.resolve)], [])
await app.listen({ host: "127.0.0.1", port: 0 })
afterAll(() => app.close())
beforeEach(async () => {
  company = await makeCompany(world)
  ended = Promise.withResolvers<unknown>()
})

/** Begins a call with a body of this length, which the test writes itself. */
function begin(key: string, bytes: number): ClientRequest {
  const { port } = app.server.address() as AddressInfo
  return request({
    host: "127.0.0.1",
    port,
    method: "POST",
    path: "/api/v1/pretended/echo",
    agent: false,
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/octet-stream",
      "content-length": String(bytes),
    },
  })
}

/** The answer to a call, available with its headers. */
async function answerTo(call: ClientRequest): Promise<IncomingMessage> {
  const [answer] = (await once(call, "response")) as [IncomingMessage]
  return answer
}

/** Reads this many bytes of an answer, or up to its end. */
async function take(answer: IncomingMessage, bytes: number): Promise<Buffer> {
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of answer.iterator({ destroyOnReturn: false })) {
    pieces.push(piece as Buffer)
    length += (piece as Buffer).length
    if (length >= bytes) break
  }
  return Buffer.concat(pieces)
}

const inverted = (bytes: Buffer): Buffer => Buffer.from(bytes.map((byte) => ~byte))
const hashOf = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex")

it("each piece is answered before the next is sent", async () => {
  const call = begin(company.key, PIECES * MIB)
  const answered = answerTo(call)
  for (let i = 0; i < PIECES; i += 1) {
    const piece = randomBytes(MIB)
    call.write(piece)
    const echoed = await take(await answered, MIB)
    expect([i, echoed.length, hashOf(echoed)]).toEqual([i, MIB, hashOf(inverted(piece))])
  }
  call.end()
  const answer = await answered
  expect([answer.statusCode, await take(answer, 1)]).toEqual([200, Buffer.alloc(0)])
  expect(await ended.promise).toBeNull()
  expect(world.warnings).toEqual([])
})

it("the stream ends if its caller disconnects, and the next one is answered", async () => {
  const call = begin(company.key, PIECES * MIB)
  call.on("error", () => undefined)
  call.write(randomBytes(MIB))
  const answer = await answerTo(call)
  answer.on("error", () => undefined)
  await take(answer, MIB)
  call.destroy()
  expect(await ended.promise).toMatchObject({
    code: expect.stringMatching(/^(ABORT_ERR|ECONNRESET)$/),
  })
  // A caller who disconnects causes no warning.
  expect(world.warnings).toEqual([])
  ended = Promise.withResolvers<unknown>()
  const next = begin(company.key, 3)
  next.end("abc")
  expect(await take(await answerTo(next), 3)).toEqual(inverted(Buffer.from("abc")))
  expect(await ended.promise).toBeNull()
})

it("a call with an invalid key is rejected before its body is read", async () => {
  const call = begin("cpk_none", PIECES * MIB)
  call.on("error", () => undefined)
  call.flushHeaders()
  expect((await answerTo(call)).statusCode).toBe(401)
  call.destroy()
})
