/** The network of boxes: they reach the internet, but not the machine or its networks. */
import type { SandboxPolicy } from "../../adapters/sandbox/boxhost/bubblewrap/sandbox-policy.ts"
import { execFileSync } from "node:child_process"
import { randomInt } from "node:crypto"
import { once } from "node:events"
import { type AddressInfo, type Server, createServer } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { HostCapability } from "../../adapters/sandbox/boxhost/bubblewrap/options.ts"
import { DEFAULT_SANDBOX_POLICY } from "../../adapters/sandbox/boxhost/bubblewrap/sandbox-policy.ts"
import type { BoxHandle } from "../../adapters/sandbox/boxhost/port.ts"
import { noSandboxReason, isRoot, newBoxPlan, ownSandboxHosts, runShell } from "./sandbox-hosts.ts"

/** Addresses for documentation, which are on no network; the tests give them to this machine for a while. */
const NEAR = `192.0.2.${randomInt(1, 255)}`
const FAR = `198.51.100.${randomInt(1, 255)}`
const SET = `203.0.113.${randomInt(1, 255)}`

const why = noSandboxReason ?? (isRoot ? null : "only root may add addresses to this machine")

const TEMPORARY = [FAR, SET]

const hosts = await ownSandboxHosts({ blockedNetworks: async () => ["203.0.113.0/24"] }, why)
const servers: Server[] = []
let port = 0

function address(verb: "add" | "del", ip: string): void {
  execFileSync("ip", ["address", verb, `${ip}/32`, "dev", "lo"])
}

/** Gives this machine an address, with a server on it. */
async function serveOn(ip: string): Promise<void> {
  address("add", ip)
  const server = createServer((socket) => socket.end("reached"))
  server.listen(port, ip)
  await once(server, "listening")
  port = (server.address() as AddressInfo).port
  servers.push(server)
}

beforeAll(async () => {
  if (why !== null) return
  for (const ip of [NEAR, ...TEMPORARY]) await serveOn(ip)
  // The servers keep listening while the addresses are removed.
  for (const ip of TEMPORARY) address("del", ip)
})
afterAll(() => {
  if (why !== null) return
  for (const server of servers) server.close()
  address("del", NEAR)
})

/** The text that a box gets from a server; empty if it cannot reach it. */
async function textFrom(box: BoxHandle, ip: string): Promise<string> {
  const source =
    `require("net").connect({ host: "${ip}", port: ${port}, timeout: 3000 })` +
    '.on("timeout", () => process.exit()).on("error", () => process.exit()).pipe(process.stdout)'
  return (await runShell(box, `exec node -e '${source}'`, { maxOutputBytes: 100 })).stdout
}

/** A box of a program without some capabilities. */
async function boxWithout(...disabledCapabilities: readonly HostCapability[]): Promise<BoxHandle> {
  return (await hosts.open({ disabledCapabilities })).start(newBoxPlan())
}

const CLOSED = ["10.0.2.2", "169.254.169.254", "192.168.0.1", "172.16.0.1", "100.64.0.1", "::1"]

describe("the network of a box", () => {
  it.for([
    { tools: "slirp4netns and nftables", without: [], network: "slirp" },
    { tools: "slirp4netns and routing rules", without: ["nft"], network: "slirp" },
    { tools: "pasta and nftables", without: ["slirp4netns"], network: "pasta" },
  ] as const)(
    "with $tools reaches the internet, but not this machine",
    async ({ network, without }) => {
      const box = await boxWithout(...without)
      expect(await box.readHealth()).toMatchObject({ network })
      // Addresses that the machine gets after the box was made count as the internet.
      for (const ip of TEMPORARY) address("add", ip)
      expect(await textFrom(box, FAR)).toBe("reached")
      expect(await textFrom(box, NEAR)).toBe("")
      expect(await textFrom(box, SET)).toBe("")
      expect(await textFrom(box, "127.0.0.1")).toBe("")
      for (const ip of CLOSED) expect(await textFrom(box, ip)).toBe("")
      for (const ip of TEMPORARY) address("del", ip)
      await box.stop()
    },
  )

  it("would reach this machine without its firewall", async () => {
    const open: SandboxPolicy = {
      ...DEFAULT_SANDBOX_POLICY,
      adjustFirewall: (firewall) => ({ ...firewall, networks: [] }),
    }
    const weak = await (await hosts.open({}, open)).start(newBoxPlan())
    expect(await textFrom(weak, NEAR)).toBe("reached")
    await weak.stop()
  })

  it("cannot be changed from within", async () => {
    const box = await hosts.host.start(newBoxPlan())
    const lines = [
      "nft flush ruleset",
      "nft delete table inet box",
      "ip rule flush",
      "ip route add 10.0.0.0/8 dev tap0",
      "ip link set tap0 down",
      "ip rule del pref 100",
    ]
    for (const line of lines) expect((await runShell(box, line)).exitCode).not.toBe(0)
    expect(await textFrom(box, NEAR)).toBe("")
    await box.stop()
  })

  it("is disabled if the firewall or the network helper is missing", async () => {
    for (const without of [["nft", "ip"] as const, ["slirp4netns", "pasta"] as const]) {
      const box = await boxWithout(...without)
      expect(await box.readHealth()).toMatchObject({ network: "none" })
      expect((await runShell(box, "cat /proc/net/route")).stdout.split("\n").length).toBe(2)
      await box.stop()
    }
  })
})
