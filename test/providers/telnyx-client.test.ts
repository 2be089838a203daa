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

const ask = (method: "GET" | "POST" = "POST") =>
  openTelnyxClient({ key: "KEY1", url }).request({ method, path: "/messages", body: { to: "+1" } })
const says = (status: number, body: unknown) => {
  answer = (_request, response) => void response.writeHead(status).end(JSON.stringify(body))
}
const errorOf = (code: string) => ({ errors: [{ code, title: "No" }] })

describe("asking Telnyx", () => {
  it("sends a key, a query and JSON, and answers what was said", async () => {
    let heard: unknown
    answer = async (request, response) => {
      const { method, url: target, headers } = request
      heard = [method, target, headers.authorization, await text(request)]
      response.end('{"data":{"id":"1"}}')
    }
    const query = { "filter[record_type]": "messaging" }
    const asked = openTelnyxClient({ key: "KEY1", url: `${url}/` }).request({
      method: "POST",
      path: "/messages",
      query,
      body: { to: "+1" },
    })
    expect(await asked).toEqual({ outcome: "done", value: { data: { id: "1" } } })
    const target = "/v2/messages?filter%5Brecord_type%5D=messaging"
    expect(heard).toEqual(["POST", target, "Bearer KEY1", '{"to":"+1"}'])
  })

  it("answers a refusal with its code, and why", async () => {
    says(400, errorOf("40300"))
    const refused = { outcome: "refused", status: 400, code: "40300" }
    expect(await ask()).toEqual({ ...refused, reasons: ["No"] })
    says(400, { errors: [{ code: 40300, title: "No", detail: "They texted STOP." }, null, {}] })
    expect(await ask()).toEqual({ ...refused, reasons: ["They texted STOP."] })
    says(404, "nothing")
    expect(await ask()).toEqual({ outcome: "refused", status: 404, code: null, reasons: [] })
  })

  it("was not done where it says 429", async () => {
    says(429, errorOf("1"))
    await expect(ask()).rejects.toThrow(ProviderUnavailable)
  })

  it.each([
    [400, "10011"],
    [400, "40318"],
    [403, "90103"],
    [503, "40318"],
  ])("was not done where Telnyx says by %i with %s that it did not look", async (status, code) => {
    says(status, errorOf(code))
    await expect(ask()).rejects.toThrow(ProviderUnavailable)
  })

  it.each([307, 408, 409, 425, 500, 501, 502, 503, 504])(
    "may have been done where it says %i, and a look was not",
    async (status) => {
      says(status, errorOf("10007"))
      await expect(ask()).rejects.toThrow(ProviderOutcomeUnknown)
      const look = openTelnyxClient({ key: "KEY1", url }).request({
        method: "GET",
        path: "/messages/1",
      })
      if (status >= 500 || status === 408 || status === 425) {
        await expect(look).rejects.toThrow(ProviderUnavailable)
      } else {
        expect(await look).toMatchObject({ outcome: "refused", status })
      }
    },
  )

  it("may have been done where the line is cut, before an answer or within it", async () => {
    answer = (_request, response) => void response.destroy()
    await expect(ask()).rejects.toThrow(ProviderOutcomeUnknown)
    answer = (_request, response) => {
      response.writeHead(200, { "content-length": "100" })
      response.write('{"data":', () => response.destroy())
    }
    await expect(ask()).rejects.toThrow(ProviderOutcomeUnknown)
  })

  it("follows no redirect, and reads no answer without end", async () => {
    answer = (_request, response) => void response.writeHead(307, { location: "/else" }).end()
    const look = openTelnyxClient({ key: "KEY1", url }).request({
      method: "GET",
      path: "/messages",
    })
    expect(await look).toEqual({ outcome: "refused", status: 307, code: null, reasons: [] })
    answer = (_request, response) => {
      const more = () => {
        if (!response.destroyed) response.write(" ".repeat(65_536), () => more())
      }
      more()
    }
    await expect(ask("POST")).rejects.toThrow(/longer than 4 MB/)
  })

  it("was not reached where nobody listens", async () => {
    const closed = createServer()
    await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve))
    const { port } = closed.address() as AddressInfo
    await new Promise((resolve) => closed.close(resolve))
    const nobody = openTelnyxClient({ key: "KEY1", url: `http://127.0.0.1:${port}/v2` })
    await expect(nobody.request({ method: "GET", path: "/messages" })).rejects.toThrow(
      ProviderUnavailable,
    )
  })
})
