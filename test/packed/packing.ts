/** The program as `npm pack` packs it, installed in a folder that has nothing else. */
import { execFile } from "node:child_process"
import { readFileSync, readdirSync } from "node:fs"
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises"
import { builtinModules } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import process from "node:process"
import { promisify } from "node:util"
import { ROOT } from "../tidy/tree.ts"

const run = promisify(execFile)

/** An installed package. */
export interface InstalledPackage {
  readonly folder: string
  /** What the command `company-ledger` leads to. */
  readonly command: string
  readonly remove: () => Promise<void>
}

/** Packs, and installs what comes of it. */
export async function installPacked(): Promise<InstalledPackage> {
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
export function manifestOf(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest
}

/** The text of each file of the bundle, by its name. */
export function bundleOf(folder: string): ReadonlyMap<string, string> {
  const names = readdirSync(join(folder, "dist")).filter((name) => name.endsWith(".cjs"))
  return new Map(names.map((name) => [name, textOf(join(folder, "dist", name))]))
}

/** A file of the bundle: it breaks long lines within texts, too. */
const textOf = (path: string): string => readFileSync(path, "utf8").replaceAll("\\\n", "")

/** The files outside the bundle that it makes the addresses of, by their paths in the package. */
export function filesNamedIn(bundle: ReadonlyMap<string, string>): readonly string[] {
  const addresses = [...bundle.values()].flatMap((text) => [
    ...text.matchAll(/\bnew URL\("([^"]+)",\s*__url(?:\s*\+\s*"([^"]+)")?\s*\)/g),
  ])
  return addresses.map(([, path = "", from = ""]) =>
    new URL(path, `file:///${from}`).pathname.slice(1),
  )
}

/** The packages that it does not hold. */
export function packagesNamedIn(bundle: ReadonlyMap<string, string>): ReadonlySet<string> {
  const names = [...bundle.values()]
    .flatMap((text) => [
      ...text.matchAll(/\brequire\("(@[\w.-]+\/[\w.-]+|[\w-][\w.-]*)(?:\/[^"]*)?"\)/g),
    ])
    .map(([, name = ""]) => name)
  return new Set(names.filter((name) => !builtinModules.includes(name)))
}
