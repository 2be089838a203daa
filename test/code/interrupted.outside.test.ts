/** Pushes whose client or server dies: afterwards the refs agree with the facts, and nothing else is left. */
import { ownWorld } from "../support/world.ts"
import { randomBytes } from "node:crypto"
import { utimes } from "node:fs/promises"
import { join } from "node:path"
import pg from "pg"
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest"
import type { Failpoint } from "../../adapters/machine/failpoints/failpoints.ts"
import { newSeededNumbers, roundCount } from "../faults/text-load.ts"
import type { ServerDataFolder, ServerProcess } from "../support/server-process.ts"
import { makeDataFolder } from "../support/server-process.ts"
import {
  startGitPost,
  repositoryUrl,
  codeWorld,
  laterCodeFactTypes,
  repositoryFolder,
  makeCodeCompany,
  commandLinesNaming,
  quarantineFolders,
} from "./code-world.ts"
import { pushBody } from "./git.ts"
import type { Company } from "../support/world.ts"

const { seed, between } = newSeededNumbers()

const FIRST = ["PushAccepted", "PushCompleted"]

/** Number of rounds in which five clients die concurrently; more with `LEDGER_DEEP=1`. */
const ROUNDS = roundCount(5, 20)

/**
 * When a server is killed, and the facts afterwards. Without `LEDGER_DEEP=1` it is killed only where git and the
 * facts disagree: a push is recorded as accepted but git has no answer, or refs moved without a fact.
 */
const KILLS: readonly (readonly [string, Failpoint, string, readonly string[]])[] = [
  [
    "before git gets the answer",
    "append.after",
    "PushAccepted",
    ["PushAccepted", "RefsReconciled"],
  ],
  ["after refs moved, before that is recorded", "append.before", "PushCompleted", FIRST],
  ["before the push is recorded as accepted", "append.before", "PushAccepted", []],
  ["after refs moved and that is recorded", "append.after", "PushCompleted", FIRST],
]

const here = await codeWorld(await ownWorld("time"))
const dataFolders: ServerDataFolder[] = []
afterAll(async () => {
  for (const dataFolder of dataFolders) await dataFolder.removeFiles()
})

/** A company with one commit, and a folder in the workspace that is one commit ahead. */
async function makeUnpushedCommit(folder: string): Promise<Company> {
  const company = await makeCodeCompany(here.world)
  await here.workspace.run(["init", "--quiet", folder])
  await here.workspace.commit(folder, "a", "a\n")
  await here.workspace.run(["push", "--quiet", here.addressOf(company), "main"], { folder: folder })
  await here.workspace.commit(folder, "b", randomBytes(300_000))
  return company
}

const tipsOf = ({ companyId }: Company) => here.world.ports.repositories.listRefs(companyId)

/** Kills a process, unless it already ended with another one. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL")
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error
  }
}

/** Expects that no process works on the repository, and that no push is in quarantine. */
async function expectNothingLeft(company: Company): Promise<void> {
  await expect.poll(() => commandLinesNaming(repositoryFolder(here.codeDir, company))).toEqual([])
  await expect.poll(() => quarantineFolders(here.codeDir, company)).toEqual([])
}

/** Expects that git's leftovers are swept after a day. */
async function expectSwept(company: Company): Promise<void> {
  await expect.poll(() => commandLinesNaming(repositoryFolder(here.codeDir, company))).toEqual([])
  const objects = join(repositoryFolder(here.codeDir, company), "objects")
  const { repositories } = here.world.ports
  await repositories.sweep()
  const left = await quarantineFolders(here.codeDir, company)
  const aDayAgo = new Date(Date.now() - 25 * 3_600_000)
  for (const name of left) await utimes(join(objects, name), aDayAgo, aDayAgo)
  await repositories.sweep()
  expect(await quarantineFolders(here.codeDir, company)).toEqual([])
}

/** Expects that an ordinary push lands. */
async function expectNextLands(company: Company, folder: string): Promise<void> {
  const tip = await here.workspace.run(["rev-parse", "HEAD"], { folder: folder })
  await here.workspace.run(["push", "--quiet", here.addressOf(company), "main"], { folder: folder })
  expect(await tipsOf(company)).toEqual([{ ref: "refs/heads/main", id: tip }])
}

/** Blocks all appends in the world until they are released. */
async function holdAppends() {
  const client = new pg.Client(here.world.databaseUrl)
  await client.connect()
  const lock = "hashtextextended('eventstore.append_many', 0)"
  await client.query(`select pg_advisory_lock(${lock})`)
  let isReleased = false
  const release = async () => {
    if (!isReleased) await client.end()
    isReleased = true
  }
  onTestFinished(release)
  return { release }
}

it(`a client that dies ${5 * ROUNDS} times leaves nothing (seed ${seed})`, async () => {
  const company = await makeUnpushedCommit("torn")
  const tips = await tipsOf(company)
  const body = await pushBody(here.workspace, "torn", { old: tips[0]?.id ?? "" })
  /** Sends a part of the push, and disconnects. */
  const breakOff = async () => {
    const { sent, answered } = startGitPost(here.server, company, "git-receive-pack")
    const [length, pieces] = [between(1, body.length - 1), between(1, 5)]
    for (let i = 0; i < pieces; i += 1) {
      const [from, to] = [i, i + 1].map((one) => Math.floor((one * length) / pieces))
      await new Promise((done) => sent.write(body.subarray(from, to), done))
    }
    sent.destroy()
    await answered.catch(() => undefined)
  }
  for (let i = 0; i < ROUNDS; i += 1) await Promise.all([1, 2, 3, 4, 5].map(breakOff))
  await expect.poll(() => here.world.ports.packSlots.count()).toEqual({ in: 0, out: 0, waiting: 0 })
  await expectNothingLeft(company)
  expect(await tipsOf(company)).toEqual(tips)
  expect(await laterCodeFactTypes(here.world, company)).toEqual(FIRST)
  expect(here.warnings()).toEqual([])
  await expectNextLands(company, "torn")
})

describe("the server's git that is killed while its hook waits", () => {
  it("leaves no ref without a fact, and no push without its end", async () => {
    const company = await makeUnpushedCommit("killed")
    const tips = await tipsOf(company)
    const appends = await holdAppends()
    const execute = vi.spyOn(here.world.ports.runner, "execute")
    onTestFinished(() => execute.mockRestore())
    const pushing = here.workspace.git(["push", here.addressOf(company), "main"], {
      folder: "killed",
    })
    await expect
      .poll(() => execute.mock.calls.map(([, command]) => command))
      .toContainEqual(expect.objectContaining({ type: "AcceptPush" }))
    expect(await quarantineFolders(here.codeDir, company)).toHaveLength(1)
    const folder = repositoryFolder(here.codeDir, company)
    const pids = (await commandLinesNaming(folder)).map((line) => Number.parseInt(line, 10))
    expect(pids).not.toEqual([])
    for (const pid of pids) kill(pid)
    expect((await pushing).code).not.toBe(0)
    await appends.release()
    await expectNothingLeft(company)
    await expect.poll(() => laterCodeFactTypes(here.world, company)).toContain("PushAccepted")
    await here.world.operate("wait")
    await here.world.operate("clock advance", { duration: "61s" })
    await expect
      .poll(() => laterCodeFactTypes(here.world, company))
      .toEqual([...FIRST, "PushAccepted", "RefsReconciled"])
    expect(await tipsOf(company)).toEqual(tips)
    await expectNextLands(company, "killed")
  })
})

describe("a server that is killed", () => {
  /** A separate server on the world's database and repositories. */
  async function startServer(failpoints: Record<string, string> = {}): Promise<ServerProcess> {
    const dataFolder = await makeDataFolder({
      DATABASE_URL: here.world.databaseUrl,
      CODE_DIR: here.codeDir,
      LEDGER_CLOCK: "test",
      NODE_ENV: "test",
      ...failpoints,
    })
    dataFolders.push(dataFolder)
    return dataFolder.start()
  }

  const pushTo = ({ url }: ServerProcess, { name, key }: Company, folder: string) =>
    here.workspace.git(["push", repositoryUrl(url, { user: name, key }), "main"], {
      folder: folder,
    })

  it("while a push waits in its hook leaves nothing of the push", async () => {
    const company = await makeUnpushedCommit("hook")
    const tips = await tipsOf(company)
    const server = await startServer()
    const appends = await holdAppends()
    const pushing = pushTo(server, company, "hook")
    await expect.poll(() => quarantineFolders(here.codeDir, company)).toHaveLength(1)
    await server.endBySignal("SIGKILL")
    expect((await pushing).code).not.toBe(0)
    // Without the server, the hook refuses the push.
    await expectSwept(company)
    await appends.release()
    expect(await tipsOf(company)).toEqual(tips)
    await expectNextLands(company, "hook")
  })

  it.each(KILLS.slice(0, roundCount(2, KILLS.length)))(
    "%s leaves a push that the next server ends",
    async (_when, name, type, ended) => {
      const folder = `${name}-${type}`
      const company = await makeUnpushedCommit(folder)
      const tips = await tipsOf(company)
      const server = await startServer({ LEDGER_FAILPOINTS: `${name}:${type}=1` })
      const result = await pushTo(server, company, folder)
      expect(await server.ended).toBeNull()
      await expectSwept(company)
      await here.world.operate("wait")
      await here.world.operate("clock advance", { duration: "61s" })
      await expect.poll(() => laterCodeFactTypes(here.world, company)).toEqual([...FIRST, ...ended])
      const hasMoved = ended.includes("PushCompleted")
      expect((await tipsOf(company))[0]?.id === tips[0]?.id).toBe(!hasMoved)
      expect([result.code === 0 && !hasMoved]).toEqual([false])
      await expectNextLands(company, folder)
    },
  )
})
