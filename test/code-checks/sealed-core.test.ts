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
  it("is found when it is unambiguous", () => {
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
  ])("is not %s", (_what, mode) => {
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
  ])("cannot be shadowed by %j", (name) => {
    for (const entries of [[folder("sealed", "r1"), folder(name)], [file(name)]]) {
      expect(protectedCoreOf(entries)).toMatchObject({ kind: "fault", path: `src/${name}` })
    }
  })

  it("cannot be shadowed by a sibling of its parent folder", () => {
    expect(srcFolderOf([folder("src"), folder("Src")])).toMatchObject({
      kind: "fault",
      path: "Src",
    })
    expect(srcFolderOf([file("src\\sealed")])).toMatchObject({ kind: "fault" })
  })
})

/** A commit of a history: its core, and the indexes of its parents. */
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

/** A rule for one commit: whether it is accepted. */
type Accepts = (core: ProtectedCore, parents: readonly ProtectedCore[]) => boolean
const accepts: Accepts = (one, parents) => protectedCoreFault(one, parents, OFFICIAL) === null

/** Indexes of the commits with a wrong core in a history that the rule accepts. */
function wrongIn(rule: Accepts, all: readonly Commit[]): readonly number[] | "refused" {
  const coreOf = (i: number) => (all[i] as Commit).core
  const isAccepted = all.every((one) => rule(one.core, one.parents.map(coreOf)))
  if (!isAccepted) return "refused"
  const hasOne = (i: number): boolean => {
    const { core: own, parents } = all[i] as Commit
    return own.kind === "tree" || parents.some(hasOne)
  }
  return all.flatMap(({ core: own, parents }, i) => {
    const isRight =
      own.kind === "tree" ? OFFICIAL.has(own.id) : own.kind === "absent" && !parents.some(hasOne)
    return isRight ? [] : [i]
  })
}

describe("the rule of the core", () => {
  it("holds in every commit of an accepted history, and rejects no valid history", () => {
    const seen = { accepted: 0, refused: 0 }
    fc.assert(
      fc.property(history, (all) => {
        const wrong = wrongIn(accepts, all)
        seen[wrong === "refused" ? "refused" : "accepted"] += 1
        if (wrong !== "refused") expect(wrong).toEqual([])
        else expect(wrongIn(() => true, all)).not.toEqual([])
      }),
      { numRuns: 1_000 },
    )
    expect(Math.min(seen.accepted, seen.refused)).toBeGreaterThan(50)
  })

  it.each<[string, Accepts]>([
    ["reads only the first parent", (one, [first]) => accepts(one, first ? [first] : [])],
    ["reads no parent", (one) => accepts(one, [])],
    ["accepts any tree", (one, all) => one.kind === "tree" || accepts(one, all)],
    ["accepts a shadowing entry", (one, all) => one.kind === "fault" || accepts(one, all)],
  ])("is broken by a rule that %s", (_what, faulty) => {
    // The seed is fixed: whether a fault is caught must not depend on luck.
    const samples = fc.sample(history, { seed: 20_261_123, numRuns: 10_000 })
    const isBroken = (rule: Accepts) =>
      samples.some((all) => {
        const wrong = wrongIn(rule, all)
        return wrong !== "refused" && wrong.length > 0
      })
    expect(isBroken(accepts)).toBe(false)
    expect(isBroken(faulty)).toBe(true)
  })
})
