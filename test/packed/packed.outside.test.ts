/** The packed program: it is complete, and starts where nothing else is installed. */
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
  /** The path of the command `company-ledger`. */
  readonly command: string
  readonly remove: () => Promise<void>
}

async function installPacked(): Promise<InstalledPackage> {
  const root = await mkdtemp(join(tmpdir(), "company-ledger-packed-"))
  const empty = join(root, "empty")
  await mkdir(empty)
  await writeFile(join(empty, "package.json"), "{}")
  await npm(ROOT, "pack", "--pack-destination", root)
  const file = (await readdir(root)).find((name) => name.endsWith(".tgz"))
  if (file === undefined) throw new Error("npm pack wrote no file")
  await (isDeep() ? installByNpm : unpackAndLink)(root, empty, join(root, file))
  return {
    folder: join(empty, "node_modules", "company-ledger"),
    command: join(empty, "node_modules", ".bin", "company-ledger"),
    remove: () => rm(root, { recursive: true }),
  }
}

/** Whether npm may install the dependencies, which takes long. */
const isDeep = (): boolean => process.env["LEDGER_DEEP"] === "1"

async function installByNpm(_root: string, empty: string, file: string): Promise<void> {
  await npm(empty, "install", "--prefer-offline", "--ignore-scripts", "--no-audit", file)
}

/**
 * Unpacks the package like npm; its dependencies are in the parent folder: the packages of this checkout.
 */
async function unpackAndLink(root: string, empty: string, file: string): Promise<void> {
  const folder = join(empty, "node_modules", "company-ledger")
  await mkdir(folder, { recursive: true })
  await run("tar", ["-xzf", file, "-C", folder, "--strip-components=1"])
  await mkdir(join(empty, "node_modules", ".bin"))
  const { bin } = manifestOf(folder)
  const to = join("..", "company-ledger", bin["company-ledger"] ?? "")
  await symlink(to, join(empty, "node_modules", ".bin", "company-ledger"))
  await symlink(join(ROOT, "node_modules"), join(root, "node_modules"))
}

/** Runs npm without the environment variables of the runner's npm. */
async function npm(cwd: string, ...args: readonly string[]): Promise<void> {
  const entries = Object.entries(process.env).filter(([name]) => !name.startsWith("npm_"))
  await run("npm", [...args, "--loglevel=error"], { cwd, env: Object.fromEntries(entries) })
}

/** The fields of a package.json that these tests read. */
interface Manifest {
  readonly bin: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
}

function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest
}

/** The text of each file of the bundle, by name. */
function bundleOf(folder: string): ReadonlyMap<string, string> {
  const names = readdirSync(join(folder, "dist")).filter((name) => name.endsWith(".cjs"))
  return new Map(names.map((name) => [name, textOf(join(folder, "dist", name))]))
}

/** The text of a bundled file, without the line breaks that the bundler adds in long strings. */
const textOf = (path: string): string => readFileSync(path, "utf8").replaceAll("\\\n", "")

/** The files outside of the bundle that it refers to, by their paths in the package. */
function filesNamedIn(bundle: ReadonlyMap<string, string>): readonly string[] {
  const addresses = [...bundle.values()].flatMap((text) => [
    ...text.matchAll(/\bnew URL\("([^"]+)",\s*__url(?:\s*\+\s*"([^"]+)")?\s*\)/g),
  ])
  return addresses.map(([, path = "", from = ""]) =>
    new URL(path, `file:///${from}`).pathname.slice(1),
  )
}

function packagesNamedIn(bundle: ReadonlyMap<string, string>): ReadonlySet<string> {
  const names = [...bundle.values()]
    .flatMap((text) => [
      ...text.matchAll(/\brequire\("(@[\w.-]+\/[\w.-]+|[\w-][\w.-]*)(?:\/[^"]*)?"\)/g),
    ])
    .map(([, name = ""]) => name)
  return new Set(names.filter((name) => !builtinModules.includes(name)))
}

let installed: InstalledPackage
const dataFolders: ServerDataFolder[] = []
beforeAll(async () => {
  installed = await installPacked()
}, 600_000)
afterAll(async () => {
  for (const dataFolder of dataFolders) await dataFolder.removeFiles()
  await installed.remove()
})

it("contains every file that its modules refer to", () => {
  const named = filesNamedIn(bundleOf(installed.folder))
  expect(named.length).toBeGreaterThan(5)
  const lost = named.filter((path) => !existsSync(join(installed.folder, path)))
  // The benchmarks are only in checkouts; the command says so.
  expect(lost).toEqual(["bench/main.ts"])
})

it("shows the same settings as a checkout", async () => {
  const [packed, checkout] = [
    await makeDataFolder({}, installed.command),
    await makeDataFolder({}, SOURCE_MAIN),
  ]
  dataFolders.push(packed, checkout)
  const [one, other] = [await packed.runCommand("config"), await checkout.runCommand("config")]
  const names = ({ settings }: { settings: { name: string }[] }) => settings.map(({ name }) => name)
  expect(names(one).length).toBeGreaterThan(40)
  expect(names(one)).toEqual(names(other))
})

it("loads only packages that are installed with it", () => {
  const { dependencies, optionalDependencies } = manifestOf(installed.folder)
  const brought = new Set(Object.keys({ ...dependencies, ...optionalDependencies }))
  const packages = packagesNamedIn(bundleOf(installed.folder))
  expect(packages).toContain("pdfkit")
  // Fastify's packages name the first two in generated code; the database driver uses the third if it is installed.
  const unused = ["ajv", "ajv-formats", "pg-native"]
  expect([...packages].filter((name) => !brought.has(name)).toSorted()).toEqual(unused)
})

it("starts a demo, answers calls, serves the console, and stops cleanly", async () => {
  const dataFolder = await makeDataFolder({}, installed.command)
  dataFolders.push(dataFolder)
  const server = await dataFolder.start("--demo")
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
  await dataFolder.runCommand("wait")
  const out = join(dataFolder.dataDir, "bill.pdf")
  const month = new Date().toISOString().slice(0, 7)
  const options = ["--company", "acme", "--month", month, "--format", "pdf", "--out", out]
  await dataFolder.runCommand("export", "billing", ...options)
  expect((await readFile(out)).subarray(0, 5).toString()).toBe("%PDF-")
  expect(await server.endBySignal("SIGTERM")).toBe(0)
})

it("has the same doctor findings as a checkout", async () => {
  const [packed, checkout] = [await makeDataFolder({}, installed.command), await makeDataFolder()]
  dataFolders.push(packed, checkout)
  const [one, other] = [await findingsOf(packed), await findingsOf(checkout)]
  expect(one.length).toBeGreaterThan(10)
  expect(one).toEqual(other)
})

/** The findings of `doctor`, without texts that differ between folders. */
async function findingsOf(dataFolder: ServerDataFolder): Promise<readonly unknown[]> {
  const { stdout } = await dataFolder.tryCommand("doctor", "--json")
  const { findings } = JSON.parse(stdout) as { findings: { check: string; state: string }[] }
  return findings.map(({ check, state }) => ({ check, state }))
}

it("prints its version", async () => {
  const { version } = JSON.parse(
    await readFile(join(installed.folder, "package.json"), "utf8"),
  ) as { version: string }
  const { stdout } = await run(process.execPath, [installed.command, "--version"])
  expect(stdout.trim()).toBe(version)
})
