/** The packed program: it holds what it names, and starts where nothing else is installed. */
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, it } from "vitest"
import { SOURCE } from "../../bin/program.mjs"
import type { Place } from "../support/server-process.ts"
import { makePlace } from "../support/server-process.ts"
import type { InstalledPackage } from "./packing.ts"
import { bundleOf, filesNamedIn, installPacked, manifestOf, packagesNamedIn } from "./packing.ts"

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

it("holds every file next to which its modules were", () => {
  const named = filesNamedIn(bundleOf(installed.folder))
  expect(named.length).toBeGreaterThan(5)
  const lost = named.filter((path) => !existsSync(join(installed.folder, path)))
  // The benchmarks are for checkouts: the command says so where they are not there.
  expect(lost).toEqual(["bench/main.ts"])
})

it("shows the settings that a checkout shows, from the modules that its catalogue names", async () => {
  const [packed, checkout] = [await makePlace({}, installed.command), await makePlace({}, SOURCE)]
  places.push(packed, checkout)
  const [one, other] = [await packed.ledger("config"), await checkout.ledger("config")]
  const names = ({ settings }: { settings: { name: string }[] }) => settings.map(({ name }) => name)
  expect(names(one).length).toBeGreaterThan(40)
  expect(names(one)).toEqual(names(other))
})

it("loads no package but those that are installed with it", () => {
  const { dependencies, optionalDependencies } = manifestOf(installed.folder)
  const brought = new Set(Object.keys({ ...dependencies, ...optionalDependencies }))
  const packages = packagesNamedIn(bundleOf(installed.folder))
  expect(packages).toContain("pdfkit")
  // Fastify's packages name these in code that they print; the driver has another one where that is installed.
  const unused = ["ajv", "ajv-formats", "pg-native"]
  expect([...packages].filter((name) => !brought.has(name)).toSorted()).toEqual(unused)
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
