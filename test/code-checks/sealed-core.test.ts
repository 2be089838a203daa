import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { Core } from "../../domain/code/sealed-core.ts"
import { coreFault, coreIn, srcIn } from "../../domain/code/sealed-core.ts"

const OFFICIAL = new Set(["r1", "r2"])
const folder = (name: string, id = "t") => ({ name, mode: "40000", id })
const file = (name: string, mode = "100644") => ({ name, mode, id: "b" })

describe("the folder of the core", () => {
  it("is found where it stands alone", () => {
    expect(srcIn([file("README.md"), folder("src", "s"), folder("test")])).toEqual({
      is: "tree",
      id: "s",
    })
    expect(coreIn([folder("sealed", "r1"), file("sealed.ts"), folder("unsealed")])).toEqual({
      is: "tree",
      id: "r1",
    })
    expect([srcIn(null), srcIn([]), coreIn(null), coreIn([folder("other")])]).toEqual(
      Array.from({ length: 4 }, () => ({ is: "absent" })),
    )
  })

  it.each([
    ["a link", "120000"],
    ["a file", "100644"],
    ["another repository", "160000"],
  ])("is no %s", (_what, mode) => {
    expect(srcIn([file("src", mode)])).toMatchObject({ is: "fault", path: "src" })
    expect(coreIn([file("sealed", mode)])).toMatchObject({ is: "fault", path: "src/sealed" })
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
      expect(coreIn(beside)).toMatchObject({ is: "fault", path: `src/${name}` })
    }
  })

  it("has nothing over the folder that it is in", () => {
    expect(srcIn([folder("src"), folder("Src")])).toMatchObject({ is: "fault", path: "Src" })
    expect(srcIn([file("src\\sealed")])).toMatchObject({ is: "fault" })
  })
})

/** A history: each commit's core, and which of those before it are its parents. */
interface Commit {
  readonly core: Core
  readonly parents: readonly number[]
}

const core = fc.constantFrom<Core[]>(
  { is: "absent" },
  { is: "absent" },
  { is: "tree", id: "r1" },
  { is: "tree", id: "r2" },
  { is: "tree", id: "strange" },
  { is: "fault", path: "src/Sealed", says: "no" },
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
type Takes = (core: Core, parents: readonly Core[]) => boolean
const takes: Takes = (one, parents) => coreFault(one, parents, OFFICIAL) === null

/** The commits of a history that was taken whole in which the core is not what it must be. */
function wrongIn(rule: Takes, all: readonly Commit[]): readonly number[] | "refused" {
  const coreOf = (i: number) => (all[i] as Commit).core
  const isTaken = all.every((one) => rule(one.core, one.parents.map(coreOf)))
  if (!isTaken) return "refused"
  const hadOne = (i: number): boolean => {
    const { core: own, parents } = all[i] as Commit
    return own.is === "tree" || parents.some(hadOne)
  }
  return all.flatMap(({ core: own, parents }, i) => {
    const isRight =
      own.is === "tree" ? OFFICIAL.has(own.id) : own.is === "absent" && !parents.some(hadOne)
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
    ["takes any tree where there was none", (one, all) => one.is === "tree" || takes(one, all)],
    ["takes what lies over it", (one, all) => one.is === "fault" || takes(one, all)],
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
