import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  MOST_REFS,
  deletesDefault,
  firstBranch,
  movedDefault,
  refFaults,
} from "../../domain/code/ref-rules.ts"

const A = "a".repeat(40)
const B = "b".repeat(40)
const wanting = (ref: string) => ({ ref, old: null, new: A })

/** A rule of names: whether one is taken. */
type Takes = (ref: string) => boolean
const takes: Takes = (ref) => refFaults([wanting(ref)]).length === 0

/** What must not be taken, said another way than the rule says it. */
function brokenBy(rule: Takes, ref: string): string | null {
  if (!rule(ref)) return null
  const [refs, space, ...rest] = ref.split("/")
  const name = rest.join("/")
  if (refs !== "refs" || (space !== "heads" && space !== "tags") || name === "") return "space"
  if (space === "heads" && name.toLowerCase() === "head") return "HEAD"
  if (name[0] === "-") return "dash"
  if (Buffer.byteLength(ref) > 200) return "length"
  return [...ref].some((one) => one < " " || one === "\u007f") ? "control" : null
}

const word = fc.constantFrom("main", "HEAD", "head", "-x", "-", "a\nb", "é", "😀", "", "x/y", "v1")
const space = fc.constantFrom(
  "refs/heads/",
  "refs/tags/",
  "refs/",
  "refs/meta/",
  "",
  "refs/headsx/",
)
const ref = fc
  .tuple(space, word, fc.constantFrom("", "x".repeat(180), "é".repeat(93), "😀".repeat(47)))
  .map(([start, name, end]) => `${start}${name}${end}`)

describe("names of refs", () => {
  it("are taken where nothing is wrong with them, and nowhere else", () => {
    let taken = 0
    fc.assert(
      fc.property(ref, (one) => {
        if (takes(one)) taken += 1
        expect(brokenBy(takes, one)).toBeNull()
      }),
      { numRuns: 500 },
    )
    expect(taken).toBeGreaterThan(20)
  })

  it.each<[string, Takes]>([
    ["that takes HEAD", (one) => takes(one) || one === "refs/heads/HEAD"],
    ["that counts characters", (one) => takes(one) || /^refs\/tags\/é+$/.test(one)],
    ["that takes any space", (one) => takes(one.replace(/^refs\/meta\//, "refs/heads/"))],
  ])("by a rule %s are seen to be wrong", (_what, faulty) => {
    const samples = [...fc.sample(ref, 2_000), "refs/heads/HEAD", `refs/tags/${"é".repeat(96)}`]
    const wrong = (rule: Takes) => samples.filter((one) => brokenBy(rule, one) !== null)
    expect(wrong(takes)).toEqual([])
    expect(wrong(faulty)).not.toEqual([])
  })

  it.each([
    ["refs/replace/x", /Only branches/],
    ["HEAD", /Only branches/],
    ["refs/heads/", /Only branches/],
    ["refs/heads/HEAD", /HEAD/],
    ["refs/heads/Head", /HEAD/],
    ["refs/heads/-d", /dash/],
    ["refs/tags/a\u001b[2J", /control/],
    [`refs/heads/caf${Buffer.of(0xe9).toString()}`, /UTF-8/],
    [`refs/heads/${"x".repeat(190)}`, /200 bytes/],
  ])("%j is refused", (name, says) => {
    expect(refFaults([wanting(name)])).toEqual([{ ref: name, says: expect.stringMatching(says) }])
  })

  it("are taken as people write them", () => {
    const names = [
      "refs/heads/main",
      "refs/heads/feature/ünïcode-x",
      "refs/tags/HEAD",
      "refs/tags/v1",
    ]
    expect(names.filter((one) => !takes(one))).toEqual([])
    expect(takes(`refs/heads/${"x".repeat(189)}`)).toBe(true)
  })
})

describe("numbers of refs", () => {
  it("let 200 updates pass and refuse the next", () => {
    const all = Array.from({ length: 201 }, (_, i) => wanting(`refs/heads/b${i}`))
    expect(refFaults(all.slice(1))).toEqual([])
    expect(refFaults(all)).toEqual([{ ref: null, says: expect.stringContaining("201") }])
    expect(MOST_REFS).toBe(5_000)
  })
})

describe("the default branch", () => {
  it("is known to be deleted or moved, and nothing else is", () => {
    const trunk = "refs/heads/trunk"
    expect(deletesDefault([{ ref: trunk, old: A, new: null }], trunk)).toBe(true)
    expect(deletesDefault([{ ref: "refs/heads/main", old: A, new: null }], trunk)).toBe(false)
    expect(movedDefault([{ ref: trunk, old: A, new: B }], trunk)).toEqual({ old: A, new: B })
    expect(movedDefault([{ ref: trunk, old: null, new: B }], trunk)).toBeNull()
    expect(movedDefault([{ ref: "refs/heads/main", old: A, new: B }], trunk)).toBeNull()
  })

  it.each([
    [["refs/heads/topic", "refs/heads/main"], "refs/heads/main"],
    [["refs/heads/develop", "refs/heads/master"], "refs/heads/master"],
    [["refs/heads/feature", "refs/heads/trunk"], "refs/heads/trunk"],
    [["refs/tags/main", "refs/heads/work", "refs/heads/other"], "refs/heads/work"],
    [["refs/tags/v1"], null],
    [[], null],
  ])("of the first refs %j is %j", (refs, first) => {
    expect(firstBranch(refs)).toBe(first)
  })
})
