/** A real server's name server: where it is told, and what happens where it cannot be had. */
import { createSocket } from "node:dgram"
import { once } from "node:events"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, it, onTestFinished } from "vitest"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import { openResolver } from "../../adapters/providers/dns/resolver.ts"
import type { ServerDataFolder } from "../support/server-process.ts"
import { makeDataFolder } from "../support/server-process.ts"

async function placeWith(settings: Record<string, string>): Promise<ServerDataFolder> {
  const place = await makeDataFolder(settings)
  onTestFinished(place.removeFiles)
  return place
}

/** What a server announces to commands beside it. */
const announcedBy = async ({ dataDir }: ServerDataFolder) =>
  JSON.parse(await readFile(join(dataDir, "server.json"), "utf8")) as {
    readonly beside?: Readonly<Record<string, string>>
  }

it("answers at the address that is printed and in server.json", async () => {
  const place = await placeWith({ NS_DOMAIN: "ns.example.com", EDGE_ADDRESSES: "192.0.2.7" })
  const server = await place.start()
  await server.until(() => server.lines.some((line) => /^ {2}dns +127\.0\.0\.1:\d+$/.test(line)))
  const { beside } = await announcedBy(place)
  const address = beside?.["dns"] ?? ""
  expect(server.lines.join("\n")).toContain(address)
  const resolver = openResolver({ servers: address, pacer: machinePacer })
  const { code, answers } = await resolver.query("apps.ns.example.com", "A")
  expect({ code, answers }).toMatchObject({ code: "NOERROR", answers: [{ content: "192.0.2.7" }] })
  expect(await server.endBySignal("SIGTERM")).toBe(0)
})

it("is a warning where another program has its port, and the API is served", async () => {
  const other = createSocket("udp4")
  other.bind({ address: "127.0.0.1", port: 0 })
  await once(other, "listening")
  try {
    const DNS_LISTEN = `127.0.0.1:${other.address().port}`
    const place = await placeWith({ DNS_LISTEN })
    const server = await place.start()
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
    expect(server.log()).toContain("cannot listen on DNS_LISTEN")
    expect((await announcedBy(place)).beside ?? {}).toEqual({})
  } finally {
    other.close()
  }
})

it("does not start with a setting that is refused, and says why", async () => {
  const place = await placeWith({ DNS_LISTEN: "53" })
  const { code, stderr } = await place.tryCommand("start")
  expect(code).toBe(1)
  expect(stderr).toContain("DNS_LISTEN must be an address and a port")
})
