/** The name server of a real server: where its address is announced, and a port that is taken. */
import { createSocket } from "node:dgram"
import { once } from "node:events"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, it, onTestFinished } from "vitest"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import { openResolver } from "../../adapters/providers/dns/resolver.ts"
import type { ServerDataFolder } from "../support/server-process.ts"
import { makeDataFolder } from "../support/server-process.ts"

async function dataFolderWith(settings: Record<string, string>): Promise<ServerDataFolder> {
  const dataFolder = await makeDataFolder(settings)
  onTestFinished(dataFolder.removeFiles)
  return dataFolder
}

/** The addresses that a server announces to commands in other processes. */
const announcedBy = async ({ dataDir }: ServerDataFolder) =>
  JSON.parse(await readFile(join(dataDir, "server.json"), "utf8")) as {
    readonly sideServers?: Readonly<Record<string, string>>
  }

it("listens on the address that is printed and in server.json", async () => {
  const dataFolder = await dataFolderWith({
    NS_DOMAIN: "ns.example.com",
    EDGE_ADDRESSES: "192.0.2.7",
  })
  const server = await dataFolder.start()
  await server.until(() => server.lines.some((line) => /^ {2}dns +127\.0\.0\.1:\d+$/.test(line)))
  const { sideServers } = await announcedBy(dataFolder)
  const address = sideServers?.["dns"] ?? ""
  expect(server.lines.join("\n")).toContain(address)
  const resolver = openResolver({ servers: address, pacer: machinePacer })
  const { code, answers } = await resolver.query("apps.ns.example.com", "A")
  expect({ code, answers }).toMatchObject({ code: "NOERROR", answers: [{ content: "192.0.2.7" }] })
  expect(await server.endBySignal("SIGTERM")).toBe(0)
})

it("logs a warning if its port is taken, and the API is served", async () => {
  const other = createSocket("udp4")
  other.bind({ address: "127.0.0.1", port: 0 })
  await once(other, "listening")
  try {
    const DNS_LISTEN = `127.0.0.1:${other.address().port}`
    const dataFolder = await dataFolderWith({ DNS_LISTEN })
    const server = await dataFolder.start()
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
    expect(server.log()).toContain("cannot listen on DNS_LISTEN")
    expect((await announcedBy(dataFolder)).sideServers ?? {}).toEqual({})
  } finally {
    other.close()
  }
})

it("fails the start if a setting is invalid, with the reason", async () => {
  const dataFolder = await dataFolderWith({ DNS_LISTEN: "53" })
  const { code, stderr } = await dataFolder.tryCommand("start")
  expect(code).toBe(1)
  expect(stderr).toContain("DNS_LISTEN must be an address and a port")
})
