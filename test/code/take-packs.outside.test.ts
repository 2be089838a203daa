/** Code that a machine of somebody's sends as a pack, as boxes do: what of it is taken, and what is not. */
import { randomBytes } from "node:crypto"
import { beforeEach, describe, expect, it } from "vitest"
import { DEFAULT_SESSION_TIMEOUTS } from "../../adapters/git/read-repository.ts"
import { applyPack } from "../../adapters/git/packs.ts"
import type { PushVerdict } from "../../adapters/git/port.ts"
import { codeStreamOf } from "../../domain/code/aggregates.ts"
import { collectEvents } from "../contracts/event-store-fixture.ts"
import { repositoryFolder } from "./code-world.ts"
import { writeBlob, writeCommit, writePack } from "./git.ts"
import { COPY_FOLDER, asByteStream, openPackWorld } from "./pack-world.ts"
import { encodeCopyDelta, encodePackObject, encodePack } from "./packs.ts"

const MIB = 1024 * 1024

const at = await openPackWorld()
beforeEach(() => at.renew())

describe("a pack on top of a branch", () => {
  it("moves it as a push of the key and its person does", async () => {
    expect(await at.take(await at.packFrom(at.first, at.second))).toMatchObject({
      pushed: true,
      text: "",
    })
    expect(await at.tips()).toEqual({ main: at.second })
    expect(await at.told()).toEqual(["PushAccepted", "PushCompleted"])
    const { keyId: key, ownerId: person } = at.company
    const events = await collectEvents(
      at.here.world.ports.store.read(codeStreamOf(at.company.companyId).stream),
    )
    const metadata: unknown = JSON.parse(String(events.at(-1)?.metadata))
    expect(metadata).toMatchObject({ key, person })
    expect(at.here.warnings()).toEqual([])
  })

  it("makes a branch that is not there", async () => {
    const pack = await at.packFrom(at.first, at.second)
    expect(await at.take(pack, { branch: "topic/one" })).toMatchObject({ pushed: true })
    expect(await at.tips()).toEqual({ main: at.first, "topic/one": at.second })
  })

  it("is not even read where the branch is there already", async () => {
    const unread = (async function* () {
      yield await Promise.reject(new Error("it was read"))
    })()
    expect(await at.take(unread, { tip: at.first })).toMatchObject({ pushed: true })
    await at.expectNothing()
  })

  it("is taken in pieces of any size", async () => {
    const bytes = await at.packFrom(at.first, at.second)
    const single = Array.from(bytes, (byte) => Buffer.from([byte]))
    expect(await at.take(asByteStream(...single))).toMatchObject({ pushed: true })
  })
})

describe("a pack that is none", () => {
  it.each([
    ["has a flipped byte", (pack: Buffer) => Buffer.from(pack).fill((pack[40] ?? 0) ^ 1, 40, 41)],
    ["ends early", (pack: Buffer) => pack.subarray(0, -21)],
    ["is empty", () => Buffer.alloc(0)],
    ["names a repository of the machine", () => Buffer.from(`gitdir: ${at.here.codeDir}\n`)],
    ["is a bundle", (pack: Buffer) => Buffer.concat([Buffer.from("# v2 git bundle\n\n"), pack])],
    ["has no object", () => encodePack([])],
  ])("is refused in git's own words: it %s", async (_what, change) => {
    const taken = await at.take(change(await at.packFrom(at.first, at.second)))
    expect(taken).toMatchObject({
      pushed: false,
      text: expect.stringMatching(/unpack|does not contain the commit/),
    })
    await at.expectNothing()
  })

  it("is given up where it ends by a fault, which is thrown", async () => {
    const bytes = await at.packFrom(at.first, at.second)
    const torn = (async function* () {
      yield bytes.subarray(0, 30)
      throw new Error("the box is gone")
    })()
    await expect(at.take(torn)).rejects.toThrow("the box is gone")
    await at.expectNothing()
  })

  it("is refused over the size of a push", async () => {
    const tip = await at.here.desk.commit(COPY_FOLDER, "random", randomBytes(200_000))
    const pack = asByteStream(await at.packFrom(at.first, tip))
    const folder = repositoryFolder(at.here.codeDir, at.company)
    const settings = [["receive.maxInputSize", "100000"]] as const
    const runtime = { isSandboxed: false }
    const signal = new AbortController().signal
    const sent = { companyId: at.company.companyId, ref: "refs/heads/main", tip, pack, signal }
    const yes = async (): Promise<PushVerdict> => ({ ok: true })
    const taken = await applyPack(
      { runtime, folder, limits: DEFAULT_SESSION_TIMEOUTS, settings },
      sent,
      yes,
    )
    expect(taken).toMatchObject({ ok: false })
    expect(JSON.stringify(taken)).toContain("pack exceeds maximum allowed size")
    await at.git("reset", "--quiet", "--hard", at.second)
    await at.expectNothing()
  })

  it("is refused where some bytes make a file that no memory holds", async () => {
    const base = encodePackObject("blob", Buffer.alloc(0x10000))
    const { pushed, text } = await at.take(
      encodePack([base, encodeCopyDelta(base, 0x10000, 1_024 * MIB)]),
    )
    expect([pushed, text]).toEqual([false, expect.stringContaining("attempting to allocate")])
    await at.expectNothing()
  })

  it("is refused where it builds on objects that are not of this company", async () => {
    const pack = await at.packFrom(
      at.second,
      await at.here.desk.commit(COPY_FOLDER, "b", "of another\n"),
    )
    const tip = await at.git("rev-parse", "HEAD")
    await at.git("reset", "--quiet", "--hard", at.second)
    const { pushed, text } = await at.take(pack, { tip })
    expect([pushed, text]).toEqual([
      false,
      expect.stringContaining("did not receive expected object"),
    ])
    await at.expectNothing()
  })
})

describe("a commit that nobody should check out", () => {
  it.each([".GIT", ".git", "git~1"])("is refused: it has %s/hooks", async (name) => {
    const hook = await writeBlob(at.here.desk, COPY_FOLDER, "#!/bin/sh\n")
    const hooks = await writeCommit(at.here.desk, COPY_FOLDER, [
      { mode: "100755", name: "pre-commit", id: hook },
    ])
    const inside = { mode: "40000", name: "hooks", id: hooks.tree }
    const folder = await writeCommit(at.here.desk, COPY_FOLDER, [inside])
    const bad = await writeCommit(at.here.desk, COPY_FOLDER, [
      { mode: "40000", name, id: folder.tree },
    ])
    const tip = await at.git("commit-tree", "-p", at.first, "-m", "bad", bad.tree)
    const ids = [hook, hooks.tree, folder.tree, bad.tree, tip]
    const { pushed, text } = await at.take(await writePack(at.here.desk, COPY_FOLDER, ids), { tip })
    expect([pushed, text]).toEqual([false, expect.stringContaining("hasDotgit")])
    await at.expectNothing()
  })

  it.each(["blob", "tree", "tag"])("is refused where it is none but a %s", async (type) => {
    const blob = await writeBlob(at.here.desk, COPY_FOLDER, "a blob\n")
    const { tree } = await writeCommit(at.here.desk, COPY_FOLDER, [
      { mode: "100644", name: "x", id: blob },
    ])
    const tagger = `object ${at.second}\ntype commit\ntag x\ntagger A <a@example.com> 1 +0000\n\nx\n`
    const making = ["hash-object", "-w", "-t", "tag", "--stdin"]
    const tag = await at.here.desk.right(making, { folder: COPY_FOLDER, input: tagger })
    const tip = { blob, tree, tag }[type] ?? ""
    const pack = {
      blob: writePack(at.here.desk, COPY_FOLDER, [blob]),
      tree: writePack(at.here.desk, COPY_FOLDER, [tree, blob]),
    }
    const sent = type === "tag" ? at.packFrom(at.first, tag) : pack[type as "blob"]
    const { pushed, text } = await at.take(await sent, { tip })
    expect([pushed, text]).toEqual([false, "The pack does not contain the commit it names."])
    await at.expectNothing()
  })

  it.each([
    [{ tip: "HEAD" }, "tip is not a commit id"],
    [{ tip: "--all" }, "tip is not a commit id"],
    [{ branch: "a\nb" }, "branch name is invalid"],
    [{ branch: "a b" }, "branch name is invalid"],
    [{ branch: "a\0report-status" }, "branch name is invalid"],
    [{ branch: "" }, "branch name is invalid"],
  ])("is not looked for by what is no name: %j", async (sent, fault) => {
    const { pushed, text } = await at.take(await at.packFrom(at.first, at.second), sent)
    expect([pushed, text]).toEqual([false, expect.stringContaining(fault)])
    await at.expectNothing()
  })

  it("is refused below a name that is no branch's", async () => {
    const sent = { branch: "../../config" }
    expect(await at.take(await at.packFrom(at.first, at.second), sent)).toMatchObject({
      pushed: false,
    })
    await at.expectNothing(["PushRefused"])
  })
})

describe("a branch that moved meanwhile", () => {
  it("stays where others left it, before it is judged", async () => {
    await at.here.desk.right(["push", at.here.addressOf(at.company), `${at.second}:main`], {
      folder: COPY_FOLDER,
    })
    const other = await at.git("commit-tree", "-p", at.first, "-m", "other", `${at.first}^{tree}`)
    const facts = await at.told()
    const { pushed, text } = await at.take(await at.packFrom(at.first, other), { tip: other })
    expect([pushed, text]).toEqual([false, expect.stringContaining("moved meanwhile")])
    expect(await at.tips()).toEqual({ main: at.second })
    expect(await at.told()).toEqual(facts)
  })

  it("stays where others left it, also while it is judged", async () => {
    const { companyId } = at.company
    const other = await at.git("commit-tree", "-p", at.first, "-m", "other", `${at.first}^{tree}`)
    const pack = asByteStream(await at.packFrom(at.first, other))
    const signal = new AbortController().signal
    const sent = { companyId, ref: "refs/heads/main", tip: other, pack, signal }
    const taken = await at.here.world.ports.repositories.applyPack(sent, async () => {
      await at.here.desk.right(["push", at.here.addressOf(at.company), `${at.second}:main`], {
        folder: COPY_FOLDER,
      })
      return { ok: true }
    })
    expect(taken).toMatchObject({ ok: false })
    expect(await at.tips()).toEqual({ main: at.second })
  })
})
