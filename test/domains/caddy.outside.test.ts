/** Debian's Caddy gets certificates on demand only for host names that are served here. */
import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { request } from "node:https"
import type { AddressInfo } from "node:net"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import type { TLSSocket } from "node:tls"
import { describe, expect, it, onTestFinished } from "vitest"
import { buildApp } from "../../src/frame/http/app.ts"
import { PROGRAM } from "../../src/slices.ts"
import type { World } from "../support/world.ts"
import { makeLiveDomain, openDomainWorld, postDomain } from "./domain-world.ts"

const isInstalled = spawnSync("caddy", ["version"]).status === 0

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, "close")
  return port
}

/** Starts Caddy in front of an address; returns its port and a function that stops it. */
async function startCaddy(upstream: string, folder: string) {
  const port = await freePort()
  const file = join(folder, "Caddyfile")
  const options = `admin off\nskip_install_trust\nauto_https disable_redirects\nhttps_port ${port}`
  writeFileSync(
    file,
    `{\n${options}\nstorage file_system ${folder}/store\n` +
      `on_demand_tls {\nask http://${upstream}/tls/ask\n}\n}\n` +
      `https:// {\nbind 127.0.0.1\ntls {\non_demand\nissuer internal\n}\nreverse_proxy ${upstream}\n}\n`,
  )
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  const child = spawn("caddy", ["run", "--config", file, "--adapter", "caddyfile"], { env })
  for await (const line of createInterface({ input: child.stderr })) {
    if (line.includes("serving initial configuration")) break
  }
  child.stderr.resume()
  const stop = async () => {
    child.kill("SIGTERM")
    if (child.exitCode === null) await once(child, "exit")
  }
  return { port, stop }
}

/** Caddy's answer for a server name and a host; `null` if it has no certificate for the name. */
function visit(port: number, servername: string, host = servername) {
  const { promise, resolve } = Promise.withResolvers<{
    readonly status: number
    readonly issuer: string
  } | null>()
  const options = { host: "127.0.0.1", port, servername, headers: { host }, agent: false }
  const outgoing = request({ ...options, rejectUnauthorized: false }, (response) => {
    const { issuer } = (response.socket as TLSSocket).getPeerCertificate()
    response.resume()
    resolve({ status: response.statusCode ?? 0, issuer: String(issuer.CN) })
  })
  // Caddy sends an alert instead of a certificate.
  outgoing.on("error", () => resolve(null))
  outgoing.end()
  return promise
}

describe("a proxy in front", () => {
  it("gets a certificate for a saved app address, which serves no other host", async (ctx) => {
    if (!isInstalled) ctx.skip("caddy is not installed")
    const { world, caddy } = await behindCaddy()
    const { company, domain, domainId } = await makeLiveDomain(world)
    const hostname = `app.${domain}`
    expect(await visit(caddy.port, hostname)).toBeNull()
    await postDomain(world, company, { action: "save_app_address", domainId, hostname })
    await world.operate("wait")
    await world.ports.hostnames.refresh()
    const issuer = expect.stringContaining("Caddy Local Authority")
    expect(await visit(caddy.port, hostname)).toEqual({ status: 404, issuer })
    expect(await visit(caddy.port, "foreign.example")).toBeNull()
    expect(await visit(caddy.port, hostname, "foreign.example")).toEqual({ status: 421, issuer })
    await expect
      .poll(async () => (await world.call(company.key, "GET", "/api/v1/domain")).body.appAddresses)
      .toMatchObject([{ hostname, status: "live" }])
  })
})

/** A world behind Caddy, until the running test ends. */
async function behindCaddy(): Promise<{
  readonly world: World
  readonly caddy: Awaited<ReturnType<typeof startCaddy>>
}> {
  const folder = mkdtempSync(join(tmpdir(), "ledger-caddy-"))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const world = await openDomainWorld()
  onTestFinished(() => world.close())
  const app = await buildApp(world.ports, PROGRAM.entries, PROGRAM.retiredPaths, {
    rateLimits: "off",
    ownHost: "ledger.test",
    hostRoutes: PROGRAM.hostRoutes(world.ports),
    aliases: PROGRAM.aliases(world.ports),
    pages: PROGRAM.pages,
    trustProxy: ["127.0.0.0/8"],
  })
  onTestFinished(() => app.close())
  await app.listen({ host: "127.0.0.1", port: 0 })
  const { port } = app.server.address() as AddressInfo
  const caddy = await startCaddy(`127.0.0.1:${port}`, folder)
  onTestFinished(() => caddy.stop())
  return { world, caddy }
}
