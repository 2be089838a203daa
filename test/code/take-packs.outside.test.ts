/** Packs that boxes send: those that are accepted, and those that are refused. */
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

const packWorld = await openPackWorld()
beforeEach(() => packWorld.renew())

describe("a pack on top of a branch", () => {
  it("moves the branch like a push by the key and its person", async () => {
    expect(
      await packWorld.receive(await packWorld.packFrom(packWorld.first, packWorld.second)),
    ).toMatchObject({
      pushed: true,
      text: "",
    })
    expect(await packWorld.tips()).toEqual({ main: packWorld.second })
    expect(await packWorld.laterFacts()).toEqual(["PushAccepted", "PushCompleted"])
    const { keyId: key, ownerId: person } = packWorld.company
    const events = await collectEvents(
      packWorld.here.world.ports.store.read(codeStreamOf(packWorld.company.companyId).stream),
    )
    const metadata: unknown = JSON.parse(String(events.at(-1)?.metadata))
    expect(metadata).toMatchObject({ key, person })
    expect(packWorld.here.warnings()).toEqual([])
  })

  it("creates a branch that does not exist", async () => {
    const pack = await packWorld.packFrom(packWorld.first, packWorld.second)
    expect(await packWorld.receive(pack, { branch: "topic/one" })).toMatchObject({ pushed: true })
    expect(await packWorld.tips()).toEqual({ main: packWorld.first, "topic/one": packWorld.second })
  })

  it("is not read if the branch already points to its commit", async () => {
    const unread = (async function* () {
      yield await Promise.reject(new Error("it was read"))
    })()
    expect(await packWorld.receive(unread, { tip: packWorld.first })).toMatchObject({
      pushed: true,
    })
    await packWorld.expectNothing()
  })

  it("is accepted in chunks of any size", async () => {
    const bytes = await packWorld.packFrom(packWorld.first, packWorld.second)
    const single = Array.from(bytes, (byte) => Buffer.from([byte]))
    expect(await packWorld.receive(asByteStream(...single))).toMatchObject({ pushed: true })
  })
})

describe("an invalid pack", () => {
  it.each([
    ["has a flipped byte", (pack: Buffer) => Buffer.from(pack).fill((pack[40] ?? 0) ^ 1, 40, 41)],
    ["ends early", (pack: Buffer) => pack.subarray(0, -21)],
    ["is empty", () => Buffer.alloc(0)],
    ["names a repository of the machine", () => Buffer.from(`gitdir: ${packWorld.here.codeDir}\n`)],
    ["is a bundle", (pack: Buffer) => Buffer.concat([Buffer.from("# v2 git bundle\n\n"), pack])],
    ["has no object", () => encodePack([])],
  ])("is rejected with git's message: it %s", async (_what, change) => {
    const result = await packWorld.receive(
      change(await packWorld.packFrom(packWorld.first, packWorld.second)),
    )
    expect(result).toMatchObject({
      pushed: false,
      text: expect.stringMatching(/unpack|does not contain the commit/),
    })
    await packWorld.expectNothing()
  })

  it("rethrows the error of its stream, and stores nothing", async () => {
    const bytes = await packWorld.packFrom(packWorld.first, packWorld.second)
    const torn = (async function* () {
      yield bytes.subarray(0, 30)
      throw new Error("the box is gone")
    })()
    await expect(packWorld.receive(torn)).rejects.toThrow("the box is gone")
    await packWorld.expectNothing()
  })

  it("is rejected over the size limit of a push", async () => {
    const tip = await packWorld.here.workspace.commit(COPY_FOLDER, "random", randomBytes(200_000))
    const pack = asByteStream(await packWorld.packFrom(packWorld.first, tip))
    const folder = repositoryFolder(packWorld.here.codeDir, packWorld.company)
    const settings = [["receive.maxInputSize", "100000"]] as const
    const runtime = { isSandboxed: false }
    const signal = new AbortController().signal
    const sent = {
      companyId: packWorld.company.companyId,
      ref: "refs/heads/main",
      tip,
      pack,
      signal,
    }
    const accept = async (): Promise<PushVerdict> => ({ ok: true })
    const result = await applyPack(
      { runtime, folder, timeouts: DEFAULT_SESSION_TIMEOUTS, settings },
      sent,
      accept,
    )
    expect(result).toMatchObject({ ok: false })
    expect(JSON.stringify(result)).toContain("pack exceeds maximum allowed size")
    await packWorld.git("reset", "--quiet", "--hard", packWorld.second)
    await packWorld.expectNothing()
  })

  it("is rejected if a small delta makes a file larger than memory", async () => {
    const base = encodePackObject("blob", Buffer.alloc(0x10000))
    const { pushed, text } = await packWorld.receive(
      encodePack([base, encodeCopyDelta(base, 0x10000, 1_024 * MIB)]),
    )
    expect([pushed, text]).toEqual([false, expect.stringContaining("attempting to allocate")])
    await packWorld.expectNothing()
  })

  it("is rejected if it builds on objects that this company lacks", async () => {
    const pack = await packWorld.packFrom(
      packWorld.second,
      await packWorld.here.workspace.commit(COPY_FOLDER, "b", "of another\n"),
    )
    const tip = await packWorld.git("rev-parse", "HEAD")
    await packWorld.git("reset", "--quiet", "--hard", packWorld.second)
    const { pushed, text } = await packWorld.receive(pack, { tip })
    expect([pushed, text]).toEqual([
      false,
      expect.stringContaining("did not receive expected object"),
    ])
    await packWorld.expectNothing()
  })
})

describe("a commit that is unsafe to check out", () => {
  it.each([".GIT", ".git", "git~1"])("is rejected: it has %s/hooks", async (name) => {
    const hook = await writeBlob(packWorld.here.workspace, COPY_FOLDER, "#!/bin/sh\n")
    const hooks = await writeCommit(packWorld.here.workspace, COPY_FOLDER, [
      { mode: "100755", name: "pre-commit", id: hook },
    ])
    const inside = { mode: "40000", name: "hooks", id: hooks.tree }
    const folder = await writeCommit(packWorld.here.workspace, COPY_FOLDER, [inside])
    const bad = await writeCommit(packWorld.here.workspace, COPY_FOLDER, [
      { mode: "40000", name, id: folder.tree },
    ])
    const tip = await packWorld.git("commit-tree", "-p", packWorld.first, "-m", "bad", bad.tree)
    const ids = [hook, hooks.tree, folder.tree, bad.tree, tip]
    const { pushed, text } = await packWorld.receive(
      await writePack(packWorld.here.workspace, COPY_FOLDER, ids),
      { tip },
    )
    expect([pushed, text]).toEqual([false, expect.stringContaining("hasDotgit")])
    await packWorld.expectNothing()
  })

  it.each(["blob", "tree", "tag"])("is rejected if it is a %s instead", async (type) => {
    const blob = await writeBlob(packWorld.here.workspace, COPY_FOLDER, "a blob\n")
    const { tree } = await writeCommit(packWorld.here.workspace, COPY_FOLDER, [
      { mode: "100644", name: "x", id: blob },
    ])
    const tagger = `object ${packWorld.second}\ntype commit\ntag x\ntagger A <a@example.com> 1 +0000\n\nx\n`
    const hashObject = ["hash-object", "-w", "-t", "tag", "--stdin"]
    const tag = await packWorld.here.workspace.run(hashObject, {
      folder: COPY_FOLDER,
      input: tagger,
    })
    const tip = { blob, tree, tag }[type] ?? ""
    const pack = {
      blob: writePack(packWorld.here.workspace, COPY_FOLDER, [blob]),
      tree: writePack(packWorld.here.workspace, COPY_FOLDER, [tree, blob]),
    }
    const sent = type === "tag" ? packWorld.packFrom(packWorld.first, tag) : pack[type as "blob"]
    const { pushed, text } = await packWorld.receive(await sent, { tip })
    expect([pushed, text]).toEqual([false, "The pack does not contain the commit it names."])
    await packWorld.expectNothing()
  })

  it.each([
    [{ tip: "HEAD" }, "tip is not a commit id"],
    [{ tip: "--all" }, "tip is not a commit id"],
    [{ branch: "a\nb" }, "branch name is invalid"],
    [{ branch: "a b" }, "branch name is invalid"],
    [{ branch: "a\0report-status" }, "branch name is invalid"],
    [{ branch: "" }, "branch name is invalid"],
  ])("is rejected for an invalid commit id or branch name: %j", async (sent, fault) => {
    const { pushed, text } = await packWorld.receive(
      await packWorld.packFrom(packWorld.first, packWorld.second),
      sent,
    )
    expect([pushed, text]).toEqual([false, expect.stringContaining(fault)])
    await packWorld.expectNothing()
  })

  it("is rejected for a branch name outside of the branches", async () => {
    const sent = { branch: "../../config" }
    expect(
      await packWorld.receive(await packWorld.packFrom(packWorld.first, packWorld.second), sent),
    ).toMatchObject({
      pushed: false,
    })
    await packWorld.expectNothing(["PushRefused"])
  })
})

describe("a branch that moved in the meantime", () => {
  it("is not moved by a pack that is checked later", async () => {
    await packWorld.here.workspace.run(
      ["push", packWorld.here.addressOf(packWorld.company), `${packWorld.second}:main`],
      {
        folder: COPY_FOLDER,
      },
    )
    const other = await packWorld.git(
      "commit-tree",
      "-p",
      packWorld.first,
      "-m",
      "other",
      `${packWorld.first}^{tree}`,
    )
    const facts = await packWorld.laterFacts()
    const { pushed, text } = await packWorld.receive(
      await packWorld.packFrom(packWorld.first, other),
      { tip: other },
    )
    expect([pushed, text]).toEqual([false, expect.stringContaining("moved meanwhile")])
    expect(await packWorld.tips()).toEqual({ main: packWorld.second })
    expect(await packWorld.laterFacts()).toEqual(facts)
  })

  it("is not moved by a pack that is being checked", async () => {
    const { companyId } = packWorld.company
    const other = await packWorld.git(
      "commit-tree",
      "-p",
      packWorld.first,
      "-m",
      "other",
      `${packWorld.first}^{tree}`,
    )
    const pack = asByteStream(await packWorld.packFrom(packWorld.first, other))
    const signal = new AbortController().signal
    const sent = { companyId, ref: "refs/heads/main", tip: other, pack, signal }
    const result = await packWorld.here.world.ports.repositories.applyPack(sent, async () => {
      await packWorld.here.workspace.run(
        ["push", packWorld.here.addressOf(packWorld.company), `${packWorld.second}:main`],
        {
          folder: COPY_FOLDER,
        },
      )
      return { ok: true }
    })
    expect(result).toMatchObject({ ok: false })
    expect(await packWorld.tips()).toEqual({ main: packWorld.second })
  })
})
