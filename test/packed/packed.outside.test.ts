/** The packed program: it holds what it names, and starts where nothing else is installed. */
import { execFile } from "node:child_process"
import { readFileSync, readdirSync, existsSync } from "node:fs"
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile, readFile } from "node:fs/promises"
import { builtinModules } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import process from "node:process"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, it } from "vitest"
import { SOURCE_MAIN } from "../../bin/program.mjs"
import type { ServerDataFolder } from "../support/server-process.ts"
import { makeDataFolder } from "../support/server-process.ts"
import { ROOT } from "../conventions/source-tree.ts"

const run = promisify(execFile)

interface InstalledPackage {
  readonly folder: string
  /** What the command `company-ledger` leads to. */
  readonly command: string
  readonly remove: () => Promise<void>
}

/** Packs, and installs what comes of it. */
async function installPacked(): Promise<InstalledPackage> {
  const root = await mkdtemp(join(tmpdir(), "company-ledger-packed-"))
  const empty = join(root, "empty")
  await mkdir(empty)
  await writeFile(join(empty, "package.json"), "{}")
  await npm(ROOT, "pack", "--pack-destination", root)
  const file = (await readdir(root)).find((name) => name.endsWith(".tgz"))
  if (file === undefined) throw new Error("npm pack wrote no file")
  await (isDeep() ? npmInstalls : linked)(root, empty, join(root, file))
  return {
    folder: join(empty, "node_modules", "company-ledger"),
    command: join(empty, "node_modules", ".bin", "company-ledger"),
    remove: () => rm(root, { recursive: true }),
  }
}

/** Whether there is time to have npm fetch what the package depends on. */
const isDeep = (): boolean => process.env["LEDGER_DEEP"] === "1"

async function npmInstalls(_root: string, empty: string, file: string): Promise<void> {
  await npm(empty, "install", "--prefer-offline", "--ignore-scripts", "--no-audit", file)
}

/**
 * Unpacks it as npm does, and lets it find what it depends on in the folder above: the packages of this
 * checkout, as its lock file has them.
 */
async function linked(root: string, empty: string, file: string): Promise<void> {
  const folder = join(empty, "node_modules", "company-ledger")
  await mkdir(folder, { recursive: true })
  await run("tar", ["-xzf", file, "-C", folder, "--strip-components=1"])
  await mkdir(join(empty, "node_modules", ".bin"))
  const { bin } = manifestOf(folder)
  const to = join("..", "company-ledger", bin["company-ledger"] ?? "")
  await symlink(to, join(empty, "node_modules", ".bin", "company-ledger"))
  await symlink(join(ROOT, "node_modules"), join(root, "node_modules"))
}

/** Runs npm without what the runner's own npm put into the environment. */
async function npm(cwd: string, ...words: readonly string[]): Promise<void> {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith("npm_"))
  await run("npm", [...words, "--loglevel=error"], { cwd, env: Object.fromEntries(entries) })
}

/** What a test reads of a package.json. */
interface Manifest {
  readonly bin: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
}

/** A package's own description. */
function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest
}

/** The text of each file of the bundle, by its name. */
function bundleOf(folder: string): ReadonlyMap<string, string> {
  const names = readdirSync(join(folder, "dist")).filter((name) => name.endsWith(".cjs"))
  return new Map(names.map((name) => [name, textOf(join(folder, "dist", name))]))
}

/** A file of the bundle: it breaks long lines within texts, too. */
const textOf = (path: string): string => readFileSync(path, "utf8").replaceAll("\\\n", "")

/** The files outside the bundle that it makes the addresses of, by their paths in the package. */
function filesNamedIn(bundle: ReadonlyMap<string, string>): readonly string[] {
  const addresses = [...bundle.values()].flatMap((text) => [
    ...text.matchAll(/\bnew URL\("([^"]+)",\s*__url(?:\s*\+\s*"([^"]+)")?\s*\)/g),
  ])
  return addresses.map(([, path = "", from = ""]) =>
    new URL(path, `file:///${from}`).pathname.slice(1),
  )
}

/** The packages that it does not hold. */
function packagesNamedIn(bundle: ReadonlyMap<string, string>): ReadonlySet<string> {
  const names = [...bundle.values()]
    .flatMap((text) => [
      ...text.matchAll(/\brequire\("(@[\w.-]+\/[\w.-]+|[\w-][\w.-]*)(?:\/[^"]*)?"\)/g),
    ])
    .map(([, name = ""]) => name)
  return new Set(names.filter((name) => !builtinModules.includes(name)))
}

let installed: InstalledPackage
const places: ServerDataFolder[] = []
beforeAll(async () => {
  installed = await installPacked()
}, 600_000)
afterAll(async () => {
  for (const place of places) await place.removeFiles()
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
  const [packed, checkout] = [
    await makeDataFolder({}, installed.command),
    await makeDataFolder({}, SOURCE_MAIN),
  ]
  places.push(packed, checkout)
  const [one, other] = [await packed.runCommand("config"), await checkout.runCommand("config")]
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
  const place = await makeDataFolder({}, installed.command)
  places.push(place)
  const server = await place.start("--demo")
  await server.until(() => server.lines.at(-1) === "")
  const key = /cpk_\w+/.exec(server.lines.join("\n"))?.[0] ?? ""
  const body = { to: "+14155550123", body: "Hello from acme" }
  const sent = await server.call(key, "POST", "/api/v1/phone/messages", { body })
  expect(sent).toMatchObject({ status: 200, body: { status: "queued" } })
  const page = await fetch(`${server.url}/console`)
  expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8")
  const html = await page.text()
  const [, script = ""] = /<script type="module"[^>]* src="([^"]+)"/.exec(html) ?? []
  expect((await fetch(new URL(script, `${server.url}/console/`))).status).toBe(200)
  await place.runCommand("wait")
  const out = join(place.dataDir, "bill.pdf")
  const month = new Date().toISOString().slice(0, 7)
  const asked = ["--company", "acme", "--month", month, "--format", "pdf", "--out", out]
  await place.runCommand("export", "billing", ...asked)
  expect((await readFile(out)).subarray(0, 5).toString()).toBe("%PDF-")
  expect(await server.endBySignal("SIGTERM")).toBe(0)
})

it("makes boxes and finds everything that a checkout finds", async () => {
  const [packed, checkout] = [await makeDataFolder({}, installed.command), await makeDataFolder()]
  places.push(packed, checkout)
  const [one, other] = [await findingsOf(packed), await findingsOf(checkout)]
  expect(one.length).toBeGreaterThan(10)
  expect(one).toEqual(other)
})

/** What `doctor` says, without what is different in each folder. */
async function findingsOf(place: ServerDataFolder): Promise<readonly unknown[]> {
  const { stdout } = await place.tryCommand("doctor", "--json")
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
