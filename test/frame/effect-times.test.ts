/** How long what is done outside is tried and asked about, and what becomes of what nobody can be asked about. */
import { beforeEach, describe, expect, it } from "vitest"
import type { EffectTimes } from "../../src/frame/effects/ask-again.ts"
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

const [performing] = effect<{ begunAt: number }, Answer>({
  ...spec,
  askKind: "ask-thing",
  askSubject: () => "apart",
}) as readonly [Reaction, Reaction]
/** Of a provider that cannot be asked. */
const mute = effect<{ begunAt: number }, Answer>({ ...spec, ask: null })[0] as Reaction
/** Of times of its own. */
const times: EffectTimes = {
  unavailableForMs: 2 * MINUTE,
  askAfterMs: [2 * MINUTE, 7 * MINUTE],
  askEveryMs: 20 * MINUTE,
  unknownAfterMs: 3 * MINUTE,
  parkAfterMs: 90 * MINUTE,
}
const [hurrying, askingSoon] = effect<{ begunAt: number }, Answer>({
  ...spec,
  askKind: "ask-thing",
  askSubject: () => "apart",
  unavailable: "refused",
  times,
}) as readonly [Reaction, Reaction]

describe("what a provider is given that cannot be asked", () => {
  const handedOver = { isHandedOver: true }
  const unasked = {
    result: "park",
    reason: "the provider may have done this thing, said nothing, and cannot be asked",
  }
  beforeEach(() => {
    scene.isRepeatable = true
  })

  it("is the same once more where it was silent, and left to an operator then", async () => {
    scene.acting = silent
    expect(await perform(mute)).toEqual({ result: "later", dueAt: BEGUN + MINUTE })
    expect(await perform(mute, handedOver)).toEqual(unasked)
    expect(scene.done).toEqual(["hand over", "act", "hand over", "act"])
  })

  it("is not given again where it would be done twice", async () => {
    scene.isRepeatable = false
    scene.acting = silent
    expect(await perform(mute)).toEqual(unasked)
    expect(await perform(mute, handedOver)).toEqual(unasked)
    expect(scene.done).toEqual(["hand over", "act"])
  })

  it("ends as never got where it was not available for its time", async () => {
    scene.acting = unavailable
    scene.now = BEGUN + 72 * HOUR - 1
    expect(await perform(mute)).toMatchObject({ result: "retry", isUndone: true })
    scene.now = BEGUN + 72 * HOUR
    expect(await perform(mute)).toEqual({ result: "done" })
    expect(scene.done.at(-1)).toBe("end: never got it")
  })

  it("stays on its way where it was silent before and is not available now", async () => {
    scene.acting = unavailable
    const reason = "the provider is not available"
    const again = { result: "retry", afterMs: 500, reason }
    expect(await perform(mute, handedOver)).toStrictEqual(again)
    scene.acting = silent
    expect(await perform(mute, handedOver)).toEqual(unasked)
  })

  it("is left to an operator where it may have been done before its time was over", async () => {
    scene.acting = unavailable
    scene.now = BEGUN + 72 * HOUR
    expect(await perform(mute, handedOver)).toEqual(unasked)
    expect(scene.done).toEqual(["hand over", "act"])
  })

  it("is not given without end where it comes to nothing", async () => {
    scene.acting = async () => "under way"
    expect(await perform(mute)).toEqual({ result: "later", dueAt: BEGUN + MINUTE })
    expect(await perform(mute, handedOver)).toEqual(unasked)
  })
})

describe("an effect of its own times", () => {
  it("is tried for its time and ends then", async () => {
    scene.acting = unavailable
    scene.now = BEGUN + 2 * MINUTE - 1
    expect(await perform(hurrying)).toMatchObject({ result: "retry" })
    scene.now = BEGUN + 2 * MINUTE
    expect(await perform(hurrying)).toEqual({ result: "done" })
    expect(scene.done.at(-1)).toBe("end: refused")
  })

  it("is asked about instead where it may have been done before", async () => {
    scene.isRepeatable = true
    scene.acting = unavailable
    scene.now = BEGUN + 2 * MINUTE
    expect(await perform(hurrying, { isHandedOver: true })).toEqual(later(scene.now))
  })

  it("is asked about at its ages", async () => {
    scene.acting = silent
    expect(await perform(hurrying)).toEqual(later(BEGUN + 2 * MINUTE))
    scene.asking = silent
    for (const [age, next] of [
      [2, 7],
      [7, 27],
      [80, 90],
    ] as const) {
      scene.now = BEGUN + age * MINUTE
      expect(await perform(askingSoon)).toEqual({ result: "later", dueAt: BEGUN + next * MINUTE })
    }
  })

  it("ends as never got, or is left to an operator, after its times", async () => {
    scene.now = BEGUN + 3 * MINUTE
    expect(await perform(askingSoon)).toEqual({ result: "done" })
    expect(scene.done.at(-1)).toBe("end: never got it")
    scene.asking = silent
    scene.now = BEGUN + 90 * MINUTE
    const reason = "the provider has been silent about this thing for 90 minutes"
    expect(await perform(askingSoon)).toEqual({ result: "park", reason })
  })

  it("waits for an answer as long as it says, and for ten seconds else", async () => {
    const pauses: number[] = []
    const pacer = {
      elapsedMs: () => 0,
      pause: (ms: number) => {
        pauses.push(ms)
        return new Promise<void>(() => undefined)
      },
    }
    const building = effect<{ begunAt: number }, Answer>({ ...spec, withinMs: HOUR })[0] as Reaction
    scene.isRepeatable = true
    for (const one of [performing, building]) {
      await perform(one, { isHandedOver: true }, { ...ports, pacer })
    }
    expect(scene.done.filter((what) => what === "ask" || what === "act")).toHaveLength(4)
    expect(pauses).toEqual([10_000, 10_000, HOUR, HOUR])
  })
})
