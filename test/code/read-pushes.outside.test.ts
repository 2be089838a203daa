/** Pushes as the checks read them: what many commits share, and what nobody waits for any more. */
import { describe, expect, it } from "vitest"
import { LIMITS } from "../../adapters/git/conversation.ts"
import type { Push, Verdict } from "../../adapters/git/port.ts"
import { receive } from "../../adapters/git/receiving.ts"
import { codeWorld, makeCodeCompany, folderOf, quarantines } from "./code-world.ts"
import { pushBody } from "./git.ts"

const NO_OBJECT = "0".repeat(40)
const AT = "at"

const here = await codeWorld()
const company = await makeCodeCompany(here.world)
await here.desk.right(["init", "--quiet", AT])
await here.desk.commit(AT, "a", "a\n")

/** Nothing of a push is there. */
async function expectNothing(): Promise<void> {
  expect(await here.world.ports.repositories.tips(company.companyId)).toEqual([])
  expect(await quarantines(here.codeDir, company)).toEqual([])
}

describe("a push whose client has gone away", () => {
  /** Sends a push of a commit and goes away once it is judged by `judge`; resolves with it. */
  async function leaving(judge: (push: Push) => Promise<Verdict>) {
    const [machine, folder] = [{ isSandboxed: false }, folderOf(here.codeDir, company)]
    const body = await pushBody(here.desk, AT)
    const gone = new AbortController()
    const input = (async function* () {
      yield body
    })()
    const conversation = { input, send: async () => undefined, signal: gone.signal }
    let isJudged = false
    await receive({ machine, limits: LIMITS, folder }, conversation, async (push) => {
      gone.abort()
      return judge(push).finally(() => (isJudged = true))
    })
    return isJudged
  }

  it("is read no further, and keeps its place until that is over", async () => {
    let rounds = 0
    const endless = async (push: Push): Promise<Verdict> => {
      for (;;) {
        for await (const { size } of push.objects()) rounds += Math.sign(size)
      }
    }
    expect(await leaving(endless)).toBe(true)
    expect(rounds).toBeLessThan(1_000)
    await expectNothing()
  })

  it("is not asked what it would have come to", async () => {
    const cannotRead = async (push: Push): Promise<Verdict> => {
      await expect(push.isAncestor(NO_OBJECT, NO_OBJECT)).rejects.toThrow("exited with null")
      return { ok: true }
    }
    expect(await leaving(cannotRead)).toBe(true)
    await expectNothing()
  })
})

it("folders that many commits share are read once", async () => {
  const { desk } = here
  const id = await desk.right(["hash-object", "-w", "--stdin"], { in: AT, input: "x\n" })
  const names = Array.from({ length: 200 }, (_, i) => `100644 blob ${id}\tf${i}\n`)
  const tree = await desk.right(["mktree"], { in: AT, input: names.join("") })
  const parents = [await desk.right(["rev-parse", "HEAD"], { in: AT })]
  for (let i = 0; i < 20; i += 1) {
    const made = ["commit-tree", "-m", `${i}`, "-p", parents.at(-1) as string, tree]
    parents.push(await desk.right(made, { in: AT }))
  }
  await desk.right(["update-ref", "refs/heads/shared", parents.at(-1) as string], { in: AT })
  const commits = parents.slice(1)
  const [machine, folder] = [{ isSandboxed: false }, folderOf(here.codeDir, company)]
  await desk.right(["checkout", "--quiet", "shared"], { in: AT })
  const input = (async function* () {
    yield await pushBody(desk, AT)
  })()
  const conversation = { input, send: async () => undefined, signal: new AbortController().signal }
  const found: (readonly [number, number | undefined])[] = []
  await receive({ machine, limits: LIMITS, folder }, conversation, async (push) => {
    for (const path of ["", "nowhere"]) {
      for await (const { commits: some, entries } of push.folders(commits, path)) {
        if (some.length > 0) found.push([some.length, entries?.length])
      }
    }
    return { ok: false, lines: ["seen"] }
  })
  expect(found).toEqual([
    [20, 200],
    [20, undefined],
  ])
  await desk.right(["checkout", "--quiet", "main"], { in: AT })
})
