/** The checks of packs from boxes, and the code that a box starts with. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { checkOutInBox, commitInBox } from "../../adapters/sandbox/boxhost/code-transfer.ts"
import { writeBoxFile } from "../../adapters/sandbox/boxhost/box-files.ts"
import { ProviderUnavailable } from "../../adapters/providers/provider-errors.ts"
import type { ShellBox } from "../support/shell-box.ts"
import { openShellBox } from "../support/shell-box.ts"
import { SAMPLE_SECRETS } from "../code-checks/fake-pushes.ts"
import { makeCodeCompany } from "./code-world.ts"
import { makeKey, ownWorld } from "../support/world.ts"
import { COPY_FOLDER, openPackWorld } from "./pack-world.ts"

const packWorld = await openPackWorld(await ownWorld("settings"))
beforeEach(() => packWorld.renew())

describe("a pack from a box", () => {
  it("with a secret is rejected, and the rejection is recorded", async () => {
    const tip = await packWorld.here.workspace.commit(
      COPY_FOLDER,
      "key",
      `${SAMPLE_SECRETS["github"]}\n`,
    )
    const pack = await packWorld.packFrom(packWorld.first, tip)
    await packWorld.git("reset", "--quiet", "--hard", packWorld.second)
    const { pushed, text } = await packWorld.receive(pack, { tip })
    expect([pushed, text]).toEqual([false, expect.stringContaining("key, line 1: github")])
    await packWorld.expectNothing(["PushRefused"])
  })

  it("with a changed protected core is rejected, and the rejection is recorded", async () => {
    const tip = await packWorld.here.workspace.commit(COPY_FOLDER, "src/sealed/core.ts", "mine\n")
    const pack = await packWorld.packFrom(packWorld.first, tip)
    await packWorld.git("reset", "--quiet", "--hard", packWorld.second)
    const { pushed, text } = await packWorld.receive(pack, { tip })
    expect([pushed, text]).toEqual([false, expect.stringContaining("protected core")])
    await packWorld.expectNothing(["PushRefused"])
  })

  it("is rejected if its key was deleted during the transfer", async () => {
    const { companyId, keyId } = packWorld.company
    const bytes = await packWorld.packFrom(packWorld.first, packWorld.second)
    const slowly = (async function* () {
      yield bytes.subarray(0, 20)
      await packWorld.here.world.operate("key delete", { company: companyId, keyId })
      yield bytes.subarray(20)
    })()
    expect(await packWorld.receive(slowly)).toMatchObject({ pushed: false })
    await packWorld.expectNothing()
  })

  it("is rejected if its key lacks the operation of the route", async () => {
    const { companyId, ownerId: person } = packWorld.company
    packWorld.company = {
      ...packWorld.company,
      ...(await makeKey(
        packWorld.here.world,
        { companyId },
        { person, operations: ["code.push"] },
      )),
    }
    const { pushed, text } = await packWorld.receive(
      await packWorld.packFrom(packWorld.first, packWorld.second),
    )
    expect([pushed, text]).toEqual([
      false,
      expect.stringContaining("no permission for sandbox.push"),
    ])
    await packWorld.expectNothing()
  })

  it("is dropped if the caller no longer waits", async () => {
    const aborted = AbortSignal.abort()
    const taken = await packWorld.receive(
      await packWorld.packFrom(packWorld.first, packWorld.second),
      { signal: aborted },
    )
    expect(taken).toMatchObject({
      pushed: false,
      text: expect.stringContaining("nothing was changed"),
    })
    await packWorld.expectNothing()
  })
})

describe("the code that a box starts with", () => {
  it("is found by its branches, and packed from a commit", async () => {
    await packWorld.here.workspace.run(
      ["push", packWorld.here.addressOf(packWorld.company), `${packWorld.second}:refs/heads/topic`],
      {
        folder: COPY_FOLDER,
      },
    )
    const found = await packWorld.code.find(packWorld.company.companyId)
    expect(found?.defaultBranch).toBe("main")
    expect([...(found?.tips ?? [])].toSorted()).toEqual([
      ["main", packWorld.first],
      ["topic", packWorld.second],
    ])
    const pieces: Uint8Array[] = []
    const signal = new AbortController().signal
    for await (const piece of packWorld.code.pack(
      packWorld.company.companyId,
      packWorld.second,
      signal,
    ))
      pieces.push(piece)
    const into = `into-${packWorld.company.companyId}`
    await packWorld.here.workspace.run(["init", "--quiet", into])
    const input = Buffer.concat(pieces)
    await packWorld.here.workspace.run(["index-pack", "--stdin", "--strict"], {
      folder: into,
      input,
    })
    expect(
      await packWorld.here.workspace.run(["rev-list", packWorld.second], { folder: into }),
    ).toBe(`${packWorld.second}\n${packWorld.first}`)
    expect(packWorld.here.world.ports.packSlots.count()).toMatchObject({ out: 0 })
  })

  it("frees its slot when the reader stops early", async () => {
    const signal = new AbortController().signal
    for await (const piece of packWorld.code.pack(
      packWorld.company.companyId,
      packWorld.first,
      signal,
    )) {
      expect(piece.length).toBeGreaterThan(0)
      expect(packWorld.here.world.ports.packSlots.count()).toMatchObject({ out: 1 })
      break
    }
    expect(packWorld.here.world.ports.packSlots.count()).toMatchObject({ out: 0 })
  })

  it("is null without a repository, and unavailable without git", async () => {
    const { companyId } = await makeCodeCompany(packWorld.here.world, { repository: false })
    expect(await packWorld.code.find(companyId)).toBeNull()
    const empty = await makeCodeCompany(packWorld.here.world)
    expect(await packWorld.code.find(empty.companyId)).toMatchObject({ tips: new Map() })
    await packWorld.here.world.operate("simulator set", {
      name: "git",
      outcome: "unavailable",
      times: 1,
    })
    await expect(packWorld.code.find(companyId)).rejects.toThrow(ProviderUnavailable)
  })
})

describe("code that is checked out in a box and pushed from it", () => {
  const author = { name: "Ben", email: "ben@example.com" }
  let shell: ShellBox
  beforeAll(async () => {
    shell = await openShellBox()
  })
  afterAll(() => shell.clear())

  it("lands repeatedly, with a real git", async () => {
    const { box } = shell
    const { signal } = new AbortController()
    const pack = packWorld.code.pack(packWorld.company.companyId, packWorld.first, signal)
    expect(
      await checkOutInBox(box, { pack, branch: "main", tip: packWorld.first, identity: null }),
    ).toBeNull()
    let base = packWorld.first
    for (const text of ["one\n", "two\n"]) {
      await writeBoxFile(box, "worked/on", Buffer.from(text))
      const out = await commitInBox(box, { branch: "main", base, message: text, author })
      if (out.outcome !== "commit") throw new Error(`nothing came out: ${JSON.stringify(out)}`)
      expect(await packWorld.receive(out.pack, { tip: out.tip })).toEqual({
        pushed: true,
        text: "",
      })
      expect(await packWorld.tips()).toEqual({ main: out.tip })
      base = out.tip
    }
    expect(await packWorld.laterFacts()).toEqual([
      "PushAccepted",
      "PushCompleted",
      "PushAccepted",
      "PushCompleted",
    ])
  })
})
