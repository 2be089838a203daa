/** Recordings are downloaded from the address that Telnyx names, unless that address is unsafe. */
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import {
  ProviderOutcomeUnknown,
  ProviderUnavailable,
} from "../../adapters/providers/provider-errors.ts"
import { openTelnyxRecordings } from "../../adapters/providers/voice/telnyx-recordings.ts"

let answer: (request: IncomingMessage, response: ServerResponse) => void
const server = createServer((request, response) => answer(request, response))
let origin: string

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

/** Recordings whose file is at this address, according to Telnyx. */
const audioAt = (mp3: string, isPlain: boolean) =>
  openTelnyxRecordings(
    {
      request: async () => ({
        outcome: "done",
        value: { data: [{ id: "rec", download_urls: { mp3 } }] },
      }),
    },
    isPlain,
  )

async function bytesOf(isPlain: boolean): Promise<number> {
  let bytes = 0
  for await (const piece of await audioAt(`${origin}/a.mp3`, isPlain).downloadRecording("leg")) {
    bytes += piece.length
  }
  return bytes
}

describe("the file of a recording", () => {
  it.each([
    "http://storage.example.com/a.mp3",
    "https://127.0.0.1/a.mp3",
    "https://2130706433/a.mp3",
    "https://10.0.0.1/a.mp3",
    "https://[::ffff:127.0.0.1]/a.mp3",
    "https://127.0.0.1./a.mp3",
    "https://localhost/a.mp3",
    "https://metadata.google.internal/a.mp3",
    "https://me@storage.example.com/a.mp3",
    "https://storage.example.com:8443/a.mp3",
    "file:///etc/passwd",
    "nowhere",
  ])("is not fetched from %s", async (url) => {
    const fetched = vi.spyOn(globalThis, "fetch")
    await expect(audioAt(url, false).downloadRecording("leg")).rejects.toThrow(ProviderUnavailable)
    expect(fetched).not.toHaveBeenCalled()
    fetched.mockRestore()
  })

  it("is read without a declared length", async () => {
    answer = (_request, response) => {
      response.write("a".repeat(1_000))
      response.end("b".repeat(500))
    }
    expect(await bytesOf(true)).toBe(1_500)
  })

  it("is found even if an earlier recording of the same leg has no file yet", async () => {
    answer = (_request, response) => response.end("a".repeat(700))
    const data = [{ id: "rec1" }, { id: "rec2", download_urls: { mp3: `${origin}/a.mp3` } }]
    const { downloadRecording } = openTelnyxRecordings(
      { request: async () => ({ outcome: "done", value: { data } }) },
      true,
    )
    let bytes = 0
    for await (const piece of await downloadRecording("leg")) bytes += piece.length
    expect(bytes).toBe(700)
  })

  it("is not read if it redirects, is forbidden, or is too long", async () => {
    for (const [status, headers] of [
      [302, { location: `${origin}/other` }],
      [403, {}],
      [200, { "content-length": String(201 * 1024 * 1024) }],
    ] as const) {
      answer = (_request, response) => {
        response.writeHead(status, headers)
        response.flushHeaders()
      }
      await expect(bytesOf(true)).rejects.toThrow(ProviderUnavailable)
    }
  })

  it("has an unknown outcome if the connection breaks", async () => {
    answer = (_request, response) => {
      response.writeHead(200, { "content-length": "1000" })
      response.write("a", () => response.destroy())
    }
    await expect(bytesOf(true)).rejects.toThrow(ProviderOutcomeUnknown)
  })

  it("is unavailable if its server cannot be reached", async () => {
    const nowhere = audioAt("http://127.0.0.1:1/a.mp3", true).downloadRecording("leg")
    await expect(nowhere).rejects.toThrow(ProviderUnavailable)
  })

  it("is unavailable, and deleted later, if Telnyx rejects its deletion", async () => {
    const listed = { outcome: "done" as const, value: { data: [{ id: "rec" }] } }
    const refused = { outcome: "refused" as const, status: 403, code: null, reasons: [] }
    const telnyx = {
      request: async ({ method }: { method: string }) => (method === "GET" ? listed : refused),
    }
    await expect(openTelnyxRecordings(telnyx, false).deleteRecording("leg")).rejects.toThrow(
      ProviderUnavailable,
    )
  })
})
