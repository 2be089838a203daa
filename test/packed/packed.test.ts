/** The packed program: it holds what it names, and starts where nothing else is installed. */
import { execFile } from "node:child_process"
import { readFile } from "node:fs/promises"
import { builtinModules } from "node:module"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, it } from "vitest"
import type { Place } from "../support/server-process.ts"
import { makePlace } from "../support/server-process.ts"
import type { InstalledPackage } from "./packing.ts"
import { installPacked, leadsSomewhere, manifestOf, namedIn } from "./packing.ts"

const run = promisify(execFile)

let installed: InstalledPackage
const places: Place[] = []
beforeAll(async () => {
  installed = await installPacked()
}, 600_000)
afterAll(async () => {
  for (const place of places) await place.clear()
  await installed.remove()
})

const isRelative = (path: string): boolean => path.startsWith(".")

it("holds every file that its modules name", () => {
  const named = namedIn(installed.folder).filter(({ path }) => isRelative(path))
  expect(named.length).toBeGreaterThan(3_000)
  const lost = named.filter((one) => !leadsSomewhere(installed.folder, one))
  // The benchmarks are for checkouts: the command says so where they are not there.
  const missing = { file: "dist/src/compose/benchmarks.js", path: "../../../bench/main.ts" }
  expect(lost).toEqual([missing])
})

it("takes its modules from its catalogue as it packed them", async () => {
  const catalogue = await readFile(join(installed.folder, "dist/src/catalogue.json"), "utf8")
  const paths = [...catalogue.matchAll(/"([\w/-]+\.(?:js|ts))"/g)].map(([, path = ""]) => path)
  expect(paths.length).toBeGreaterThan(20)
  const file = "dist/src/catalogue.json"
  expect(paths.filter((path) => !leadsSomewhere(installed.folder, { file, path }))).toEqual([])
})

it("imports no package but those that are installed with it", () => {
  const { dependencies, optionalDependencies } = manifestOf(installed.folder)
  const brought = new Set(Object.keys({ ...dependencies, ...optionalDependencies }))
  const packages = namedIn(installed.folder)
    .map(({ path }) => path)
    .filter((path) => !isRelative(path) && !path.startsWith("node:"))
    .map((path) => /^(@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? path)
  expect(new Set(packages).size).toBeGreaterThan(20)
  expect([...new Set(packages)].filter((name) => !brought.has(name))).toEqual([])
  expect(packages.filter((name) => builtinModules.includes(name))).toEqual([])
})

it("starts with a company to try, is called, shows the console, and stops in order", async () => {
  const place = await makePlace({}, installed.command)
  places.push(place)
  const server = await place.start("--demo")
  await expect.poll(() => server.lines.at(-1)).toBe("")
  const key = /cpk_\w+/.exec(server.lines.join("\n"))?.[0] ?? ""
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
  const body = JSON.stringify({ to: "+14155550123", body: "Hello from acme" })
  const sent = await fetch(`${server.url}/api/v1/phone/messages`, { method: "POST", headers, body })
  expect([sent.status, await sent.json()]).toMatchObject([200, { status: "queued" }])
  const page = await fetch(`${server.url}/console`)
  expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8")
  const html = await page.text()
  const [, script = ""] = /<script type="module"[^>]* src="([^"]+)"/.exec(html) ?? []
  expect((await fetch(new URL(script, `${server.url}/console/`))).status).toBe(200)
  await place.ledger("wait")
  const out = join(place.dataDir, "bill.pdf")
  const month = new Date().toISOString().slice(0, 7)
  const asked = ["--company", "acme", "--month", month, "--format", "pdf", "--out", out]
  await place.ledger("export", "billing", ...asked)
  expect((await readFile(out)).subarray(0, 5).toString()).toBe("%PDF-")
  expect(await server.end("SIGTERM")).toBe(0)
})

it("makes boxes and finds everything that a checkout finds", async () => {
  const [packed, checkout] = [await makePlace({}, installed.command), await makePlace()]
  places.push(packed, checkout)
  const [one, other] = [await findingsOf(packed), await findingsOf(checkout)]
  expect(one.length).toBeGreaterThan(10)
  expect(one).toEqual(other)
})

/** What `doctor` says, without what is different in each folder. */
async function findingsOf(place: Place): Promise<readonly unknown[]> {
  const { stdout } = await place.attempt("doctor", "--json")
  const { findings } = JSON.parse(stdout) as { findings: { check: string; state: string }[] }
  return findings.map(({ check, state }) => ({ check, state }))
}

it("says its version by its command, as a program of its own", async () => {
  const { version } = JSON.parse(
    await readFile(join(installed.folder, "package.json"), "utf8"),
  ) as { version: string }
  const { stdout } = await run(process.execPath, [installed.command, "--version"])
  expect(stdout.trim()).toBe(version)
})
