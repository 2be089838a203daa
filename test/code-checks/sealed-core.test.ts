import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { ProtectedCore } from "../../domain/code/protected-core.ts"
import {
  protectedCoreFault,
  protectedCoreOf,
  srcFolderOf,
} from "../../domain/code/protected-core.ts"

const OFFICIAL = new Set(["r1", "r2"])
const folder = (name: string, id = "t") => ({ name, mode: "40000", id })
const file = (name: string, mode = "100644") => ({ name, mode, id: "b" })

describe("the folder of the core", () => {
  it("is found where it stands alone", () => {
    expect(srcFolderOf([file("README.md"), folder("src", "s"), folder("test")])).toEqual({
      kind: "tree",
      id: "s",
    })
    expect(
      protectedCoreOf([folder("sealed", "r1"), file("sealed.ts"), folder("unsealed")]),
    ).toEqual({
      kind: "tree",
      id: "r1",
    })
    expect([
      srcFolderOf(null),
      srcFolderOf([]),
      protectedCoreOf(null),
      protectedCoreOf([folder("other")]),
    ]).toEqual(Array.from({ length: 4 }, () => ({ kind: "absent" })))
  })

  it.each([
    ["a link", "120000"],
    ["a file", "100644"],
    ["another repository", "160000"],
  ])("is no %s", (_what, mode) => {
    expect(srcFolderOf([file("src", mode)])).toMatchObject({ kind: "fault", path: "src" })
    expect(protectedCoreOf([file("sealed", mode)])).toMatchObject({
      kind: "fault",
      path: "src/sealed",
    })
  })

  it.each([
    "Sealed",
    "SEALED",
    "ſealed",
    "sealed.",
    "sealed ",
    "sea\u200bled",
    "sealed\\x.ts",
    "sealed::$INDEX_ALLOCATION",
  ])("has nothing over it: %j", (name) => {
    for (const beside of [[folder("sealed", "r1"), folder(name)], [file(name)]]) {
      expect(protectedCoreOf(beside)).toMatchObject({ kind: "fault", path: `src/${name}` })
    }
  })

  it("has nothing over the folder that it is in", () => {
    expect(srcFolderOf([folder("src"), folder("Src")])).toMatchObject({
      kind: "fault",
      path: "Src",
    })
    expect(srcFolderOf([file("src\\sealed")])).toMatchObject({ kind: "fault" })
  })
})

/** A history: each commit's core, and which of those before it are its parents. */
interface Commit {
  readonly core: ProtectedCore
  readonly parents: readonly number[]
}

const core = fc.constantFrom<ProtectedCore[]>(
  { kind: "absent" },
  { kind: "absent" },
  { kind: "tree", id: "r1" },
  { kind: "tree", id: "r2" },
  { kind: "tree", id: "strange" },
  { kind: "fault", path: "src/Sealed", reason: "no" },
)
const history = fc
  .array(fc.tuple(core, fc.array(fc.nat(5), { maxLength: 2 })), { minLength: 1, maxLength: 6 })
  .map((all) =>
    all.map(([one, parents], i): Commit => ({
      core: one,
      parents: parents.filter((parent) => parent < i),
    })),
  )

/** A rule of one commit: whether it is taken. */
type Takes = (core: ProtectedCore, parents: readonly ProtectedCore[]) => boolean
const takes: Takes = (one, parents) => protectedCoreFault(one, parents, OFFICIAL) === null

/** The commits of a history that was taken whole in which the core is not what it must be. */
function wrongIn(rule: Takes, all: readonly Commit[]): readonly number[] | "refused" {
  const coreOf = (i: number) => (all[i] as Commit).core
  const isTaken = all.every((one) => rule(one.core, one.parents.map(coreOf)))
  if (!isTaken) return "refused"
  const hadOne = (i: number): boolean => {
    const { core: own, parents } = all[i] as Commit
    return own.kind === "tree" || parents.some(hadOne)
  }
  return all.flatMap(({ core: own, parents }, i) => {
    const isRight =
      own.kind === "tree" ? OFFICIAL.has(own.id) : own.kind === "absent" && !parents.some(hadOne)
    return isRight ? [] : [i]
  })
}

describe("the law of the core", () => {
  it("holds in every commit of a history that is taken, and refuses no other", () => {
    const seen = { taken: 0, refused: 0 }
    fc.assert(
      fc.property(history, (all) => {
        const wrong = wrongIn(takes, all)
        seen[wrong === "refused" ? "refused" : "taken"] += 1
        if (wrong !== "refused") expect(wrong).toEqual([])
        else expect(wrongIn(() => true, all)).not.toEqual([])
      }),
      { numRuns: 1_000 },
    )
    expect(Math.min(seen.taken, seen.refused)).toBeGreaterThan(50)
  })

  it.each<[string, Takes]>([
    ["looks at the first parent alone", (one, [first]) => takes(one, first ? [first] : [])],
    ["looks at no parent", (one) => takes(one, [])],
    ["takes any tree where there was none", (one, all) => one.kind === "tree" || takes(one, all)],
    ["takes what lies over it", (one, all) => one.kind === "fault" || takes(one, all)],
  ])("is seen to be broken by a rule that %s", (_what, faulty) => {
    // The seed is fixed: whether a fault is caught must not depend on luck.
    const samples = fc.sample(history, { seed: 20_261_123, numRuns: 10_000 })
    const isBroken = (rule: Takes) =>
      samples.some((all) => {
        const wrong = wrongIn(rule, all)
        return wrong !== "refused" && wrong.length > 0
      })
    expect(isBroken(takes)).toBe(false)
    expect(isBroken(faulty)).toBe(true)
  })
})
