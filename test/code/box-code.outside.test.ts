/** How packs of boxes are judged, and the code that a box begins with. */
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

const at = await openPackWorld(await ownWorld("settings"))
beforeEach(() => at.renew())

describe("what every push is judged by", () => {
  it("refuses a secret, and writes that down", async () => {
    const tip = await at.here.desk.commit(COPY_FOLDER, "key", `${SAMPLE_SECRETS["github"]}\n`)
    const pack = await at.packFrom(at.first, tip)
    await at.git("reset", "--quiet", "--hard", at.second)
    const { pushed, text } = await at.take(pack, { tip })
    expect([pushed, text]).toEqual([false, expect.stringContaining("key, line 1: github")])
    await at.expectNothing(["PushRefused"])
  })

  it("refuses another core than an official one, and writes that down", async () => {
    const tip = await at.here.desk.commit(COPY_FOLDER, "src/sealed/core.ts", "mine\n")
    const pack = await at.packFrom(at.first, tip)
    await at.git("reset", "--quiet", "--hard", at.second)
    const { pushed, text } = await at.take(pack, { tip })
    expect([pushed, text]).toEqual([false, expect.stringContaining("protected core")])
    await at.expectNothing(["PushRefused"])
  })

  it("refuses a key that was switched off while so much was sent", async () => {
    const { companyId, keyId } = at.company
    const bytes = await at.packFrom(at.first, at.second)
    const slowly = (async function* () {
      yield bytes.subarray(0, 20)
      await at.here.world.operate("key delete", { company: companyId, keyId })
      yield bytes.subarray(20)
    })()
    expect(await at.take(slowly)).toMatchObject({ pushed: false })
    await at.expectNothing()
  })

  it("refuses a key that was never granted what its route needs", async () => {
    const { companyId, ownerId: person } = at.company
    at.company = {
      ...at.company,
      ...(await makeKey(at.here.world, { companyId }, { person, operations: ["code.push"] })),
    }
    const { pushed, text } = await at.take(await at.packFrom(at.first, at.second))
    expect([pushed, text]).toEqual([
      false,
      expect.stringContaining("no permission for sandbox.push"),
    ])
    await at.expectNothing()
  })

  it("takes nothing for who does not wait any more", async () => {
    const gone = AbortSignal.abort()
    const taken = await at.take(await at.packFrom(at.first, at.second), { signal: gone })
    expect(taken).toMatchObject({
      pushed: false,
      text: expect.stringContaining("nothing was changed"),
    })
    await at.expectNothing()
  })
})

describe("the code that a box begins with", () => {
  it("is found by its branches, and packed by a commit", async () => {
    await at.here.desk.right(
      ["push", at.here.addressOf(at.company), `${at.second}:refs/heads/topic`],
      {
        folder: COPY_FOLDER,
      },
    )
    const found = await at.code.find(at.company.companyId)
    expect(found?.defaultBranch).toBe("main")
    expect([...(found?.tips ?? [])].toSorted()).toEqual([
      ["main", at.first],
      ["topic", at.second],
    ])
    const pieces: Uint8Array[] = []
    const signal = new AbortController().signal
    for await (const piece of at.code.pack(at.company.companyId, at.second, signal))
      pieces.push(piece)
    const into = `into-${at.company.companyId}`
    await at.here.desk.right(["init", "--quiet", into])
    const input = Buffer.concat(pieces)
    await at.here.desk.right(["index-pack", "--stdin", "--strict"], { folder: into, input })
    expect(await at.here.desk.right(["rev-list", at.second], { folder: into })).toBe(
      `${at.second}\n${at.first}`,
    )
    expect(at.here.world.ports.packSlots.count()).toMatchObject({ out: 0 })
  })

  it("is given up by who stops reading, and takes no place then", async () => {
    const signal = new AbortController().signal
    for await (const piece of at.code.pack(at.company.companyId, at.first, signal)) {
      expect(piece.length).toBeGreaterThan(0)
      expect(at.here.world.ports.packSlots.count()).toMatchObject({ out: 1 })
      break
    }
    expect(at.here.world.ports.packSlots.count()).toMatchObject({ out: 0 })
  })

  it("is nothing where there is no repository, and unavailable where there is no git", async () => {
    const { companyId } = await makeCodeCompany(at.here.world, { repository: false })
    expect(await at.code.find(companyId)).toBeNull()
    const empty = await makeCodeCompany(at.here.world)
    expect(await at.code.find(empty.companyId)).toMatchObject({ tips: new Map() })
    await at.here.world.operate("simulator set", { name: "git", outcome: "unavailable", times: 1 })
    await expect(at.code.find(companyId)).rejects.toThrow(ProviderUnavailable)
  })
})

describe("code that goes into a box and comes back", () => {
  const author = { name: "Ben", email: "ben@example.com" }
  let shell: ShellBox
  beforeAll(async () => {
    shell = await openShellBox()
  })
  afterAll(() => shell.clear())

  it("is pushed with the real git, again and again", async () => {
    const { box } = shell
    const { signal } = new AbortController()
    const pack = at.code.pack(at.company.companyId, at.first, signal)
    expect(
      await checkOutInBox(box, { pack, branch: "main", tip: at.first, identity: null }),
    ).toBeNull()
    let base = at.first
    for (const text of ["one\n", "two\n"]) {
      await writeBoxFile(box, "worked/on", Buffer.from(text))
      const out = await commitInBox(box, { branch: "main", base, message: text, author })
      if (out.outcome !== "commit") throw new Error(`nothing came out: ${JSON.stringify(out)}`)
      expect(await at.take(out.pack, { tip: out.tip })).toEqual({ pushed: true, text: "" })
      expect(await at.tips()).toEqual({ main: out.tip })
      base = out.tip
    }
    expect(await at.told()).toEqual([
      "PushAccepted",
      "PushCompleted",
      "PushAccepted",
      "PushCompleted",
    ])
  })
})
