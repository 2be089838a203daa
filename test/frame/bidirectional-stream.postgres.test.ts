/** A stream both ways: what is still being sent is answered already, whatever its length. */
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
/** As many MiB as no buffer of the server holds. */
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

/** A call whose body is sent by hand, of this many bytes. */
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

/** The answer to a call: its head comes with the first byte of it. */
async function answerTo(call: ClientRequest): Promise<IncomingMessage> {
  const [answer] = (await once(call, "response")) as [IncomingMessage]
  return answer
}

/** Reads so much of an answer, or up to its end. */
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

const turned = (bytes: Buffer): Buffer => Buffer.from(bytes.map((byte) => ~byte))
const hashOf = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex")

it("is answered while it is sent: each piece comes back before the next is there", async () => {
  const call = begin(company.key, PIECES * MIB)
  const answered = answerTo(call)
  for (let i = 0; i < PIECES; i += 1) {
    const piece = randomBytes(MIB)
    call.write(piece)
    const back = await take(await answered, MIB)
    expect([i, back.length, hashOf(back)]).toEqual([i, MIB, hashOf(turned(piece))])
  }
  call.end()
  const answer = await answered
  expect([answer.statusCode, await take(answer, 1)]).toEqual([200, Buffer.alloc(0)])
  expect(await ended.promise).toBeNull()
  expect(world.warnings).toEqual([])
})

it("ends where its caller goes away in the middle, and the next is answered", async () => {
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
  // Whoever goes away is no fault of the house.
  expect(world.warnings).toEqual([])
  ended = Promise.withResolvers<unknown>()
  const next = begin(company.key, 3)
  next.end("abc")
  expect(await take(await answerTo(next), 3)).toEqual(turned(Buffer.from("abc")))
  expect(await ended.promise).toBeNull()
})

it("is refused before anything of it is read, where its key is none", async () => {
  const call = begin("cpk_none", PIECES * MIB)
  call.on("error", () => undefined)
  call.flushHeaders()
  expect((await answerTo(call)).statusCode).toBe(401)
  call.destroy()
})
