/** On what, with what and when something was measured. */
import { execFile } from "node:child_process"
import { arch, cpus, loadavg, release, totalmem, type } from "node:os"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

/** The machine, the versions and the code of a run. */
export interface Circumstances {
  /** ISO 8601, UTC. */
  readonly date: string
  readonly cpu: string
  readonly cores: number
  readonly memoryBytes: number
  /** Processes that wanted a core in the minute before: other work makes figures noisy. */
  readonly load: number
  readonly os: string
  readonly node: string
  /** Null where the code is no checkout, or git is not there. */
  readonly commit: string | null
  /** Whether files differ from that commit; null where it is not known. */
  readonly isChanged: boolean | null
}

/** Looks around. */
export async function circumstances(): Promise<Circumstances> {
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
    commit: await git("rev-parse", "HEAD"),
    isChanged: changes === null ? null : changes !== "",
  }
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
