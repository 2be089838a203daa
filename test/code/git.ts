/** The ordinary git of a person at a terminal: in a folder of its own, without this machine's settings. */
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, writeFileSync } from "node:fs"
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { FLUSH_PACKET, pktLine } from "../../adapters/git/port.ts"

/** A person's folder with git. */
export type GitWorkspace = Awaited<ReturnType<typeof openGitWorkspace>>

export interface GitRunOptions {
  /** Folder name of the repository to run in. */
  readonly folder?: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string | Uint8Array
}

/** The environment of git for a person with this home folder. */
const gitEnvironment = (home: string) => ({
  PATH: process.env["PATH"] ?? "",
  HOME: home,
  LANG: "C.UTF-8",
  GIT_AUTHOR_NAME: "A Person",
  GIT_AUTHOR_EMAIL: "person@example.com",
  GIT_COMMITTER_NAME: "A Person",
  GIT_COMMITTER_EMAIL: "person@example.com",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_TERMINAL_PROMPT: "0",
  GIT_ASKPASS: "/bin/false",
  GIT_TEST_FSYNC: "false",
})

/** Prevents background maintenance after each command. */
const SETTINGS = `[init]
  defaultBranch = main
[advice]
  detachedHead = false
[maintenance]
  auto = false
`

/** Creates a workspace in the system's temporary folder. */
export async function openGitWorkspace() {
  const path = await mkdtemp(join(tmpdir(), "company-ledger-workspace-"))
  await writeFile(join(path, ".gitconfig"), SETTINGS)
  const env = gitEnvironment(path)
  const spawnGit = async (args: readonly string[], more: GitRunOptions = {}) => {
    const cwd = more.folder === undefined ? path : join(path, more.folder)
    const child = spawn("git", [...args], { cwd, env: { ...env, ...more.env } })
    child.stdin.on("error", () => undefined)
    child.stdin.end(more.input ?? "")
    let stderr = ""
    const pieces: Buffer[] = []
    child.stdout.on("data", (piece: Buffer) => pieces.push(piece))
    child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text))
    const [code] = (await once(child, "close")) as [number | null]
    return { code, bytes: Buffer.concat(pieces), stderr }
  }
  /** Runs a command that may fail; returns its exit code and output. */
  const tryRun = async (args: readonly string[], more?: GitRunOptions) => {
    const { bytes, ...rest } = await spawnGit(args, more)
    return { ...rest, stdout: bytes.toString("utf8") }
  }
  /** Runs a command and returns its output. @throws Error if it fails, with its standard error */
  const run = async (args: readonly string[], more?: GitRunOptions) => {
    const { code, stdout, stderr } = await tryRun(args, more)
    if (code !== 0) throw new Error(`git ${args.join(" ")} exited with ${code}: ${stderr}`)
    return stdout.trim()
  }
  return {
    path,
    git: tryRun,
    run,
    /** Runs a command and returns its output as bytes. @throws Error if it fails */
    bytes: async (args: readonly string[], more?: GitRunOptions) => {
      const { code, bytes, stderr } = await spawnGit(args, more)
      if (code !== 0) throw new Error(`git ${args.join(" ")} exited with ${code}: ${stderr}`)
      return bytes
    },
    /** Writes a file of a repository and commits it; returns the commit. */
    commit: async (repository: string, name: string, content: string | Buffer) => {
      const file = join(path, repository, name)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, content)
      await run(["add", "--all"], { folder: repository })
      await run(["commit", "--quiet", "--message", `Write ${name}`], { folder: repository })
      return run(["rev-parse", "HEAD"], { folder: repository })
    },
    clear: () => rm(path, { recursive: true, force: true }),
  }
}

/** Runs git in a folder, as a person with a name; returns its output. */
export function git(folder: string, ...args: readonly string[]): string {
  return runGitWith({}, folder, args)
}

/** Runs git with a fixed date, so that each run makes the same commit. */
export function gitAt(when: string, folder: string, ...args: readonly string[]): string {
  return runGitWith({ GIT_AUTHOR_DATE: when, GIT_COMMITTER_DATE: when }, folder, args)
}

function runGitWith(more: NodeJS.ProcessEnv, folder: string, args: readonly string[]): string {
  const env = { ...gitEnvironment(folder), ...more }
  return execFileSync("git", args, { cwd: folder, env, encoding: "utf8", stdio: "pipe" }).trim()
}

/** Creates a working copy with one commit on `main`. */
export function makeWorkingCopy(folder: string, files: Readonly<Record<string, string>>): string {
  const copy = mkdtempSync(join(folder, "copy-"))
  git(copy, "init", "-q", "--initial-branch=main")
  commitFiles(copy, files)
  return copy
}

/** Commits files in a working copy; returns the commit. */
export function commitFiles(copy: string, files: Readonly<Record<string, string>>): string {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(copy, name), text)
  git(copy, "add", "-A")
  git(copy, "commit", "-q", "-m", "more")
  return git(copy, "rev-parse", "HEAD")
}

/** Writes all branches and tags of a working copy to a bundle; returns its file. */
export function writeBundle(copy: string): string {
  const file = join(copy, "..", `${Math.random().toString(36).slice(2)}.bundle`)
  git(copy, "bundle", "create", "-q", file, "--all")
  return file
}

export interface TreeEntry {
  readonly mode: string
  readonly name: string | Buffer
  readonly id: string
}

/** Writes a tree of exactly these entries, valid or not, and a commit of it. */
export async function writeCommit(
  workspace: GitWorkspace,
  repository: string,
  entries: readonly TreeEntry[],
): Promise<{ readonly commit: string; readonly tree: string }> {
  const input = Buffer.concat(
    entries.flatMap(({ mode, name, id }) => [
      Buffer.from(`${mode} `),
      Buffer.from(name as string),
      Buffer.from([0]),
      Buffer.from(id, "hex"),
    ]),
  )
  const writeTree = ["hash-object", "-t", "tree", "--literally", "-w", "--stdin"]
  const tree = await workspace.run(writeTree, { folder: repository, input })
  const commit = await workspace.run(["commit-tree", "-m", "x", tree], { folder: repository })
  return { commit, tree }
}

/** Writes a blob; returns its id. */
export const writeBlob = (
  workspace: GitWorkspace,
  repository: string,
  input: string | Uint8Array,
) => workspace.run(["hash-object", "-w", "--stdin"], { folder: repository, input })

/** A pack of exactly these objects. */
export const writePack = (workspace: GitWorkspace, repository: string, ids: readonly string[]) =>
  workspace.bytes(["pack-objects", "--stdout", "--quiet"], {
    folder: repository,
    input: `${ids.join("\n")}\n`,
  })

/** The body that git sends to push one branch: the update, and a pack with everything of the commit. */
export async function pushBody(
  workspace: GitWorkspace,
  repository: string,
  {
    ref = "refs/heads/main",
    old = NO_OBJECT,
  }: { readonly ref?: string; readonly old?: string } = {},
): Promise<Buffer> {
  const commit = await workspace.run(["rev-parse", "HEAD"], { folder: repository })
  const update = pktLine(`${old} ${commit} ${ref}\0report-status side-band-64k`)
  const options = { folder: repository, input: `${commit}\n` }
  const pack = await workspace.bytes(["pack-objects", "--stdout", "--revs", "--quiet"], options)
  return Buffer.concat([update, FLUSH_PACKET, pack])
}

const NO_OBJECT = "0".repeat(40)
