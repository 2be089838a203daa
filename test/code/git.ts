/** The ordinary git, as a person at a terminal has it: in a folder of its own, with no settings of this machine. */
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, writeFileSync } from "node:fs"
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { FLUSH_PACKET, pktLine } from "../../adapters/git/port.ts"

/** A folder of somebody, with git. */
export type GitWorkspace = Awaited<ReturnType<typeof openGitWorkspace>>

/** How a command is run. */
export interface GitRunOptions {
  /** The repository it is run in, by the folder's name. */
  readonly folder?: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string | Uint8Array
}

/** The environment of git for a person whose home is that folder. */
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

/** Git starts no process to tidy up after each command. */
const SETTINGS = `[init]
  defaultBranch = main
[advice]
  detachedHead = false
[maintenance]
  auto = false
`

/** Makes a desk in the system's temporary folder. */
export async function openGitWorkspace() {
  const path = await mkdtemp(join(tmpdir(), "company-ledger-desk-"))
  await writeFile(join(path, ".gitconfig"), SETTINGS)
  const env = gitEnvironment(path)
  const run = async (args: readonly string[], more: GitRunOptions = {}) => {
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
  /** Its output, and what stands at the terminal beside it. */
  const said = async (args: readonly string[], more?: GitRunOptions) => {
    const { bytes, ...rest } = await run(args, more)
    return { ...rest, stdout: bytes.toString("utf8") }
  }
  /** The same for what must go well; answers its output. @throws Error with what it said */
  const right = async (args: readonly string[], more?: GitRunOptions) => {
    const { code, stdout, stderr } = await said(args, more)
    if (code !== 0) throw new Error(`git ${args.join(" ")} exited with ${code}: ${stderr}`)
    return stdout.trim()
  }
  return {
    path,
    git: said,
    right,
    /** What a command writes, as bytes. @throws Error where it fails */
    bytes: async (args: readonly string[], more?: GitRunOptions) => {
      const { code, bytes, stderr } = await run(args, more)
      if (code !== 0) throw new Error(`git ${args.join(" ")} exited with ${code}: ${stderr}`)
      return bytes
    },
    /** Writes a file of a repository and commits it; answers the commit. */
    commit: async (repository: string, name: string, content: string | Buffer) => {
      const file = join(path, repository, name)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, content)
      await right(["add", "--all"], { folder: repository })
      await right(["commit", "--quiet", "--message", `Write ${name}`], { folder: repository })
      return right(["rev-parse", "HEAD"], { folder: repository })
    },
    clear: () => rm(path, { recursive: true, force: true }),
  }
}

/** Runs git in a folder, as somebody with a name; answers what it says. */
export function git(folder: string, ...args: readonly string[]): string {
  return runGitWith({}, folder, args)
}

/** The same at a time: what is committed is then the same commit each time. */
export function gitAt(when: string, folder: string, ...args: readonly string[]): string {
  return runGitWith({ GIT_AUTHOR_DATE: when, GIT_COMMITTER_DATE: when }, folder, args)
}

function runGitWith(more: NodeJS.ProcessEnv, folder: string, args: readonly string[]): string {
  const env = { ...gitEnvironment(folder), ...more }
  return execFileSync("git", args, { cwd: folder, env, encoding: "utf8", stdio: "pipe" }).trim()
}

/** A working copy with one commit on `main`. */
export function makeWorkingCopy(folder: string, files: Readonly<Record<string, string>>): string {
  const copy = mkdtempSync(join(folder, "copy-"))
  git(copy, "init", "-q", "--initial-branch=main")
  commitFiles(copy, files)
  return copy
}

/** Commits files in a working copy; answers the commit. */
export function commitFiles(copy: string, files: Readonly<Record<string, string>>): string {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(copy, name), text)
  git(copy, "add", "-A")
  git(copy, "commit", "-q", "-m", "more")
  return git(copy, "rev-parse", "HEAD")
}

/** All of a working copy as a bundle; answers its file. */
export function writeBundle(copy: string): string {
  const file = join(copy, "..", `${Math.random().toString(36).slice(2)}.bundle`)
  git(copy, "bundle", "create", "-q", file, "--all")
  return file
}

/** An entry of a tree. */
export interface TreeEntry {
  readonly mode: string
  readonly name: string | Buffer
  readonly id: string
}

/** Makes a tree of exactly these entries, whether git would or not, and a commit of it; answers that. */
export async function writeCommit(
  desk: GitWorkspace,
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
  const writing = ["hash-object", "-t", "tree", "--literally", "-w", "--stdin"]
  const tree = await desk.right(writing, { folder: repository, input })
  const commit = await desk.right(["commit-tree", "-m", "x", tree], { folder: repository })
  return { commit, tree }
}

/** Makes a blob; answers its id. */
export const writeBlob = (desk: GitWorkspace, repository: string, input: string | Uint8Array) =>
  desk.right(["hash-object", "-w", "--stdin"], { folder: repository, input })

/** A pack of exactly these objects. */
export const writePack = (desk: GitWorkspace, repository: string, ids: readonly string[]) =>
  desk.bytes(["pack-objects", "--stdout", "--quiet"], {
    folder: repository,
    input: `${ids.join("\n")}\n`,
  })

/** What git sends for a push of one branch: the update, and a pack of all that the commit has. */
export async function pushBody(
  desk: GitWorkspace,
  repository: string,
  {
    ref = "refs/heads/main",
    old = NO_OBJECT,
  }: { readonly ref?: string; readonly old?: string } = {},
): Promise<Buffer> {
  const commit = await desk.right(["rev-parse", "HEAD"], { folder: repository })
  const update = pktLine(`${old} ${commit} ${ref}\0report-status side-band-64k`)
  const packing = { folder: repository, input: `${commit}\n` }
  const pack = await desk.bytes(["pack-objects", "--stdout", "--revs", "--quiet"], packing)
  return Buffer.concat([update, FLUSH_PACKET, pack])
}

const NO_OBJECT = "0".repeat(40)
