/** What a push may not do to the protected core, nor to the default branch. */
import { beforeAll, beforeEach, describe, expect, it } from "vitest"
import type { Company } from "../support/world.ts"
import { makeCompany, ownWorld } from "../support/world.ts"
import type { PretendedCommit } from "./pretended.ts"
import { createRepository, judged, objectId, pretendPush } from "./pretended.ts"

const world = await ownWorld("settings")
let company: Company
beforeEach(async () => {
  company = await makeCompany(world)
  await createRepository(world, company)
})

const folder = (name: string, id: string) => ({ name, mode: "40000", id })
const file = (name: string, mode = "100644") => ({ name, mode, id: objectId("f") })
const inSrc = [folder("src", objectId("5"))]
const sealed = (tree_: string) => ({ root: inSrc, src: [folder("sealed", tree_)] })

describe("the protected core", () => {
  const official = objectId("e1")
  beforeAll(async () => {
    for (const [version, tree_] of [
      ["1.0.0", official] as const,
      ["2.0.0", objectId("e2")] as const,
    ]) {
      await world.operate("release publish", { version, notes: "n", channel: "stable" })
      await world.operate("release seal", { version, tree: tree_ })
    }
  })
  const first = { id: objectId("1"), ...sealed(official) }
  const judge = (...commits: readonly PretendedCommit[]) =>
    judged(world, company, pretendPush({ commits }))

  it("is taken as releases have it, and may be absent where it never was", async () => {
    expect(
      (await judge(first, { id: objectId("2"), parents: [first.id], ...sealed(objectId("e2")) }))
        .ok,
    ).toBe(true)
    expect((await judge({ id: objectId("1"), root: [file("README.md")] })).ok).toBe(true)
    expect((await judge({ id: objectId("1") })).ok).toBe(true)
  })

  it("is refused where a commit in the middle changes it, though the last has it again", async () => {
    const middle = { id: objectId("2"), parents: [first.id], ...sealed(objectId("bad")) }
    const last = { id: objectId("3"), parents: [middle.id], ...sealed(official) }
    const { text } = await judge(first, middle, last)
    expect(text).toContain(`  commit ${"0".repeat(12)}: src/sealed: it differs from every official`)
  })

  it("is refused where it was taken out, of a parent that was there before too", async () => {
    const old = { ...first, isOld: true } as const
    const without = { id: objectId("2"), parents: [old.id], root: [file("README.md")] }
    expect((await judge(old, without)).text).toContain("src/sealed: it was taken out")
    const restored = { id: objectId("3"), parents: [without.id], ...sealed(official) }
    expect((await judge(old, without, restored)).ok).toBe(false)
  })

  it.each([
    ["a link", { root: inSrc, src: [file("sealed", "120000")] }],
    ["a link above it", { root: [file("src", "120000")] }],
    ["another repository", { root: inSrc, src: [file("sealed", "160000")] }],
    ["Sealed beside it", { root: inSrc, src: [folder("Sealed", "x"), folder("sealed", official)] }],
    ["SRC beside it", { root: [folder("SRC", "x"), ...inSrc], src: [folder("sealed", official)] }],
  ])("is refused as %s", async (_what, folders) => {
    expect((await judge({ id: objectId("1"), ...folders })).ok).toBe(false)
  })
})

describe("the default branch", () => {
  const ref = "refs/heads/main"
  it("is neither deleted nor forced; other branches are", async () => {
    const moved = { old: objectId(1), new: objectId(2) }
    const forced = (name: string) =>
      judged(world, company, pretendPush({ updates: [{ ref: name, ...moved }], isForced: true }))
    const deleted = (name: string) =>
      judged(world, company, pretendPush({ updates: [{ ref: name, old: objectId(1), new: null }] }))
    expect((await forced(ref)).text).toContain("cannot be forced")
    expect((await deleted(ref)).text).toContain("cannot be deleted")
    expect([await forced("refs/heads/x"), await deleted("refs/heads/x")]).toMatchObject([
      { ok: true },
      { ok: true },
    ])
    const usual = pretendPush({ updates: [{ ref, ...moved }] })
    expect((await judged(world, company, usual)).ok).toBe(true)
  })
})
