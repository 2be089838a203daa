/** Code that a machine of somebody's sends as a pack, as boxes do: what of it is taken, and what is not. */
import { randomBytes } from "node:crypto"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { LIMITS } from "../../adapters/git/conversation.ts"
import { takePack } from "../../adapters/git/packs.ts"
import type { Verdict } from "../../adapters/git/port.ts"
import { codeOf } from "../../domain/code/aggregates.ts"
import { ProviderUnavailable } from "../../adapters/providers/outside.ts"
import type { CompanyCode } from "../../src/code/company-code.ts"
import { SECRETS } from "../code-checks/secrets.ts"
import { collect } from "../contracts/event-store-fixture.ts"
import type { Attacked } from "./attacked.ts"
import {
  blobOf,
  commitOf,
  factsOf,
  folderOf,
  openAttacked,
  packOf,
  quarantines,
} from "./attacked.ts"
import { callerOf } from "./callers.ts"
import type { CodeCompany } from "./git.ts"
import { makeCodeCompany } from "./git.ts"
import { copiesOf, objectIn, packed } from "./packs.ts"

const AT = "at"
const MIB = 1024 * 1024
const RULES = { operation: "sandbox.push", also: ["sandbox.read"], permissions: [] } as const

let here: Attacked
let code: CompanyCode
/** The first commit, which every company has on its `main`. */
let first: string
/** One on top of it. */
let second: string
beforeAll(async () => {
  here = await openAttacked()
  code = here.world.ports.companyCode
  await here.desk.right(["init", "--quiet", AT])
  first = await here.desk.commit(AT, "a", `${"a long line\n".repeat(500)}`)
  second = await here.desk.commit(AT, "a", `${"a long line\n".repeat(500)}and another\n`)
})
afterAll(() => here.close())

let company: CodeCompany
beforeEach(async () => {
  company = await makeCodeCompany(here.world)
  const push = ["push", "--quiet", here.addressOf(company), `${first}:refs/heads/main`]
  await here.desk.right(push, { in: AT })
})

const git = (...args: readonly string[]) => here.desk.right(args, { in: AT })
const inPieces = async function* (...pieces: readonly Uint8Array[]) {
  yield* pieces
}
/** A thin pack of what a commit has and another has not. */
const packFrom = (base: string, tip: string) =>
  here.desk.bytes(["pack-objects", "--revs", "--stdout", "--thin", "--quiet"], {
    ...{ in: AT, input: `${tip}\n^${base}\n` },
  })

interface Sent {
  readonly tip?: string
  readonly branch?: string
  readonly signal?: AbortSignal
}
async function take(pack: Uint8Array | AsyncIterable<Uint8Array>, sent: Sent = {}) {
  const { tip = second, branch = "main", signal = new AbortController().signal } = sent
  const pieces = pack instanceof Uint8Array ? inPieces(pack) : pack
  const caller = await callerOf(here.world, company)
  const taken = await code.takePack(caller, RULES, { tip, branch, pack: pieces, signal })
  return { ...taken, text: taken.lines.join("\n") }
}
const tips = async () => Object.fromEntries((await code.find(company.companyId))?.tips ?? [])
/** What was told of the pushes behind the first. */
const told = async () => (await factsOf(here.world, company)).slice(2)

/** Nothing is left of what was sent, and no branch has moved. */
async function expectNothing(facts: readonly string[] = []): Promise<void> {
  expect(await tips()).toEqual({ main: first })
  expect(await quarantines(here.codeDir, company)).toEqual([])
  expect(await told()).toEqual(facts)
  expect(here.world.ports.packPlaces.count()).toMatchObject({ in: 0, waiting: 0 })
}

describe("a pack on top of a branch", () => {
  it("moves it as a push of the key and its person does", async () => {
    expect(await take(await packFrom(first, second))).toMatchObject({ pushed: true, lines: [] })
    expect(await tips()).toEqual({ main: second })
    expect(await told()).toEqual(["PushAccepted", "PushLanded"])
    const { keyId: key, ownerId: person } = company
    const events = await collect(here.world.ports.store.read(codeOf(company.companyId).stream))
    const metadata: unknown = JSON.parse(String(events.at(-1)?.metadata))
    expect(metadata).toMatchObject({ key, person })
    expect(here.world.warnings).toEqual([])
  })

  it("makes a branch that is not there", async () => {
    const pack = await packFrom(first, second)
    expect(await take(pack, { branch: "topic/one" })).toMatchObject({ pushed: true })
    expect(await tips()).toEqual({ main: first, "topic/one": second })
  })

  it("is not even read where the branch is there already", async () => {
    const unread = (async function* () {
      yield await Promise.reject(new Error("it was read"))
    })()
    expect(await take(unread, { tip: first })).toMatchObject({ pushed: true })
    await expectNothing()
  })

  it("is taken in pieces of any size", async () => {
    const bytes = await packFrom(first, second)
    const single = Array.from(bytes, (byte) => Buffer.from([byte]))
    expect(await take(inPieces(...single))).toMatchObject({ pushed: true })
  })
})

describe("a pack that is none", () => {
  it.each([
    ["has a flipped byte", (pack: Buffer) => Buffer.from(pack).fill((pack[40] ?? 0) ^ 1, 40, 41)],
    ["ends early", (pack: Buffer) => pack.subarray(0, -21)],
    ["is empty", () => Buffer.alloc(0)],
    ["names a repository of the machine", () => Buffer.from(`gitdir: ${here.codeDir}\n`)],
    ["is a bundle", (pack: Buffer) => Buffer.concat([Buffer.from("# v2 git bundle\n\n"), pack])],
    ["has no object", () => packed([])],
  ])("is refused in git's own words: it %s", async (_what, change) => {
    const taken = await take(change(await packFrom(first, second)))
    expect(taken).toMatchObject({
      pushed: false,
      text: expect.stringMatching(/unpack|no such commit/),
    })
    await expectNothing()
  })

  it("is given up where it ends by a fault, which is thrown", async () => {
    const bytes = await packFrom(first, second)
    const torn = (async function* () {
      yield bytes.subarray(0, 30)
      throw new Error("the box is gone")
    })()
    await expect(take(torn)).rejects.toThrow("the box is gone")
    await expectNothing()
  })

  it("is refused over the size of a push", async () => {
    const tip = await here.desk.commit(AT, "random", randomBytes(200_000))
    const pack = inPieces(await packFrom(first, tip))
    const folder = folderOf(here.codeDir, company)
    const settings = [["receive.maxInputSize", "100000"]] as const
    const machine = { isSandboxed: false }
    const signal = new AbortController().signal
    const sent = { companyId: company.companyId, ref: "refs/heads/main", tip, pack, signal }
    const yes = async (): Promise<Verdict> => ({ ok: true })
    const taken = await takePack({ machine, folder, limits: LIMITS, settings }, sent, yes)
    expect(taken).toMatchObject({ ok: false })
    expect(JSON.stringify(taken)).toContain("pack exceeds maximum allowed size")
    await git("reset", "--quiet", "--hard", second)
    await expectNothing()
  })

  it("is refused where some bytes make a file that no memory holds", async () => {
    const base = objectIn("blob", Buffer.alloc(0x10000))
    const { pushed, text } = await take(packed([base, copiesOf(base, 0x10000, 1_024 * MIB)]))
    expect([pushed, text]).toEqual([false, expect.stringContaining("attempting to allocate")])
    await expectNothing()
  })

  it("is refused where it builds on objects that are not of this company", async () => {
    const pack = await packFrom(second, await here.desk.commit(AT, "b", "of another\n"))
    const tip = await git("rev-parse", "HEAD")
    await git("reset", "--quiet", "--hard", second)
    const { pushed, text } = await take(pack, { tip })
    expect([pushed, text]).toEqual([
      false,
      expect.stringContaining("did not receive expected object"),
    ])
    await expectNothing()
  })
})

describe("a commit that nobody should check out", () => {
  it.each([".GIT", ".git", "git~1"])("is refused: it has %s/hooks", async (name) => {
    const hook = await blobOf(here.desk, AT, "#!/bin/sh\n")
    const hooks = await commitOf(here.desk, AT, [{ mode: "100755", name: "pre-commit", id: hook }])
    const inside = { mode: "40000", name: "hooks", id: hooks.tree }
    const folder = await commitOf(here.desk, AT, [inside])
    const bad = await commitOf(here.desk, AT, [{ mode: "40000", name, id: folder.tree }])
    const tip = await git("commit-tree", "-p", first, "-m", "bad", bad.tree)
    const ids = [hook, hooks.tree, folder.tree, bad.tree, tip]
    const { pushed, text } = await take(await packOf(here.desk, AT, ids), { tip })
    expect([pushed, text]).toEqual([false, expect.stringContaining("hasDotgit")])
    await expectNothing()
  })

  it.each(["blob", "tree", "tag"])("is refused where it is none but a %s", async (type) => {
    const blob = await blobOf(here.desk, AT, "a blob\n")
    const { tree } = await commitOf(here.desk, AT, [{ mode: "100644", name: "x", id: blob }])
    const tagger = `object ${second}\ntype commit\ntag x\ntagger A <a@example.com> 1 +0000\n\nx\n`
    const making = ["hash-object", "-w", "-t", "tag", "--stdin"]
    const tag = await here.desk.right(making, { in: AT, input: tagger })
    const tip = { blob, tree, tag }[type] ?? ""
    const pack = { blob: packOf(here.desk, AT, [blob]), tree: packOf(here.desk, AT, [tree, blob]) }
    const sent = type === "tag" ? packFrom(first, tag) : pack[type as "blob"]
    const { pushed, text } = await take(await sent, { tip })
    expect([pushed, text]).toEqual([false, "What was sent has no such commit."])
    await expectNothing()
  })

  it.each([
    [{ tip: "HEAD" }, "commit"],
    [{ tip: "--all" }, "commit"],
    [{ branch: "a\nb" }, "branch"],
    [{ branch: "a b" }, "branch"],
    [{ branch: "a\0report-status" }, "branch"],
    [{ branch: "" }, "branch"],
  ])("is not looked for by what is no name: %j", async (sent, what) => {
    const { pushed, text } = await take(await packFrom(first, second), sent)
    expect([pushed, text]).toEqual([false, `What was sent names no ${what}.`])
    await expectNothing()
  })

  it("is refused below a name that is no branch's", async () => {
    const sent = { branch: "../../config" }
    expect(await take(await packFrom(first, second), sent)).toMatchObject({ pushed: false })
    await expectNothing(["PushRefused"])
  })
})

describe("a branch that moved meanwhile", () => {
  it("stays where others left it, before it is judged", async () => {
    await here.desk.right(["push", here.addressOf(company), `${second}:main`], { in: AT })
    const other = await git("commit-tree", "-p", first, "-m", "other", `${first}^{tree}`)
    const facts = await told()
    const { pushed, text } = await take(await packFrom(first, other), { tip: other })
    expect([pushed, text]).toEqual([false, expect.stringContaining("it moved meanwhile")])
    expect(await tips()).toEqual({ main: second })
    expect(await told()).toEqual(facts)
  })

  it("stays where others left it, also while it is judged", async () => {
    const { companyId } = company
    const other = await git("commit-tree", "-p", first, "-m", "other", `${first}^{tree}`)
    const pack = inPieces(await packFrom(first, other))
    const signal = new AbortController().signal
    const sent = { companyId, ref: "refs/heads/main", tip: other, pack, signal }
    const taken = await here.world.ports.repositories.takePack(sent, async () => {
      await here.desk.right(["push", here.addressOf(company), `${second}:main`], { in: AT })
      return { ok: true }
    })
    expect(taken).toMatchObject({ ok: false })
    expect(await tips()).toEqual({ main: second })
  })
})

describe("what every push is judged by", () => {
  it("refuses a secret, and writes that down", async () => {
    const tip = await here.desk.commit(AT, "key", `${SECRETS["github"]}\n`)
    const pack = await packFrom(first, tip)
    await git("reset", "--quiet", "--hard", second)
    const { pushed, text } = await take(pack, { tip })
    expect([pushed, text]).toEqual([false, expect.stringContaining("key, line 1: github")])
    await expectNothing(["PushRefused"])
  })

  it("refuses another core than an official one, and writes that down", async () => {
    const tip = await here.desk.commit(AT, "src/sealed/core.ts", "mine\n")
    const pack = await packFrom(first, tip)
    await git("reset", "--quiet", "--hard", second)
    const { pushed, text } = await take(pack, { tip })
    expect([pushed, text]).toEqual([false, expect.stringContaining("protected core")])
    await expectNothing(["PushRefused"])
  })

  it("refuses a key that was switched off while so much was sent", async () => {
    const { companyId, keyId } = company
    const bytes = await packFrom(first, second)
    const slowly = (async function* () {
      yield bytes.subarray(0, 20)
      await here.world.operate("key delete", { company: companyId, keyId })
      yield bytes.subarray(20)
    })()
    expect(await take(slowly)).toMatchObject({ pushed: false })
    await expectNothing()
  })

  it("refuses a key that was never granted what its route needs", async () => {
    const { companyId, ownerId: person } = company
    const asked = { company: companyId, person, operations: ["code.push"] }
    company = { ...company, ...(await here.world.operate("key create", asked)) }
    const { pushed, text } = await take(await packFrom(first, second))
    expect([pushed, text]).toEqual([false, expect.stringContaining("may not use sandbox.push")])
    await expectNothing()
  })

  it("takes nothing for who does not wait any more", async () => {
    const gone = AbortSignal.abort()
    const taken = await take(await packFrom(first, second), { signal: gone })
    expect(taken).toMatchObject({ pushed: false, lines: [expect.any(String)] })
    await expectNothing()
  })
})

describe("the code that a box begins with", () => {
  it("is found by its branches, and packed by a commit", async () => {
    await here.desk.right(["push", here.addressOf(company), `${second}:refs/heads/topic`], {
      in: AT,
    })
    const found = await code.find(company.companyId)
    expect(found?.defaultBranch).toBe("main")
    expect([...(found?.tips ?? [])].toSorted()).toEqual([
      ["main", first],
      ["topic", second],
    ])
    const pieces: Uint8Array[] = []
    const signal = new AbortController().signal
    for await (const piece of code.pack(company.companyId, second, signal)) pieces.push(piece)
    const into = `into-${company.companyId}`
    await here.desk.right(["init", "--quiet", into])
    const input = Buffer.concat(pieces)
    await here.desk.right(["index-pack", "--stdin", "--strict"], { in: into, input })
    expect(await here.desk.right(["rev-list", second], { in: into })).toBe(`${second}\n${first}`)
    expect(here.world.ports.packPlaces.count()).toMatchObject({ out: 0 })
  })

  it("is given up by who stops reading, and takes no place then", async () => {
    const signal = new AbortController().signal
    for await (const piece of code.pack(company.companyId, first, signal)) {
      expect(piece.length).toBeGreaterThan(0)
      expect(here.world.ports.packPlaces.count()).toMatchObject({ out: 1 })
      break
    }
    expect(here.world.ports.packPlaces.count()).toMatchObject({ out: 0 })
  })

  it("is nothing where there is no repository, and unavailable where there is no git", async () => {
    const { companyId } = await makeCodeCompany(here.world, { repository: false })
    expect(await code.find(companyId)).toBeNull()
    const empty = await makeCodeCompany(here.world)
    expect(await code.find(empty.companyId)).toMatchObject({ tips: new Map() })
    await here.world.operate("stand-in set", { name: "git", outcome: "unavailable", times: 1 })
    await expect(code.find(companyId)).rejects.toThrow(ProviderUnavailable)
  })
})
