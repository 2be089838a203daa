/** `deploy/caddy` with `compose.yaml`: the files agree, and Debian's Caddy serves with them. */
import { spawnSync } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import type { IncomingMessage } from "node:http"
import { createServer } from "node:http"
import { request } from "node:https"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { expect, it, onTestFinished } from "vitest"
import { findCaddy, startCaddy, findFreePort } from "../support/debian-programs.ts"
import { ROOT } from "../conventions/source-tree.ts"
import { resolveDefaults, yamlDocumentOf, projectText } from "./project-files.ts"

const FILE = "deploy/caddy/Caddyfile"
const SERVED = "ledger-a:3000 ledger-b:3000"
const file = projectText(FILE)
const compose = yamlDocumentOf("compose.yaml")
const { environment, ports, volumes, image } = compose.services.caddy
const caddy = findCaddy()

/** Calls and the company in their header, by which Caddy sends them to one process. */
const NAMED: readonly {
  readonly path: string
  readonly headers: Record<string, string>
  readonly company: string
}[] = [
  { path: "/api/v1/keys", headers: { authorization: "Bearer cpk_Ab3_secret" }, company: "Ab3" },
  { path: "/api/v1/keys", headers: { authorization: "Basic cpk_Ab3_secret" }, company: "" },
  { path: "/console/co_Ab3", headers: {}, company: "Ab3" },
  { path: "/console/co_Ab3/keys?page=2", headers: {}, company: "Ab3" },
  { path: "/console/co_", headers: {}, company: "" },
  {
    path: "/console/assets/main.js",
    headers: { referer: "https://ledger.test/console/co_Ab3/keys" },
    company: "Ab3",
  },
  {
    path: "/console/co_Cd4",
    headers: { referer: "https://ledger.test/console/co_Ab3" },
    company: "Cd4",
  },
]

/** Caddy's listen address and host for a base URL. */
function servedFor(program: string, baseUrl: string) {
  const args = ["adapt", "--config", join(ROOT, FILE), "--adapter", "caddyfile", "--validate"]
  const env = { ...process.env, BASE_URL: baseUrl }
  const adapted = spawnSync(program, args, { encoding: "utf8", env })
  expect(adapted.stderr).not.toContain("Error")
  const [server] = Object.values<{ listen: string[]; routes: { match: { host: string[] }[] }[] }>(
    JSON.parse(adapted.stdout).apps.http.servers,
  )
  return { listen: server?.listen, host: server?.routes[0]?.match[0]?.host }
}

it("proxies to both processes", () => {
  expect(file).toContain(`reverse_proxy ${SERVED} {`)
  for (const one of SERVED.split(" "))
    expect(compose.services).toHaveProperty(one.split(":")[0] ?? "")
})

it("uses a release that can retry a call with a body on another process", () => {
  const [, minor = 0, patch = 0] = String(image).split(":")[1]?.split(".").map(Number) ?? []
  expect(minor * 100 + patch).toBeGreaterThanOrEqual(1_102)
})

it("stores its certificates, and publishes the ports that it listens on", () => {
  expect(volumes).toContain("caddy:/data")
  expect(compose.volumes).toHaveProperty("caddy")
  const baseUrl = compose.services["ledger-a"].environment.BASE_URL
  expect(environment.BASE_URL).toBe(baseUrl)
  expect(file).toContain(`{$BASE_URL:${resolveDefaults(baseUrl)}} {`)
  const { port } = new URL(resolveDefaults(baseUrl))
  expect(ports.map(resolveDefaults)).toEqual(["127.0.0.1:8080:80", `127.0.0.1:${port}:${port}`])
})

it.each([
  ["https://localhost:8443", ":8443", "localhost"],
  ["https://ledger.example.com", ":443", "ledger.example.com"],
])("serves %s on its port and host", (url, listen, host) => {
  // `docs/deploy.md` has the settings for a public host name.
  const page = projectText("docs/deploy.md")
  for (const line of ["BASE_URL=https://ledger.example.com", "HTTP_PORT=80", "HTTPS_PORT=443"]) {
    expect(page).toContain(`\n${line}\n`)
  }
  if ("program" in caddy) {
    expect(servedFor(caddy.program, url)).toEqual({ listen: [listen], host: [host] })
  }
})

it("has a certificate, proxies calls, hides operator routes and redirects to HTTPS", async (ctx) => {
  if ("missing" in caddy) return ctx.skip(caddy.missing)
  const folder = mkdtempSync(join(tmpdir(), "ledger-caddy-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const server = createServer(({ headers }, answer) => {
    answer.end(`${headers.host} ${String(headers["x-ledger-company"])}`)
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const [https, http] = [await findFreePort(), await findFreePort()]
  const url = `https://localhost:${https}`
  const config = file.replace(SERVED, `127.0.0.1:${port}`)
  const stop = await startCaddy(caddy.program, folder, config, http, { BASE_URL: url }, [
    "certificate obtained successfully",
  ])
  onTestFinished(stop)
  const ca = readFileSync(join(folder, "caddy/pki/authorities/local/root.crt"))
  const ask = async (path: string, headers: Record<string, string> = {}): Promise<string> => {
    const outgoing = request(`${url}${path}`, { ca, headers, agent: false }).end()
    const [answer] = (await once(outgoing, "response")) as [IncomingMessage]
    return `${answer.statusCode} ${await text(answer)}`
  }
  const host = `localhost:${https}`
  expect(await ask("/docs")).toBe(`200 ${host} `)
  for (const { path, headers, company } of NAMED) {
    expect(await ask(path, headers)).toBe(`200 ${host} ${company}`)
  }
  for (const path of ["/metrics", "/readyz", "/livez"]) expect(await ask(path)).toBe("404 ")
  const redirect = await fetch(`http://localhost:${http}/docs`, { redirect: "manual" })
  expect([redirect.status, redirect.headers.get("location")]).toEqual([308, `${url}/docs`])
})
