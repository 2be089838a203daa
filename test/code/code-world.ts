/** Companies with real repositories, and a person with git who works on them. */
import { execFile } from "node:child_process"
import { writeFileSync } from "node:fs"
import { readdir } from "node:fs/promises"
import { request } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll } from "vitest"
import type { PackCommand } from "../../adapters/git/port.ts"
import { repositoryFolderName } from "../../adapters/git/port.ts"
import { codeStreamOf } from "../../domain/code/aggregates.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { PROGRAM } from "../../src/slices.ts"
import { collectEvents } from "../contracts/event-store-fixture.ts"
import type { Company, World, WorldOptions } from "../support/world.ts"
import { makeCompany, openWorld, sharedWorld } from "../support/world.ts"
import type { GitWorkspace } from "./git.ts"
import { openGitWorkspace } from "./git.ts"

const run = promisify(execFile)

/** A world that listens, and a workspace with git. */
export type CodeWorld = Awaited<ReturnType<typeof codeWorldOn>>

/** Opens a workspace for a world, by default the shared one. Call it at the top level of the file. */
export async function codeWorld(world?: World): Promise<CodeWorld> {
  const code = await codeWorldOn(world ?? (await sharedWorld()))
  afterAll(() => code.workspace.clear())
  return code
}

/** Opens a world that the caller closes. Its repositories outlive a restart. */
export async function openCodeWorld(options: WorldOptions = {}): Promise<CodeWorld> {
  const workspace = await openGitWorkspace()
  const settings = { ...options.settings, CODE_DIR: join(workspace.path, "code") }
  return codeWorldOn(await openWorld("settings", { ...options, settings }), workspace)
}

async function codeWorldOn(world: World, existing?: GitWorkspace) {
  const workspace = existing ?? (await openGitWorkspace())
  const { codeDir, repositories } = world.ports
  const [server, before] = [await ensureListening(world), world.warnings.length]
  return {
    world,
    /** Its URL without a trailing slash. */
    server,
    workspace,
    folder: workspace.path,
    codeDir,
    repositories,
    addressOf: ({ name, key }: Pick<Company, "name" | "key">) =>
      repositoryUrl(server, { user: name, key }),
    /** Warnings in the world's log since it was opened here. */
    warnings: () => world.warnings.slice(before),
    close: async () => {
      await world.close()
      await workspace.clear()
    },
  }
}

/** Makes a world's app listen, if it does not yet; returns its URL without a trailing slash. */
export async function ensureListening({ app }: Pick<World, "app">): Promise<string> {
  if (!app.server.listening) await app.listen({ host: "127.0.0.1", port: 0 })
  const { port } = app.server.address() as AddressInfo
  return `http://127.0.0.1:${port}`
}

/** The URL of a company's repository, with the caller's name and key. */
export function repositoryUrl(
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

let companyCount = 0

/** Creates a company with a card, a key of its owner with all permissions, and an empty repository. */
export async function makeCodeCompany(
  world: World,
  { name = `Code Nr ${(companyCount += 1)}.io`, verified = true, repository = true } = {},
): Promise<Company> {
  const company = await makeCompany(world, { name, card: verified ? "verified" : "unverified" })
  if (repository) await world.operate("repository create", { company: company.companyId })
  return company
}

/** Starts a request of the git protocol without git. */
export function startGitPost(
  server: string,
  { name, key }: Pick<Company, "name" | "key">,
  command: PackCommand,
) {
  const outgoing = request(`${server}/git/${encodeURIComponent(name)}.git/${command}`, {
    method: "POST",
    auth: `${name}:${key}`,
    headers: { "content-type": `application/x-${command}-request` },
  })
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  outgoing.on("response", (answer) => {
    let text = ""
    answer.setEncoding("utf8").on("data", (piece: string) => (text += piece))
    answer.on("end", () => resolve(`${answer.statusCode} ${text}`)).on("error", reject)
  })
  outgoing.on("error", reject)
  promise.catch(() => undefined)
  return { sent: outgoing, answered: promise }
}

/** The folder of a company's repository. */
export const repositoryFolder = (
  codeDir: string,
  { companyId }: { readonly companyId: CompanyId },
) => join(codeDir, repositoryFolderName(companyId))

/** The quarantine folders of pushes in a repository. */
export async function quarantineFolders(
  codeDir: string,
  company: { readonly companyId: CompanyId },
): Promise<readonly string[]> {
  const names = await readdir(join(repositoryFolder(codeDir, company), "objects"))
  return names.filter((name) => name.startsWith("tmp_"))
}

/** The command lines of other processes that contain a folder. */
export async function commandLinesNaming(folder: string): Promise<readonly string[]> {
  const { stdout } = await run("ps", ["-A", "-o", "pid=,args="])
  return stdout.split("\n").filter((line) => line.includes(folder) && !line.includes("ps -A"))
}

/** The types of the facts of a company's code after `RepositoryCreated`. */
export async function laterCodeFactTypes(
  world: World,
  { companyId }: { readonly companyId: CompanyId },
): Promise<readonly string[]> {
  const events = await collectEvents(world.ports.store.read(codeStreamOf(companyId).stream))
  return events.map(({ type }) => type).slice(1)
}

/** Runs `repository export`; returns the file with its output. */
export async function exportRepository(
  code: CodeWorld,
  companyId: CompanyId,
  input: object,
): Promise<string> {
  const found = PROGRAM.operations.find(({ name }) => name === "repository export")
  if (found === undefined) throw new Error("there is no operation repository export")
  const pieces: Uint8Array[] = []
  const cause = { command: "test", actor: "test", keyId: null, personId: null, reason: null }
  const context = {
    ports: code.world.ports,
    cause,
    progress: () => undefined,
    send: async (piece: string | Uint8Array) => void pieces.push(Buffer.from(piece as string)),
    signal: new AbortController().signal,
  }
  await found.run(context, found.input.parse({ company: companyId, ...input }))
  const file = join(code.folder, `${companyId}.out`)
  writeFileSync(file, Buffer.concat(pieces))
  return file
}
