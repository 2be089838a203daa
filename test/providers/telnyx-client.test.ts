import { createServer } from "node:http"
import type { IncomingMessage, ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import {
  ProviderOutcomeUnknown,
  ProviderUnavailable,
} from "../../adapters/providers/provider-errors.ts"
import { openTelnyxClient } from "../../adapters/providers/telnyx/client.ts"

let answer: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>
const server = createServer((request, response) => void answer(request, response))
let url: string

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v2`
})
afterAll(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const request = (method: "GET" | "POST" = "POST") =>
  openTelnyxClient({ key: "KEY1", url }).request({ method, path: "/messages", body: { to: "+1" } })
const replyWith = (status: number, body: unknown) => {
  answer = (_request, response) => void response.writeHead(status).end(JSON.stringify(body))
}
const errorOf = (code: string) => ({ errors: [{ code, title: "No" }] })

describe("a request to Telnyx", () => {
  it("sends a key, a query and JSON, and returns the answer", async () => {
    let received: unknown
    answer = async (message, response) => {
      const { method, url: target, headers } = message
      received = [method, target, headers.authorization, await text(message)]
      response.end('{"data":{"id":"1"}}')
    }
    const query = { "filter[record_type]": "messaging" }
    const response = openTelnyxClient({ key: "KEY1", url: `${url}/` }).request({
      method: "POST",
      path: "/messages",
      query,
      body: { to: "+1" },
    })
    expect(await response).toEqual({ outcome: "done", value: { data: { id: "1" } } })
    const target = "/v2/messages?filter%5Brecord_type%5D=messaging"
    expect(received).toEqual(["POST", target, "Bearer KEY1", '{"to":"+1"}'])
  })

  it("returns a rejection with its code and reasons", async () => {
    replyWith(400, errorOf("40300"))
    const refused = { outcome: "refused", status: 400, code: "40300" }
    expect(await request()).toEqual({ ...refused, reasons: ["No"] })
    replyWith(400, {
      errors: [{ code: 40300, title: "No", detail: "They texted STOP." }, null, {}],
    })
    expect(await request()).toEqual({ ...refused, reasons: ["They texted STOP."] })
    replyWith(404, "nothing")
    expect(await request()).toEqual({ outcome: "refused", status: 404, code: null, reasons: [] })
  })

  it("was not done if Telnyx answers 429", async () => {
    replyWith(429, errorOf("1"))
    await expect(request()).rejects.toThrow(ProviderUnavailable)
  })

  it.each([
    [400, "10011"],
    [400, "40318"],
    [403, "90103"],
    [503, "40318"],
  ])("was not done if Telnyx answers %i with code %s", async (status, code) => {
    replyWith(status, errorOf(code))
    await expect(request()).rejects.toThrow(ProviderUnavailable)
  })

  it.each([307, 408, 409, 425, 500, 501, 502, 503, 504])(
    "has an unknown outcome if Telnyx answers %i, unless it is a read",
    async (status) => {
      replyWith(status, errorOf("10007"))
      await expect(request()).rejects.toThrow(ProviderOutcomeUnknown)
      const read = openTelnyxClient({ key: "KEY1", url }).request({
        method: "GET",
        path: "/messages/1",
      })
      if (status >= 500 || status === 408 || status === 425) {
        await expect(read).rejects.toThrow(ProviderUnavailable)
      } else {
        expect(await read).toMatchObject({ outcome: "refused", status })
      }
    },
  )

  it("has an unknown outcome if the connection breaks before or during the answer", async () => {
    answer = (_request, response) => void response.destroy()
    await expect(request()).rejects.toThrow(ProviderOutcomeUnknown)
    answer = (_request, response) => {
      response.writeHead(200, { "content-length": "100" })
      response.write('{"data":', () => response.destroy())
    }
    await expect(request()).rejects.toThrow(ProviderOutcomeUnknown)
  })

  it("follows no redirect, and stops reading an endless answer", async () => {
    answer = (_request, response) => void response.writeHead(307, { location: "/else" }).end()
    const read = openTelnyxClient({ key: "KEY1", url }).request({
      method: "GET",
      path: "/messages",
    })
    expect(await read).toEqual({ outcome: "refused", status: 307, code: null, reasons: [] })
    answer = (_request, response) => {
      const more = () => {
        if (!response.destroyed) response.write(" ".repeat(65_536), () => more())
      }
      more()
    }
    await expect(request("POST")).rejects.toThrow(/longer than 4 MB/)
  })

  it("is unavailable if nothing listens at the address", async () => {
    const closed = createServer()
    await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve))
    const { port } = closed.address() as AddressInfo
    await new Promise((resolve) => closed.close(resolve))
    const unreachable = openTelnyxClient({ key: "KEY1", url: `http://127.0.0.1:${port}/v2` })
    await expect(unreachable.request({ method: "GET", path: "/messages" })).rejects.toThrow(
      ProviderUnavailable,
    )
  })
})
