/** A world under attack: what there is of a company's code, looked at from all sides. */
import { execFile } from "node:child_process"
import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { collect } from "../contracts/event-store-fixture.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { codeOf } from "../../domain/code/aggregates.ts"
import type { World } from "../support/world.ts"
import { openWorld } from "../support/world.ts"
import type { CodeCompany, Desk } from "./git.ts"
import { codeAddress, listenTo, makeCodeCompany, openDesk } from "./git.ts"

const run = promisify(execFile)

/** What attacks begin with. */
export interface Attacked {
  readonly world: World
  readonly server: string
  readonly desk: Desk
  readonly codeDir: string
  readonly addressOf: (company: Pick<CodeCompany, "name" | "key">) => string
  readonly close: () => Promise<void>
}

/** Opens a world that listens, and a desk. */
export async function openAttacked(): Promise<Attacked> {
  const desk = await openDesk()
  const codeDir = join(desk.path, "code")
  const world = await openWorld("settings", { settings: { CODE_DIR: codeDir } })
  const server = await listenTo(world)
  return {
    world,
    server,
    desk,
    codeDir,
    addressOf: ({ name, key }) => codeAddress(server, { user: name, key }),
    close: async () => {
      await world.close()
      await desk.clear()
    },
  }
}

/** The same with a company, and a folder at the desk that has a commit. */
export async function openAttackedCompany(
  folder: string,
): Promise<{ readonly here: Attacked; readonly company: CodeCompany }> {
  const here = await openAttacked()
  const company = await makeCodeCompany(here.world)
  await here.desk.right(["init", "--quiet", folder])
  await here.desk.commit(folder, "a", "a\n")
  return { here, company }
}

/** The folder of a company's repository. */
export const folderOf = (codeDir: string, { companyId }: { readonly companyId: CompanyId }) =>
  join(codeDir, Buffer.from(companyId).toString("hex"))

/** What is left of pushes among a repository's objects. */
export async function quarantines(
  codeDir: string,
  company: { readonly companyId: CompanyId },
): Promise<readonly string[]> {
  const names = await readdir(join(folderOf(codeDir, company), "objects"))
  return names.filter((name) => name.startsWith("tmp_"))
}

/** The command lines of processes that name a folder, this one's aside. */
export async function processesOn(folder: string): Promise<readonly string[]> {
  const { stdout } = await run("ps", ["-A", "-o", "pid=,args="])
  return stdout.split("\n").filter((line) => line.includes(folder) && !line.includes("ps -A"))
}

/** The facts of a company's code behind the first, which is that there is a repository. */
export async function factsOf(
  world: World,
  { companyId }: { readonly companyId: CompanyId },
): Promise<readonly string[]> {
  const events = await collect(world.ports.store.read(codeOf(companyId).stream))
  return events.map(({ type }) => type).slice(1)
}

/** An entry of a tree. */
export interface TreeEntry {
  readonly mode: string
  readonly name: string | Buffer
  readonly id: string
}

/** Makes a tree of exactly these entries, whether git would or not, and a commit of it; answers that. */
export async function commitOf(
  desk: Desk,
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
  const tree = await desk.right(writing, { in: repository, input })
  const commit = await desk.right(["commit-tree", "-m", "x", tree], { in: repository })
  return { commit, tree }
}

/** Makes a blob; answers its id. */
export const blobOf = (desk: Desk, repository: string, input: string | Uint8Array) =>
  desk.right(["hash-object", "-w", "--stdin"], { in: repository, input })

/** A pack of exactly these objects. */
export const packOf = (desk: Desk, repository: string, ids: readonly string[]) =>
  desk.bytes(["pack-objects", "--stdout", "--quiet"], {
    in: repository,
    input: `${ids.join("\n")}\n`,
  })
