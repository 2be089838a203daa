/** Pushes of which one side dies: what is there afterwards is what the facts tell, and nothing else is left. */
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

/** Five clients die at once in each; `LEDGER_DEEP=1` lets more of them die. */
const ROUNDS = roundCount(5, 20)

/**
 * When a server is killed, and what the facts then come to. Without `LEDGER_DEEP=1` it is killed where
 * what git holds and what the facts say differ: the yes is a fact that git never heard, and refs moved
 * that no fact tells of.
 */
const KILLS: readonly (readonly [string, Failpoint, string, readonly string[]])[] = [
  ["before the yes is said", "append.after", "PushAccepted", ["PushAccepted", "RefsReconciled"]],
  ["once refs moved, before that is a fact", "append.before", "PushCompleted", FIRST],
  ["before the yes is a fact", "append.before", "PushAccepted", []],
  ["once refs moved, and that is a fact", "append.after", "PushCompleted", FIRST],
]

const here = await codeWorld(await ownWorld("time"))
const places: ServerDataFolder[] = []
afterAll(async () => {
  for (const place of places) await place.removeFiles()
})

/** A company with a commit, and a folder at the desk that is one commit ahead of it. */
async function ahead(folder: string): Promise<Company> {
  const company = await makeCodeCompany(here.world)
  await here.desk.right(["init", "--quiet", folder])
  await here.desk.commit(folder, "a", "a\n")
  await here.desk.right(["push", "--quiet", here.addressOf(company), "main"], { folder: folder })
  await here.desk.commit(folder, "b", randomBytes(300_000))
  return company
}

const tipsOf = ({ companyId }: Company) => here.world.ports.repositories.listRefs(companyId)

/** Kills a process, unless another one has taken it along. */
function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL")
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error
  }
}

/** No process works on the repository, and nothing of a push waits there. */
async function expectNothingLeft(company: Company): Promise<void> {
  await expect.poll(() => commandLinesNaming(repositoryFolder(here.codeDir, company))).toEqual([])
  await expect.poll(() => quarantineFolders(here.codeDir, company)).toEqual([])
}

/** What git had no time to take away lies there for a day, then it is taken away. */
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

/** The usual git pushes what the company lacks. */
async function expectNextLands(company: Company, folder: string): Promise<void> {
  const tip = await here.desk.right(["rev-parse", "HEAD"], { folder: folder })
  await here.desk.right(["push", "--quiet", here.addressOf(company), "main"], { folder: folder })
  expect(await tipsOf(company)).toEqual([{ ref: "refs/heads/main", id: tip }])
}

/** Lets no fact be written anywhere in the world until it is told to. */
async function holdAppends() {
  const client = new pg.Client(here.world.databaseUrl)
  await client.connect()
  const lock = "hashtextextended('eventstore.append_many', 0)"
  await client.query(`select pg_advisory_lock(${lock})`)
  let isLet = false
  const letGo = async () => {
    if (!isLet) await client.end()
    isLet = true
  }
  onTestFinished(letGo)
  return { letGo }
}

it(`a client that dies ${5 * ROUNDS} times leaves nothing (seed ${seed})`, async () => {
  const company = await ahead("torn")
  const tips = await tipsOf(company)
  const body = await pushBody(here.desk, "torn", { old: tips[0]?.id ?? "" })
  /** Sends the beginning, all of it or none but the head of the request, and is gone. */
  const tear = async () => {
    const { sent, answered } = startGitPost(here.server, company, "git-receive-pack")
    const [length, pieces] = [between(1, body.length - 1), between(1, 5)]
    for (let i = 0; i < pieces; i += 1) {
      const [from, to] = [i, i + 1].map((one) => Math.floor((one * length) / pieces))
      await new Promise((done) => sent.write(body.subarray(from, to), done))
    }
    sent.destroy()
    await answered.catch(() => undefined)
  }
  for (let i = 0; i < ROUNDS; i += 1) await Promise.all([tear(), tear(), tear(), tear(), tear()])
  await expect.poll(() => here.world.ports.packSlots.count()).toEqual({ in: 0, out: 0, waiting: 0 })
  await expectNothingLeft(company)
  expect(await tipsOf(company)).toEqual(tips)
  expect(await laterCodeFactTypes(here.world, company)).toEqual(FIRST)
  expect(here.warnings()).toEqual([])
  await expectNextLands(company, "torn")
})

describe("a git of ours that is killed while its hook waits", () => {
  it("leaves no ref without a fact, and no fact without its end", async () => {
    const company = await ahead("killed")
    const tips = await tipsOf(company)
    const held = await holdAppends()
    const deciding = vi.spyOn(here.world.ports.runner, "execute")
    onTestFinished(() => deciding.mockRestore())
    const pushing = here.desk.git(["push", here.addressOf(company), "main"], { folder: "killed" })
    await expect
      .poll(() => deciding.mock.calls.map(([, command]) => command))
      .toContainEqual(expect.objectContaining({ type: "AcceptPush" }))
    expect(await quarantineFolders(here.codeDir, company)).toHaveLength(1)
    const folder = repositoryFolder(here.codeDir, company)
    const pids = (await commandLinesNaming(folder)).map((line) => Number.parseInt(line, 10))
    expect(pids).not.toEqual([])
    for (const pid of pids) kill(pid)
    expect((await pushing).code).not.toBe(0)
    await held.letGo()
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
  /** A server of its own on the world's database and repositories. */
  async function startServer(failpoints: Record<string, string> = {}): Promise<ServerProcess> {
    const place = await makeDataFolder({
      DATABASE_URL: here.world.databaseUrl,
      CODE_DIR: here.codeDir,
      LEDGER_CLOCK: "test",
      NODE_ENV: "test",
      ...failpoints,
    })
    places.push(place)
    return place.start()
  }

  const pushTo = ({ url }: ServerProcess, { name, key }: Company, folder: string) =>
    here.desk.git(["push", repositoryUrl(url, { user: name, key }), "main"], { folder: folder })

  it("while a push waits in its hook, lets go of all of it", async () => {
    const company = await ahead("hook")
    const tips = await tipsOf(company)
    const server = await startServer()
    const held = await holdAppends()
    const pushing = pushTo(server, company, "hook")
    await expect.poll(() => quarantineFolders(here.codeDir, company)).toHaveLength(1)
    await server.endBySignal("SIGKILL")
    expect((await pushing).code).not.toBe(0)
    // The hook says no by itself.
    await expectSwept(company)
    await held.letGo()
    expect(await tipsOf(company)).toEqual(tips)
    await expectNextLands(company, "hook")
  })

  it.each(KILLS.slice(0, roundCount(2, KILLS.length)))(
    "%s, leaves what the next one finds and ends",
    async (_when, name, type, ended) => {
      const folder = `${name}-${type}`
      const company = await ahead(folder)
      const tips = await tipsOf(company)
      const server = await startServer({ LEDGER_FAILPOINTS: `${name}:${type}=1` })
      const said = await pushTo(server, company, folder)
      expect(await server.ended).toBeNull()
      await expectSwept(company)
      await here.world.operate("wait")
      await here.world.operate("clock advance", { duration: "61s" })
      await expect.poll(() => laterCodeFactTypes(here.world, company)).toEqual([...FIRST, ...ended])
      const hasMoved = ended.includes("PushCompleted")
      expect((await tipsOf(company))[0]?.id === tips[0]?.id).toBe(!hasMoved)
      expect([said.code === 0 && !hasMoved]).toEqual([false])
      await expectNextLands(company, folder)
    },
  )
})
