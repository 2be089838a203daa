/** What answers of PowerDNS's API come to, also where it made a zone before it answered. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeEach, describe, expect, it } from "vitest"
import { openPowerDns } from "../../adapters/providers/dns/powerdns.ts"
import { ProviderSilent, ProviderUnavailable } from "../../adapters/providers/outside.ts"
import { record, zoneWith } from "./serving.ts"

/** Methods that were asked, and the zones that are there. */
const asked: string[] = []
const zones = new Set<string>()
/** How the next call of a method is answered, after it was done. */
const next = new Map<string, number>()

const ANSWERS: Readonly<Record<string, number>> = { GET: 200, PATCH: 204, DELETE: 204 }
const server = createServer((request, response) => {
  const method = request.method ?? ""
  asked.push(method)
  const status = next.get(method) ?? ANSWERS[method] ?? (zones.has("zone") ? 409 : 201)
  next.delete(method)
  if (method === "POST") zones.add("zone")
  if (method === "DELETE") zones.clear()
  request.resume()
  response.writeHead(status, { "content-type": "application/json" })
  response.end(status === 204 ? undefined : JSON.stringify({ rrsets: [] }))
})
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
const { port } = server.address() as AddressInfo
const powerDns = openPowerDns({ url: `http://127.0.0.1:${port}`, key: "KEY1" })
beforeEach(() => {
  asked.length = 0
  zones.clear()
  next.clear()
})
afterAll(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const ZONE = zoneWith("one.example", [record("A", "one.example", "192.0.2.1")], 1)

describe("PowerDNS", () => {
  it("makes a zone once and takes 409 for one that it has", async () => {
    await powerDns.publish(ZONE)
    await powerDns.publish(ZONE)
    expect(asked).toEqual(["POST", "GET", "PATCH", "POST", "GET", "PATCH"])
  })

  it.each([307, 408, 425, 500, 502, 503, 504])(
    "may have done what it answers with %i: the same again finds it",
    async (status) => {
      for (const method of ["POST", "PATCH"]) {
        next.set(method, status)
        await expect(powerDns.publish(ZONE)).rejects.toThrow(ProviderSilent)
        await powerDns.publish(ZONE)
        expect([...zones]).toEqual(["zone"])
      }
      next.set("DELETE", status)
      await expect(powerDns.withdraw("one.example")).rejects.toThrow(ProviderSilent)
      await powerDns.withdraw("one.example")
      expect([...zones]).toEqual([])
    },
  )

  it.each([400, 401, 422, 429])("did nothing where it answers %i", async (status) => {
    next.set("PATCH", status)
    await expect(powerDns.publish(ZONE)).rejects.toThrow(ProviderUnavailable)
    next.set("DELETE", status)
    await expect(powerDns.withdraw("one.example")).rejects.toThrow(ProviderUnavailable)
  })
})
