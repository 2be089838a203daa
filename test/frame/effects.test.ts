/** The one way of everything that is done outside: act, ask, end, by a provider that can do anything. */
import { beforeEach, describe, expect, it } from "vitest"
import { effect } from "../../src/frame/effects/effect.ts"
import type { Reaction } from "../../src/frame/effects/reaction.ts"
import type { Answer } from "./pretended-effect.ts"
import {
  BEGUN,
  HOUR,
  MINUTE,
  later,
  perform,
  ports,
  reset,
  scene,
  silent,
  spec,
  unavailable,
} from "./pretended-effect.ts"

beforeEach(reset)

const [performing, askingAbout] = effect<{ begunAt: number }, Answer>({
  ...spec,
  askKind: "ask-thing",
  askSubject: () => "apart",
}) as readonly [Reaction, Reaction]
const [onlyAsked] = effect<{ begunAt: number }, Answer>({ ...spec, act: null }) as [Reaction]

describe("what is to be done", () => {
  it("is written down as handed over before the provider is called, and ended", async () => {
    expect(await perform(performing)).toEqual({ result: "done" })
    expect(scene.done).toEqual(["hand over", "act", "end: made"])
  })

  it("is not done where it has ended, and left to an operator where nobody knows it", async () => {
    scene.standing = "ended"
    expect(await perform(performing)).toEqual({ result: "done" })
    scene.standing = "not there"
    const reason = "nobody knows this thing"
    expect(await perform(performing)).toEqual({ result: "park", reason })
    expect(scene.done).toEqual([])
  })

  it("is tried again where the provider did nothing, as if it had not been handed over", async () => {
    scene.acting = unavailable
    const reason = "the provider is not available"
    const retry = { result: "retry", afterMs: 500, reason, isUndone: true }
    expect(await perform(performing)).toEqual(retry)
    scene.now = BEGUN + 72 * HOUR
    expect(await perform(performing)).toEqual(later(scene.now))
  })

  it("is asked about from a minute on where the provider was silent, and never done again", async () => {
    scene.acting = silent
    expect(await perform(performing)).toEqual(later(BEGUN + MINUTE))
  })

  it("is asked about again where it has come to nothing yet", async () => {
    scene.acting = async () => "under way"
    expect(await perform(performing)).toEqual(later(BEGUN + MINUTE))
  })
})

describe("what is another process's by now", () => {
  it("is let go before the provider is called", async () => {
    scene.isOwn = false
    expect(await perform(performing)).toEqual({ result: "let go" })
    expect(scene.done).toEqual(["hand over"])
  })

  it("is not even handed over where that is known", async () => {
    const signal = AbortSignal.abort()
    expect(await perform(performing, { signal })).toEqual({ result: "let go" })
    expect(scene.done).toEqual([])
  })

  it("is let go where this was cut off until its row may have been lost", async () => {
    scene.handOverMs = 60_000
    const letGo = { result: "let go" }
    expect(await perform(performing)).toEqual({ ...letGo, isUndone: true })
    scene.asking = async () => "unknown"
    scene.isRepeatable = true
    expect(await perform(performing, { isHandedOver: true })).toEqual(letGo)
    expect(scene.done).toEqual(["hand over", "ask", "hand over"])
  })
})

describe("what was handed over by a process that is gone", () => {
  const handedOver = { isHandedOver: true }

  it("is asked about first, and ends as the provider says", async () => {
    scene.asking = async () => "refused"
    expect(await perform(performing, handedOver)).toEqual({ result: "done" })
    expect(scene.done).toEqual(["ask", "end: refused"])
  })

  it("is done again where the provider does not know it and takes a name once", async () => {
    scene.isRepeatable = true
    expect(await perform(performing, handedOver)).toEqual({ result: "done" })
    expect(scene.done).toEqual(["ask", "hand over", "act", "end: made"])
  })

  it.for([
    ["does not know it and would do it twice", () => Promise.resolve("unknown" as const)],
    ["is silent", silent],
    ["is not available", unavailable],
  ] as const)("is only asked about where the provider %s", async ([, answer]) => {
    scene.asking = answer
    expect(await perform(performing, handedOver)).toEqual(later(BEGUN + MINUTE))
    expect(scene.done).toEqual(["ask"])
  })
})

describe("what is asked about", () => {
  it.for([
    [1, 4 * MINUTE],
    [5, 5 * MINUTE],
  ])("after %i minutes and still unknown is asked about again", async ([minutes, waitMs]) => {
    scene.now = BEGUN + (minutes ?? 0) * MINUTE
    expect(await perform(askingAbout)).toEqual({
      result: "later",
      dueAt: scene.now + (waitMs ?? 0),
    })
  })

  it("ends as never got where it is unknown after ten minutes", async () => {
    scene.now = BEGUN + 10 * MINUTE
    expect(await perform(askingAbout)).toEqual({ result: "done" })
    expect(scene.done).toEqual(["ask", "end: never got it"])
  })

  it("is asked about for three days where the provider says nothing, then parked", async () => {
    scene.asking = silent
    for (const [age, next] of [
      [MINUTE, 5 * MINUTE],
      [5 * MINUTE, 30 * MINUTE],
      [30 * MINUTE, 30 * MINUTE + HOUR],
      [71.5 * HOUR, 72 * HOUR],
    ] as const) {
      scene.now = BEGUN + age
      expect(await perform(askingAbout)).toEqual({ result: "later", dueAt: BEGUN + next })
    }
    scene.now = BEGUN + 72 * HOUR
    const reason = "the provider has been silent about this thing for 72 hours"
    expect(await perform(askingAbout)).toEqual({ result: "park", reason })
  })

  it("by whoever cannot do it is not asked about before its first time", async () => {
    scene.now = BEGUN + 1
    expect(await perform(onlyAsked)).toEqual({ result: "later", dueAt: BEGUN + MINUTE })
    expect(scene.done).toEqual([])
    scene.now = BEGUN + MINUTE
    scene.asking = async () => "made"
    expect(await perform(onlyAsked, { isHandedOver: true })).toEqual({ result: "done" })
    expect(scene.done).toEqual(["ask", "end: made"])
  })
})

it("what is given up ends by its word", async () => {
  const { giveUp } = performing
  if (typeof giveUp !== "function") expect.unreachable("it can be given up")
  const work = { workId: 1, kind: "do-thing", name: "a", subject: "a", companyId: "co_a" } as const
  const parked = { ...work, payload: { begunAt: BEGUN }, parked: "a test" }
  const cause = { command: "c", actor: null, keyId: null, personId: null, reason: null }
  expect(await giveUp(ports, parked, cause)).toBeNull()
  expect(scene.done).toEqual(["end: given up"])
})
