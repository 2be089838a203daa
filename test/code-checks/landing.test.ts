/**
 * Pushes that move refs of one repository in every order, end on the way and are looked at at any time:
 * what the facts say in the end is what there is, and nobody is told that their push landed where it did not.
 */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { AcceptPush, CodeCommand } from "../../domain/code/code-commands.ts"
import type { CodeEvent, PushId } from "../../domain/code/code-events.ts"
import { differingRefs, knownRefs } from "../../domain/code/code-views.ts"
import type { CodeState } from "../../domain/code/code.ts"
import { codeDecider } from "../../domain/code/code.ts"
import {
  MAX_REFS,
  deletesDefaultBranch,
  chooseDefaultBranch,
  defaultBranchMove,
  refFaults,
} from "../../domain/code/ref-rules.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import { acceptPushCommand, refUpdate } from "./code-commands.ts"

const TAGS = ["main", "other"] as const

/** What happens next, to one of the pushes. */
interface Step {
  readonly does: "accept" | "move" | "break" | "look" | "end" | "strange"
  readonly push: number
}

const step: fc.Arbitrary<Step> = fc.record({
  does: fc.constantFrom(
    "accept",
    "accept",
    "move",
    "move",
    "look",
    "end",
    "end",
    "break",
    "strange",
  ),
  push: fc.nat(2),
})

/** How a push is doing. */
interface OnItsWay {
  readonly command: AcceptPush
  /** Of its refs, how many git has moved; null while it has not begun. */
  moved: number | null
  looked: ReturnType<typeof lookAt> | null
  ended: "PushCompleted" | "RefsReconciled" | null
}

type Rules = typeof codeDecider

function lookAt(state: CodeState, tips: ReadonlyMap<string, string>, pushId: PushId | null) {
  const known = knownRefs(state, pushId)
  const differing = differingRefs(known, tips).map((one) => ({ ...one, ref: null }))
  const ending = known.updatedRefHashes === null ? null : pushId
  return {
    type: "ReconcileRefs" as const,
    pushId: ending,
    readVersion: known.readVersion,
    refs: differing,
  }
}

/** Plays steps; what is wrong in the end, null where nothing is. */
function play(rules: Rules, steps: readonly Step[]): string | null {
  let state = rules.initial()
  let version = 0
  const tips = new Map<string, string>()
  // Where each ref has pointed, in order, and how far the facts have told of it.
  const history = new Map<string, string[]>(TAGS.map((tag) => [tag, []]))
  const told = new Map<string, number>()
  let wentBack: string | null = null
  const move = (tag: string, id: string) => {
    tips.set(tag, id)
    history.get(tag)?.push(id)
  }
  const pushes = new Map<PushId, OnItsWay>()
  const current = new Map<number, PushId>()
  const decide = (command: CodeCommand): readonly CodeEvent[] | null => {
    const decided = rules.decide(command, state, { at: 0 })
    if (isRefusal(decided)) return null
    for (const fact of decided) state = rules.evolve(state, fact)
    for (const [tag, id] of knownRefs(state, null).refs) {
      const place = history.get(tag)?.indexOf(id) ?? -1
      if (place < (told.get(tag) ?? 0)) wentBack ??= `${tag} went back to ${id}`
      told.set(tag, place)
    }
    for (const fact of decided) {
      if (fact.type !== "PushCompleted" && fact.type !== "RefsReconciled") continue
      const one = fact.pushId === null ? undefined : pushes.get(fact.pushId)
      if (one !== undefined) one.ended = fact.type
    }
    return decided
  }
  const newId = () => `${(version += 1)}`.padStart(40, "0")
  const end = (pushId: PushId | null) => {
    const found = decide(lookAt(state, tips, pushId))
    if (found === null) throw new Error("nothing came between")
    return found
  }
  decide({ type: "CreateRepository" })
  for (const { does, push } of steps) {
    const id = current.get(push)
    const one = id === undefined ? undefined : pushes.get(id)
    if (does === "strange") {
      move(TAGS[push % 2] as string, newId())
    } else if (does === "accept" && (one === undefined || one.ended !== null)) {
      const names = push === 0 ? TAGS : [TAGS[push % 2] as string]
      const updates = names.map((tag) => refUpdate(tag, tips.get(tag) ?? null, newId()))
      const pushId: PushId = `push_${pushes.size}`
      const command = acceptPushCommand(pushId, updates)
      pushes.set(pushId, { command, moved: null, looked: null, ended: null })
      current.set(push, pushId)
      decide(command)
    } else if (one === undefined || id === undefined) continue
    else if ((does === "move" || does === "break") && one.moved === null) {
      one.moved = 0
      for (const { refHash, old, new: wanted } of one.command.updates) {
        if ((tips.get(refHash) ?? null) !== old || wanted === null) continue
        move(refHash, wanted)
        one.moved += 1
        if (does === "break") break
      }
    } else if (does === "look") one.looked = lookAt(state, tips, id)
    else if (does === "end" && one.looked !== null) {
      // What was looked at may be old: then it is looked at again.
      if (decide(one.looked) === null) end(id)
      one.looked = null
    }
  }
  for (const [id, one] of pushes) if (one.ended === null) end(id)
  end(null)
  return wentBack ?? faultIn(state, tips, [...pushes.values()])
}

function faultIn(
  state: CodeState,
  tips: ReadonlyMap<string, string>,
  pushes: readonly OnItsWay[],
): string | null {
  const sorted = (refs: ReadonlyMap<string, string>) => JSON.stringify([...refs].toSorted())
  const known = sorted(knownRefs(state, null).refs)
  if (known !== sorted(tips)) return `the facts say ${known}, and there is ${sorted(tips)}`
  for (const { command, moved, ended } of pushes) {
    const isWhole = moved === command.updates.length
    if (ended === null) return `${command.pushId} has not ended`
    if (ended === "PushCompleted" && !isWhole) return `${command.pushId} did not land`
  }
  return null
}

const steps = fc.array(step, { minLength: 10, maxLength: 60 })

describe("pushes and what is found of them", () => {
  it("agree in the end with the refs there are, in whatever order things happen", () => {
    fc.assert(
      fc.property(steps, (all) => {
        expect(play(codeDecider, all)).toBeNull()
      }),
      { numRuns: 2_000 },
    )
  })

  it.each<[string, Partial<Rules>]>([
    [
      "takes what was looked at too early",
      {
        decide: (command, state, stamp) =>
          codeDecider.decide(
            command.type === "ReconcileRefs"
              ? { ...command, readVersion: knownRefs(state, null).readVersion }
              : command,
            state,
            stamp,
          ),
      },
    ],
    [
      "takes every push for landed",
      {
        decide: (command, state, stamp) => {
          const { pushId } = command.type === "ReconcileRefs" ? command : { pushId: null }
          if (pushId === null || knownRefs(state, pushId).updatedRefHashes === null) {
            return codeDecider.decide(command, state, stamp)
          }
          return [{ type: "PushCompleted", at: stamp.at, pushId }]
        },
      },
    ],
    [
      "keeps nothing of what was found",
      {
        evolve: (state, fact) =>
          fact.type === "RefsReconciled" ? state : codeDecider.evolve(state, fact),
      },
    ],
  ])("are seen to disagree by rules that %s", (_what, wrong) => {
    const faulty = { ...codeDecider, ...wrong }
    const faults = fc.sample(steps, { seed: 20_261_123, numRuns: 2_000 }).filter((all) => {
      try {
        return play(faulty, all) !== null
      } catch {
        return true
      }
    })
    expect(faults).not.toEqual([])
  })
})

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
    expect(refFaults([wanting(name)])).toEqual([
      { ref: name, message: expect.stringMatching(says) },
    ])
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
    expect(refFaults(all)).toEqual([{ ref: null, message: expect.stringContaining("201") }])
    expect(MAX_REFS).toBe(5_000)
  })
})

describe("the default branch", () => {
  it("is known to be deleted or moved, and nothing else is", () => {
    const trunk = "refs/heads/trunk"
    expect(deletesDefaultBranch([{ ref: trunk, old: A, new: null }], trunk)).toBe(true)
    expect(deletesDefaultBranch([{ ref: "refs/heads/main", old: A, new: null }], trunk)).toBe(false)
    expect(defaultBranchMove([{ ref: trunk, old: A, new: B }], trunk)).toEqual({ old: A, new: B })
    expect(defaultBranchMove([{ ref: trunk, old: null, new: B }], trunk)).toBeNull()
    expect(defaultBranchMove([{ ref: "refs/heads/main", old: A, new: B }], trunk)).toBeNull()
  })

  it.each([
    [["refs/heads/topic", "refs/heads/main"], "refs/heads/main"],
    [["refs/heads/develop", "refs/heads/master"], "refs/heads/master"],
    [["refs/heads/feature", "refs/heads/trunk"], "refs/heads/trunk"],
    [["refs/tags/main", "refs/heads/work", "refs/heads/other"], "refs/heads/work"],
    [["refs/tags/v1"], null],
    [[], null],
  ])("of the first refs %j is %j", (refs, first) => {
    expect(chooseDefaultBranch(refs)).toBe(first)
  })
})
