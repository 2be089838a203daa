/** The ordinary git, as a person at a terminal has it: in a folder of its own, with no settings of this machine. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { request } from "node:http"
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import type { PackCommand } from "../../adapters/git/port.ts"
import { FLUSH, pktLine } from "../../adapters/git/port.ts"
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import type { World } from "../support/world.ts"

/** What came of a command of git. */
export interface Said {
  readonly code: number | null
  readonly stdout: string
  /** What stands at the terminal beside it. */
  readonly stderr: string
}

/** A folder of somebody, with git. */
export interface Desk {
  readonly path: string
  readonly git: (args: readonly string[], more?: GitOptions) => Promise<Said>
  /** The same for what must go well; answers its output. @throws Error with what it said */
  readonly right: (args: readonly string[], more?: GitOptions) => Promise<string>
  /** What a command writes, as bytes. @throws Error where it fails */
  readonly bytes: (args: readonly string[], more?: GitOptions) => Promise<Buffer>
  /** Writes a file of a repository and commits it; answers the commit. */
  readonly commit: (repository: string, path: string, content: string | Buffer) => Promise<string>
  readonly clear: () => Promise<void>
}

/** How a command is run. */
export interface GitOptions {
  /** The repository it is run in, by the folder's name. */
  readonly in?: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string | Uint8Array
}

const WHO = {
  GIT_AUTHOR_NAME: "A Person",
  GIT_AUTHOR_EMAIL: "person@example.com",
  GIT_COMMITTER_NAME: "A Person",
  GIT_COMMITTER_EMAIL: "person@example.com",
}

/** Makes a desk in the system's temporary folder. */
export async function openDesk(): Promise<Desk> {
  const path = await mkdtemp(join(tmpdir(), "company-ledger-desk-"))
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: path,
    LANG: "C.UTF-8",
    ...WHO,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "/bin/false",
    GIT_TEST_FSYNC: "false",
  }
  const run = async (args: readonly string[], more: GitOptions = {}) => {
    const cwd = more.in === undefined ? path : join(path, more.in)
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
  const git: Desk["git"] = async (args, more) => {
    const { bytes, ...said } = await run(args, more)
    return { ...said, stdout: bytes.toString("utf8") }
  }
  const right: Desk["right"] = async (args, more) => {
    const { code, stdout, stderr } = await git(args, more)
    if (code !== 0) throw new Error(`git ${args.join(" ")} exited with ${code}: ${stderr}`)
    return stdout.trim()
  }
  await right(["config", "--global", "init.defaultBranch", "main"])
  await right(["config", "--global", "advice.detachedHead", "false"])
  return {
    path,
    git,
    right,
    bytes: async (args, more) => {
      const { code, bytes, stderr } = await run(args, more)
      if (code !== 0) throw new Error(`git ${args.join(" ")} exited with ${code}: ${stderr}`)
      return bytes
    },
    commit: async (repository, name, content) => {
      const file = join(path, repository, name)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, content)
      await right(["add", "--all"], { in: repository })
      await right(["commit", "--quiet", "--message", `Write ${name}`], { in: repository })
      return right(["rev-parse", "HEAD"], { in: repository })
    },
    clear: () => rm(path, { recursive: true, force: true }),
  }
}

/** Lets a world's app listen; answers its address, without a slash at the end. */
export async function listenTo({ app }: Pick<World, "app">): Promise<string> {
  await app.listen({ host: "127.0.0.1", port: 0 })
  const { port } = app.server.address() as AddressInfo
  return `http://127.0.0.1:${port}`
}

/** The address of a company's code, with who asks for it. */
export function codeAddress(
  server: string,
  {
    user,
    key,
    path = user,
  }: { readonly user: string; readonly key: string; readonly path?: string },
): string {
  const [name, password] = [encodeURIComponent(user), encodeURIComponent(key)]
  return `${server.replace("://", `://${name}:${password}@`)}/git/${encodeURIComponent(path)}.git`
}

/** A company with code. */
export interface CodeCompany {
  readonly name: string
  readonly companyId: CompanyId
  readonly ownerId: PersonId
  readonly keyId: KeyId
  readonly key: string
}

let made = 0

/** Makes a company with a card, a key of its owner that may do everything, and an empty repository. */
export async function makeCodeCompany(
  world: World,
  { name = `Code Nr ${(made += 1)}.io`, verified = true, repository = true } = {},
): Promise<CodeCompany> {
  const { companyId, ownerId } = await world.operate("company create", {
    name,
    funds: "50",
    ownerEmail: "owner@example.com",
  })
  await world.operate("card set", { company: companyId, verified })
  const person = { company: companyId, person: ownerId }
  const { keyId, key } = await world.operate("key create", { ...person, allOperations: true })
  if (repository) await world.operate("repository create", { company: companyId })
  return { name, companyId, ownerId, keyId, key }
}

/** What git sends for a push of one branch: the update, and a pack of all that the commit has. */
export async function pushBody(
  desk: Desk,
  repository: string,
  {
    ref = "refs/heads/main",
    old = NO_OBJECT,
  }: { readonly ref?: string; readonly old?: string } = {},
): Promise<Buffer> {
  const commit = await desk.right(["rev-parse", "HEAD"], { in: repository })
  const update = pktLine(`${old} ${commit} ${ref}\0report-status side-band-64k`)
  const packing = { in: repository, input: `${commit}\n` }
  const pack = await desk.bytes(["pack-objects", "--stdout", "--revs", "--quiet"], packing)
  return Buffer.concat([update, FLUSH, pack])
}

const NO_OBJECT = "0".repeat(40)

/** A request of git's that is sent by hand. */
export function beginPost(
  server: string,
  { name, key }: Pick<CodeCompany, "name" | "key">,
  command: PackCommand,
) {
  const sent = request(`${server}/git/${encodeURIComponent(name)}.git/${command}`, {
    method: "POST",
    auth: `${name}:${key}`,
    headers: { "content-type": `application/x-${command}-request` },
  })
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  sent.on("response", (answer) => {
    let text = ""
    answer.setEncoding("utf8").on("data", (piece: string) => (text += piece))
    answer.on("end", () => resolve(`${answer.statusCode} ${text}`)).on("error", reject)
  })
  sent.on("error", reject)
  promise.catch(() => undefined)
  return { sent, answered: promise }
}
