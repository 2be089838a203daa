/**
 * Pushes that move refs of one repository in every order, end on the way and are looked at at any time:
 * what the facts say in the end is what there is, and nobody is told that their push landed where it did not.
 */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { AcceptPush, CodeCommand } from "../../domain/code/code-commands.ts"
import type { Code } from "../../domain/code/code.ts"
import type { CodeEvent } from "../../domain/code/code-events.ts"
import { code } from "../../domain/code/code.ts"
import { differingRefs, knownRefs } from "../../domain/code/code-views.ts"
import type { PushId } from "../../domain/code/ids.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import { accept, update } from "./code-commands.ts"

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
  ended: "PushLanded" | "RefsFound" | null
}

type Rules = typeof code

function lookAt(state: Code, tips: ReadonlyMap<string, string>, pushId: PushId | null) {
  const known = knownRefs(state, pushId)
  const differing = differingRefs(known, tips).map((one) => ({ ...one, ref: null }))
  const ending = known.moving === null ? null : pushId
  return { type: "FindRefs" as const, pushId: ending, asOf: known.asOf, refs: differing }
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
      if (fact.type !== "PushLanded" && fact.type !== "RefsFound") continue
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
      const updates = names.map((tag) => update(tag, tips.get(tag) ?? null, newId()))
      const pushId: PushId = `push_${pushes.size}`
      const command = accept(pushId, updates)
      pushes.set(pushId, { command, moved: null, looked: null, ended: null })
      current.set(push, pushId)
      decide(command)
    } else if (one === undefined || id === undefined) continue
    else if ((does === "move" || does === "break") && one.moved === null) {
      one.moved = 0
      for (const { tag, old, new: wanted } of one.command.updates) {
        if ((tips.get(tag) ?? null) !== old || wanted === null) continue
        move(tag, wanted)
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
  state: Code,
  tips: ReadonlyMap<string, string>,
  pushes: readonly OnItsWay[],
): string | null {
  const sorted = (refs: ReadonlyMap<string, string>) => JSON.stringify([...refs].sort())
  const known = sorted(knownRefs(state, null).refs)
  if (known !== sorted(tips)) return `the facts say ${known}, and there is ${sorted(tips)}`
  for (const { command, moved, ended } of pushes) {
    const isWhole = moved === command.updates.length
    if (ended === null) return `${command.pushId} has not ended`
    if (ended === "PushLanded" && !isWhole) return `${command.pushId} did not land`
  }
  return null
}

const steps = fc.array(step, { minLength: 10, maxLength: 60 })

describe("pushes and what is found of them", () => {
  it("agree in the end with the refs there are, in whatever order things happen", () => {
    fc.assert(
      fc.property(steps, (all) => {
        expect(play(code, all)).toBeNull()
      }),
      { numRuns: 2_000 },
    )
  })

  it.each<[string, Partial<Rules>]>([
    [
      "takes what was looked at too early",
      {
        decide: (command, state, stamp) =>
          code.decide(
            command.type === "FindRefs"
              ? { ...command, asOf: knownRefs(state, null).asOf }
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
          const { pushId } = command.type === "FindRefs" ? command : { pushId: null }
          if (pushId === null || knownRefs(state, pushId).moving === null) {
            return code.decide(command, state, stamp)
          }
          return [{ type: "PushLanded", at: stamp.at, pushId }]
        },
      },
    ],
    [
      "keeps nothing of what was found",
      { evolve: (state, fact) => (fact.type === "RefsFound" ? state : code.evolve(state, fact)) },
    ],
  ])("are seen to disagree by rules that %s", (_what, wrong) => {
    const faulty = { ...code, ...wrong }
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
