/** Pushes from a box to its branch, with all checks of a push. */
import { describe, expect, it } from "vitest"
import { PackTruncated } from "../../adapters/sandbox/boxhost/port.ts"
import type { BoxId } from "../../domain/boxes/ids.ts"
import { SAMPLE_SECRETS } from "../code-checks/fake-pushes.ts"
import { repositoryFolder } from "../code/code-world.ts"
import { git } from "../code/git.ts"
import type { Company } from "../support/world.ts"
import {
  BOXES_PATH,
  makeBoxCompany,
  ownSandboxBoxWorld,
  startBoxAndWait,
  boxViewOf,
} from "./box-world.ts"
import { makeKey } from "../support/company.ts"

const one = await ownSandboxBoxWorld()
const { world } = one

type Key = Pick<Company, "key">

const push = ({ key }: Key, boxId: BoxId, message = "More") =>
  world.call(key, "POST", `${BOXES_PATH}/${boxId}/push`, { body: { message } })
const write = ({ key }: Key, boxId: BoxId, path: string, content: string) =>
  world.call(key, "PUT", `${BOXES_PATH}/${boxId}/files/content`, { body: { path, content } })
/** Runs git in the company's repository on the code server. */
const inCode = ({ companyId }: Company, ...args: readonly string[]) =>
  git(repositoryFolder(one.codeDir, { companyId }), ...args)
const resultOf = async ({ key }: Key, boxId: BoxId): Promise<string> =>
  (await world.call(key, "GET", `${BOXES_PATH}/${boxId}/events`)).body.events[0].result

describe("a push", () => {
  it("commits all changes as the box's person and moves the branch; a second push does nothing", async () => {
    const company = await makeBoxCompany(one)
    const boxId = await startBoxAndWait(world, company)
    await write(company, boxId, "src/a.ts", "export const a = 1\n")
    await world.call(company.key, "DELETE", `${BOXES_PATH}/${boxId}/files/content?path=README.md`)
    const message = "Say what 'a' is\n\n-m \"$(true)\" 😀"
    const { status, body } = await push(company, boxId, message)
    const tip = inCode(company, "rev-parse", "main")
    expect([status, body]).toEqual([
      200,
      { pushed: true, branch: "main", exitCode: 0, output: `main is now at ${tip}.` },
    ])
    expect(inCode(company, "log", "-1", "--format=%ae %ce%n%B", "main")).toBe(
      `owner@example.com owner@example.com\n${message}`,
    )
    expect(inCode(company, "ls-tree", "-r", "--name-only", "main")).toBe("src/a.ts")
    expect(inCode(company, "rev-list", "--count", "main")).toBe("2")
    expect(await boxViewOf(world, company.companyId, boxId)).toMatchObject({ commit: tip })
    expect(await resultOf(company, boxId)).toBe("pushed")
    expect((await push(company, boxId)).body).toEqual({
      pushed: false,
      branch: "main",
      exitCode: 0,
      output: "Nothing to commit or push.",
    })
    expect(await resultOf(company, boxId)).toBe("nothing")
    await write(company, boxId, "src/a.ts", "export const a = 2\n")
    expect((await push(company, boxId)).body.pushed).toBe(true)
    expect(inCode(company, "rev-list", "--count", "main")).toBe("3")
  })

  it("creates a new branch from the default branch, and leaves the default branch unchanged", async () => {
    const company = await makeBoxCompany(one)
    const first = inCode(company, "rev-parse", "main")
    const boxId = await startBoxAndWait(world, company, { branch: "work/über" })
    await write(company, boxId, "b", "b\n")
    expect((await push(company, boxId)).body).toMatchObject({ pushed: true, branch: "work/über" })
    expect(inCode(company, "rev-parse", "work/über~1")).toBe(first)
    expect(inCode(company, "rev-parse", "main")).toBe(first)
  })

  it("is rejected with the reason if another push came first", async () => {
    const company = await makeBoxCompany(one)
    const [boxId, other] = [
      await startBoxAndWait(world, company),
      await startBoxAndWait(world, company),
    ]
    await write(company, boxId, "a", "mine\n")
    await write(company, other, "a", "theirs\n")
    expect((await push(company, other)).body.pushed).toBe(true)
    const tip = inCode(company, "rev-parse", "main")
    const refused = await push(company, boxId)
    expect(refused).toMatchObject({ status: 200, body: { pushed: false, exitCode: 1 } })
    expect(refused.body.output).toContain("moved meanwhile")
    expect(inCode(company, "rev-parse", "main")).toBe(tip)
    expect(await resultOf(company, boxId)).toBe("refused")
  })

  it.for([
    ["a secret", "key", SAMPLE_SECRETS["github"] ?? "", "key, line 1: github"],
    ["a changed protected core", "src/sealed/core.ts", "mine\n", "protected core"],
  ] as const)("is rejected with the reason for %s", async ([, path, content, reason]) => {
    const company = await makeBoxCompany(one)
    const tip = inCode(company, "rev-parse", "main")
    const boxId = await startBoxAndWait(world, company)
    await write(company, boxId, path, content)
    const refused = await push(company, boxId)
    expect(refused).toMatchObject({ status: 200, body: { pushed: false, exitCode: 1 } })
    expect(refused.body.output).toContain(reason)
    expect(inCode(company, "rev-parse", "main")).toBe(tip)
    expect((await boxViewOf(world, company.companyId, boxId))?.commit).toBe(tip)
  })

  it("reports errors of git in the box, and an incomplete pack", async () => {
    const company = await makeBoxCompany(one)
    const boxId = await startBoxAndWait(world, company)
    await write(company, boxId, "a", "a\n")
    await world.operate("simulator set", { name: "boxhost", outcome: "clone-fails", times: 1 })
    expect((await push(company, boxId)).body).toMatchObject({
      pushed: false,
      exitCode: 128,
      output: "fatal: git is set to fail",
    })
    const code: { commit: typeof world.ports.boxCode.commit } = world.ports.boxCode
    const { commit } = code
    code.commit = async (...args) => {
      code.commit = commit
      const out = await commit(...args)
      if (out.outcome !== "commit") throw new Error("the box made no commit")
      const torn = (async function* () {
        yield* [] as Uint8Array[]
        throw new PackTruncated("it ended")
      })()
      return { ...out, pack: torn }
    }
    const refused = await push(company, boxId)
    expect(refused.body).toMatchObject({ pushed: false, exitCode: 1 })
    expect(refused.body.output).toContain("incomplete")
    expect((await push(company, boxId)).body.pushed).toBe(true)
  })

  it("needs its own operation, sandbox.read, and a person who may push", async () => {
    const company = await makeBoxCompany(one)
    const fullKey = await makeKey(world, company, { role: "developer" })
    const { personId } = fullKey
    const boxId = await startBoxAndWait(world, fullKey)
    await write(fullKey, boxId, "a", "a\n")
    for (const operations of [["sandbox.read"], ["sandbox.push"]]) {
      const limitedKey = await makeKey(world, company, { person: personId, operations })
      expect((await push(limitedKey, boxId)).status, operations.join()).toBe(403)
    }
    await world.operate("person change", { personId, role: "user" })
    expect(await push(fullKey, boxId)).toMatchObject({ status: 403 })
    await world.operate("person change", { personId, role: "developer" })
    expect((await push(fullKey, boxId)).body.pushed).toBe(true)
  })

  it.for(["", " \n", "\u200b\u2060", "x".repeat(2_001), "a\0b", "\ud800"])(
    "needs a valid message that is not blank: %#",
    async (message) => {
      const { key } = await makeBoxCompany(one)
      const refused = await push({ key }, "box_none", message)
      expect(refused).toMatchObject({ status: 400, body: { error: "validation" } })
    },
  )
})
