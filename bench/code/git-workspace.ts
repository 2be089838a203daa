/** Git for benchmarks: without the machine's settings, in its own folders. */
import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"

const exec = promisify(execFile)

/** A folder with working copies, and git in it. */
export interface GitWorkspace {
  readonly folder: string
  /** Runs git in a folder of the workspace. @throws Error if it fails */
  readonly git: (within: string, ...args: readonly string[]) => Promise<void>
  /** Runs git and returns its output. */
  readonly read: (within: string, ...args: readonly string[]) => Promise<string>
  readonly remove: () => Promise<void>
}

/** Opens a workspace. */
export async function openGitWorkspace(): Promise<GitWorkspace> {
  const folder = await mkdtemp(join(tmpdir(), "company-ledger-bench-code-"))
  const env = {
    PATH: process.env["PATH"],
    HOME: folder,
    GIT_CONFIG_NOSYSTEM: "1",
    LANG: "C.UTF-8",
    GIT_AUTHOR_NAME: "Ada",
    GIT_AUTHOR_EMAIL: "ada@example.com",
    GIT_COMMITTER_NAME: "Ada",
    GIT_COMMITTER_EMAIL: "ada@example.com",
  }
  const read: GitWorkspace["read"] = async (within, ...args) =>
    (await exec("git", args, { cwd: join(folder, within), env })).stdout.trim()
  return {
    folder,
    read,
    git: async (within, ...args) => void (await read(within, ...args)),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}

/** Creates a working copy with one commit of random files, each of so many bytes. */
export async function createWorkingCopy(
  { folder, git }: GitWorkspace,
  name: string,
  files: number,
  bytes: number,
): Promise<void> {
  const copy = join(folder, name)
  await mkdir(copy)
  await git(name, "init", "-q", "--initial-branch=main")
  for (let i = 0; i < files; i += 1) {
    const inside = join(copy, `folder-${i % 50}`)
    await mkdir(inside, { recursive: true })
    await writeFile(join(inside, `file-${i}.bin`), randomBytes(bytes))
  }
  await git(name, "add", "-A")
  await git(name, "commit", "-q", "-m", `${files} files`)
}

/** Creates a bare repository with the same checks as the server's. */
export async function createBareRepository({ git }: GitWorkspace, name: string): Promise<void> {
  await git(".", "init", "-q", "--bare", "--initial-branch=main", name)
  await git(name, "config", "transfer.fsckObjects", "true")
  await git(name, "config", "transfer.unpackLimit", "1")
}
