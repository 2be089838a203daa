/** `deploy/caddy` as `compose.yaml` mounts it: what it names is compared, and Debian's Caddy serves by it. */
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

/** Calls, and the company to which they are said to belong: by `header` those go to one process. */
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

/** What Caddy makes of the file for an address: where it listens, and for whom. */
function servedFor(program: string, baseUrl: string) {
  const words = ["adapt", "--config", join(ROOT, FILE), "--adapter", "caddyfile", "--validate"]
  const env = { ...process.env, BASE_URL: baseUrl }
  const adapted = spawnSync(program, words, { encoding: "utf8", env })
  expect(adapted.stderr).not.toContain("Error")
  const [server] = Object.values<{ listen: string[]; routes: { match: { host: string[] }[] }[] }>(
    JSON.parse(adapted.stdout).apps.http.servers,
  )
  return { listen: server?.listen, host: server?.routes[0]?.match[0]?.host }
}

it("leads to both processes", () => {
  expect(file).toContain(`reverse_proxy ${SERVED} {`)
  for (const one of SERVED.split(" "))
    expect(compose.services).toHaveProperty(one.split(":")[0] ?? "")
})

it("is of a release that hands a call with a body to another process", () => {
  const [, minor = 0, patch = 0] = String(image).split(":")[1]?.split(".").map(Number) ?? []
  expect(minor * 100 + patch).toBeGreaterThanOrEqual(1_102)
})

it("keeps its certificates, and is reached where it listens and where they are asked for", () => {
  expect(volumes).toContain("caddy:/data")
  expect(compose.volumes).toHaveProperty("caddy")
  const own = compose.services["ledger-a"].environment.BASE_URL
  expect(environment.BASE_URL).toBe(own)
  expect(file).toContain(`{$BASE_URL:${resolveDefaults(own)}} {`)
  const { port } = new URL(resolveDefaults(own))
  expect(ports.map(resolveDefaults)).toEqual(["127.0.0.1:8080:80", `127.0.0.1:${port}:${port}`])
})

it.each([
  ["https://localhost:8443", ":8443", "localhost"],
  ["https://ledger.example.com", ":443", "ledger.example.com"],
])("serves %s as Caddy takes it", (url, listen, host) => {
  // `docs/deploy.md` says what a public name takes.
  const page = projectText("docs/deploy.md")
  for (const line of ["BASE_URL=https://ledger.example.com", "HTTP_PORT=80", "HTTPS_PORT=443"]) {
    expect(page).toContain(`\n${line}\n`)
  }
  if ("program" in caddy) {
    expect(servedFor(caddy.program, url)).toEqual({ listen: [listen], host: [host] })
  }
})

it("has a certificate, passes calls on, hides what is the operator's and leads to https", async (ctx) => {
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
  const own = file.replace(SERVED, `127.0.0.1:${port}`)
  const stop = await startCaddy(caddy.program, folder, own, http, { BASE_URL: url }, [
    "certificate obtained successfully",
  ])
  onTestFinished(stop)
  const ca = readFileSync(join(folder, "caddy/pki/authorities/local/root.crt"))
  const ask = async (path: string, headers: Record<string, string> = {}): Promise<string> => {
    const sent = request(`${url}${path}`, { ca, headers, agent: false }).end()
    const [answer] = (await once(sent, "response")) as [IncomingMessage]
    return `${answer.statusCode} ${await text(answer)}`
  }
  const host = `localhost:${https}`
  expect(await ask("/docs")).toBe(`200 ${host} `)
  for (const { path, headers, company } of NAMED) {
    expect(await ask(path, headers)).toBe(`200 ${host} ${company}`)
  }
  for (const path of ["/metrics", "/readyz", "/livez"]) expect(await ask(path)).toBe("404 ")
  const led = await fetch(`http://localhost:${http}/docs`, { redirect: "manual" })
  expect([led.status, led.headers.get("location")]).toEqual([308, `${url}/docs`])
})
