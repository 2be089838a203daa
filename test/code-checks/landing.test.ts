/**
 * Pushes that move the refs of one repository in every order, break off, and are reconciled at any time: in the end
 * the facts agree with the refs, and no push counts as landed that did not land.
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

interface Step {
  readonly does: "accept" | "move" | "break" | "read" | "end" | "external"
  readonly push: number
}

const step: fc.Arbitrary<Step> = fc.record({
  does: fc.constantFrom(
    "accept",
    "accept",
    "move",
    "move",
    "read",
    "end",
    "end",
    "break",
    "external",
  ),
  push: fc.nat(2),
})

interface PushProgress {
  readonly command: AcceptPush
  /** How many of its refs git has moved; null before it begins. */
  moved: number | null
  read: ReturnType<typeof reconcileCommand> | null
  ended: "PushCompleted" | "RefsReconciled" | null
}

type Rules = typeof codeDecider

function reconcileCommand(
  state: CodeState,
  tips: ReadonlyMap<string, string>,
  pushId: PushId | null,
) {
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

/** Runs steps; returns the fault at the end, or null. */
function play(rules: Rules, steps: readonly Step[]): string | null {
  let state = rules.initial()
  let version = 0
  const tips = new Map<string, string>()
  // The commits of each ref, in order, and the newest of them that is in the facts.
  const history = new Map<string, string[]>(TAGS.map((tag) => [tag, []]))
  const recorded = new Map<string, number>()
  let wentBack: string | null = null
  const move = (tag: string, id: string) => {
    tips.set(tag, id)
    history.get(tag)?.push(id)
  }
  const pushes = new Map<PushId, PushProgress>()
  const current = new Map<number, PushId>()
  const decide = (command: CodeCommand): readonly CodeEvent[] | null => {
    const decided = rules.decide(command, state, { at: 0 })
    if (isRefusal(decided)) return null
    for (const fact of decided) state = rules.evolve(state, fact)
    for (const [tag, id] of knownRefs(state, null).refs) {
      const index = history.get(tag)?.indexOf(id) ?? -1
      if (index < (recorded.get(tag) ?? 0)) wentBack ??= `${tag} went back to ${id}`
      recorded.set(tag, index)
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
    const found = decide(reconcileCommand(state, tips, pushId))
    if (found === null) throw new Error("a reconciliation of the newest version was refused")
    return found
  }
  decide({ type: "CreateRepository" })
  for (const { does, push } of steps) {
    const id = current.get(push)
    const one = id === undefined ? undefined : pushes.get(id)
    if (does === "external") {
      move(TAGS[push % 2] as string, newId())
    } else if (does === "accept" && (one === undefined || one.ended !== null)) {
      const names = push === 0 ? TAGS : [TAGS[push % 2] as string]
      const updates = names.map((tag) => refUpdate(tag, tips.get(tag) ?? null, newId()))
      const pushId: PushId = `push_${pushes.size}`
      const command = acceptPushCommand(pushId, updates)
      pushes.set(pushId, { command, moved: null, read: null, ended: null })
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
    } else if (does === "read") one.read = reconcileCommand(state, tips, id)
    else if (does === "end" && one.read !== null) {
      // The refs that were read may be outdated: then they are read again.
      if (decide(one.read) === null) end(id)
      one.read = null
    }
  }
  for (const [id, one] of pushes) if (one.ended === null) end(id)
  end(null)
  return wentBack ?? faultIn(state, tips, [...pushes.values()])
}

function faultIn(
  state: CodeState,
  tips: ReadonlyMap<string, string>,
  pushes: readonly PushProgress[],
): string | null {
  const sorted = (refs: ReadonlyMap<string, string>) => JSON.stringify([...refs].toSorted())
  const known = sorted(knownRefs(state, null).refs)
  if (known !== sorted(tips)) return `the facts have ${known}, the repository has ${sorted(tips)}`
  for (const { command, moved, ended } of pushes) {
    const isWhole = moved === command.updates.length
    if (ended === null) return `${command.pushId} has not ended`
    if (ended === "PushCompleted" && !isWhole) return `${command.pushId} did not land`
  }
  return null
}

const steps = fc.array(step, { minLength: 10, maxLength: 60 })

describe("the facts of pushes", () => {
  it("agree with the repository's refs in the end, in any order of steps", () => {
    fc.assert(
      fc.property(steps, (all) => {
        expect(play(codeDecider, all)).toBeNull()
      }),
      { numRuns: 2_000 },
    )
  })

  it.each<[string, Partial<Rules>]>([
    [
      "accept an outdated read of the refs",
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
      "count every push as landed",
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
      "ignore reconciled refs",
      {
        evolve: (state, fact) =>
          fact.type === "RefsReconciled" ? state : codeDecider.evolve(state, fact),
      },
    ],
  ])("disagree with the refs under rules that %s", (_what, wrong) => {
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

/** A rule of ref names: whether it accepts one. */
type Accepts = (ref: string) => boolean
const accepts: Accepts = (ref) => refFaults([wanting(ref)]).length === 0

/** Why a name that the rule accepts must be refused, written independently of the rule; null if it is valid. */
function faultOf(rule: Accepts, ref: string): string | null {
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
  it("are accepted only when they are valid", () => {
    let accepted = 0
    fc.assert(
      fc.property(ref, (one) => {
        if (accepts(one)) accepted += 1
        expect(faultOf(accepts, one)).toBeNull()
      }),
      { numRuns: 500 },
    )
    expect(accepted).toBeGreaterThan(20)
  })

  it.each<[string, Accepts]>([
    ["accepts HEAD", (one) => accepts(one) || one === "refs/heads/HEAD"],
    ["counts characters", (one) => accepts(one) || /^refs\/tags\/é+$/.test(one)],
    ["accepts any namespace", (one) => accepts(one.replace(/^refs\/meta\//, "refs/heads/"))],
  ])("expose a rule that %s", (_what, faulty) => {
    const samples = [...fc.sample(ref, 2_000), "refs/heads/HEAD", `refs/tags/${"é".repeat(96)}`]
    const wrong = (rule: Accepts) => samples.filter((one) => faultOf(rule, one) !== null)
    expect(wrong(accepts)).toEqual([])
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
  ])("%j is rejected", (name, says) => {
    expect(refFaults([wanting(name)])).toEqual([
      { ref: name, message: expect.stringMatching(says) },
    ])
  })

  it("are accepted in the forms that people use", () => {
    const names = [
      "refs/heads/main",
      "refs/heads/feature/ünïcode-x",
      "refs/tags/HEAD",
      "refs/tags/v1",
    ]
    expect(names.filter((one) => !accepts(one))).toEqual([])
    expect(accepts(`refs/heads/${"x".repeat(189)}`)).toBe(true)
  })
})

describe("a push", () => {
  it("may update 200 refs and no more", () => {
    const all = Array.from({ length: 201 }, (_, i) => wanting(`refs/heads/b${i}`))
    expect(refFaults(all.slice(1))).toEqual([])
    expect(refFaults(all)).toEqual([{ ref: null, message: expect.stringContaining("201") }])
    expect(MAX_REFS).toBe(5_000)
  })
})

describe("the default branch", () => {
  it("is deleted or moved only by updates of its own ref", () => {
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
  ])("chosen for the first refs %j is %j", (refs, first) => {
    expect(chooseDefaultBranch(refs)).toBe(first)
  })
})
