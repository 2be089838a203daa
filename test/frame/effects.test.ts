/** The one way of everything that is done outside: act, ask, end, by a provider that can do anything. */
import { beforeEach, describe, expect, it } from "vitest"
import { z } from "zod"
import {
  ProviderOutcomeUnknown,
  ProviderUnavailable,
} from "../../adapters/providers/provider-errors.ts"
import type { JobResult } from "../../adapters/postgres/jobs/port.ts"
import type { EffectTimes } from "../../src/frame/effects/effect-times.ts"
import type { JobStatus } from "../../src/frame/effects/effect.ts"
import { effect } from "../../src/frame/effects/effect.ts"
import type { Reaction, Job } from "../../src/frame/effects/reaction.ts"
import type { Ports } from "../../src/frame/ports.ts"
import { partialFake } from "../support/partial-fake.ts"

const BEGUN = Date.UTC(2040, 0, 1)
const MINUTE = 60_000
const HOUR = 60 * MINUTE

type Answer = "made" | "under way" | "refused" | "never got it" | "given up"

/** What the provider does when it is called next, what was asked of it, and what came of it. */
interface Scene {
  now: number
  standing: JobStatus
  acting: () => Promise<Answer>
  asking: () => Promise<Answer | "unknown">
  done: string[]
  isRepeatable: boolean
  /** Whether the row is still this process's, and how long it takes to hear of it. */
  isOwn: boolean
  handOverMs: number
  elapsedMs: number
}

const first = (): Scene => ({
  now: BEGUN,
  standing: "open",
  done: [],
  isRepeatable: false,
  acting: async () => "made",
  asking: async () => "unknown",
  isOwn: true,
  handOverMs: 0,
  elapsedMs: 0,
})
const scene: Scene = first()
/** Has all begin anew. */
const reset = (): void => void Object.assign(scene, first())

const spec = {
  kind: "do-thing",
  payload: z.object({ begunAt: z.number() }),
  provider: "the provider",
  thingName: "this thing",
  missingReason: "nobody knows this thing",
  startedAt: ({ begunAt }: { begunAt: number }) => begunAt,
  checkStatus: async () => scene.standing,
  callProvider: async () => {
    scene.done.push("act")
    return scene.acting()
  },
  checkProvider: async () => {
    scene.done.push("ask")
    return scene.asking()
  },
  isIdempotent: () => scene.isRepeatable,
  recordOutcome: async (_ports: Ports, _work: unknown, answer: Answer) => {
    scene.done.push(`end: ${answer}`)
    return answer !== "under way"
  },
  notReceivedOutcome: async () => "never got it" as const,
  discardedOutcome: "given up" as const,
}
const ports = partialFake<Ports>({
  clock: { now: () => scene.now },
  // Nothing here takes its time: a pause lasts as long as the test.
  pacer: { pause: () => new Promise<void>(() => undefined), elapsedMs: () => scene.elapsedMs },
  jobs: {
    dispatch: async () => {
      scene.done.push("hand over")
      scene.elapsedMs += scene.handOverMs
      return scene.isOwn
    },
  },
})

const perform = (
  reaction: Reaction,
  given: Partial<Job<unknown>> = {},
  by: Ports = ports,
): Promise<JobResult> =>
  reaction.perform(by, {
    jobId: 1,
    kind: reaction.kind,
    name: "a",
    subject: "a",
    companyId: "co_a",
    attempts: 1,
    payload: { begunAt: BEGUN },
    isDispatched: false,
    signal: new AbortController().signal,
    ...given,
  })

const unavailable = () => Promise.reject(new ProviderUnavailable("away"))
const silent = () => Promise.reject(new ProviderOutcomeUnknown("no answer"))
const later = (dueAt: number) => ({
  result: "later",
  dueAt,
  kind: "ask-thing",
  subject: "apart",
})

beforeEach(reset)

const [performing, askingAbout] = effect<{ begunAt: number }, Answer>({
  ...spec,
  checkKind: "ask-thing",
  checkSubject: () => "apart",
}) as readonly [Reaction, Reaction]
const [onlyAsked] = effect<{ begunAt: number }, Answer>({ ...spec, callProvider: null }) as [
  Reaction,
]

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
    const retry = { result: "retry", afterMs: 500, reason, isDispatchCleared: true }
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
    expect(await perform(performing)).toEqual({ ...letGo, isDispatchCleared: true })
    scene.asking = async () => "unknown"
    scene.isRepeatable = true
    expect(await perform(performing, { isDispatched: true })).toEqual(letGo)
    expect(scene.done).toEqual(["hand over", "ask", "hand over"])
  })
})

describe("what was handed over by a process that is gone", () => {
  const handedOver = { isDispatched: true }

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
    const reason = "the provider has given no outcome for this thing in 72 hours"
    expect(await perform(askingAbout)).toEqual({ result: "park", reason })
  })

  it("by whoever cannot do it is not asked about before its first time", async () => {
    scene.now = BEGUN + 1
    expect(await perform(onlyAsked)).toEqual({ result: "later", dueAt: BEGUN + MINUTE })
    expect(scene.done).toEqual([])
    scene.now = BEGUN + MINUTE
    scene.asking = async () => "made"
    expect(await perform(onlyAsked, { isDispatched: true })).toEqual({ result: "done" })
    expect(scene.done).toEqual(["ask", "end: made"])
  })
})

it("what is given up ends by its word", async () => {
  const { discard } = performing
  if (typeof discard !== "function") expect.unreachable("it can be given up")
  const work = { jobId: 1, kind: "do-thing", name: "a", subject: "a", companyId: "co_a" } as const
  const parked = { ...work, payload: { begunAt: BEGUN }, stuck: "a test" }
  const cause = { command: "c", actor: null, keyId: null, personId: null, reason: null }
  expect(await discard(ports, parked, cause)).toBeNull()
  expect(scene.done).toEqual(["end: given up"])
})

/** Of a provider that cannot be asked. */
const mute = effect<{ begunAt: number }, Answer>({ ...spec, checkProvider: null })[0] as Reaction
/** Of times of its own. */
const times: EffectTimes = {
  retryUnavailableForMs: 2 * MINUTE,
  checkAfterMs: [2 * MINUTE, 7 * MINUTE],
  checkEveryMs: 20 * MINUTE,
  notReceivedAfterMs: 3 * MINUTE,
  stuckAfterMs: 90 * MINUTE,
}
const [hurrying, askingSoon] = effect<{ begunAt: number }, Answer>({
  ...spec,
  checkKind: "ask-thing",
  checkSubject: () => "apart",
  unavailableOutcome: "refused",
  times,
}) as readonly [Reaction, Reaction]

describe("what a provider is given that cannot be asked", () => {
  const handedOver = { isDispatched: true }
  const unasked = {
    result: "park",
    reason: "the provider may have done this thing, gave no answer, and has no status query",
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
    expect(await perform(mute)).toMatchObject({ result: "retry", isDispatchCleared: true })
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
    expect(await perform(hurrying, { isDispatched: true })).toEqual(later(scene.now))
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
    const reason = "the provider has given no outcome for this thing in 90 minutes"
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
    const building = effect<{ begunAt: number }, Answer>({
      ...spec,
      timeoutMs: HOUR,
    })[0] as Reaction
    scene.isRepeatable = true
    for (const one of [performing, building]) {
      await perform(one, { isDispatched: true }, { ...ports, pacer })
    }
    expect(scene.done.filter((what) => what === "ask" || what === "act")).toHaveLength(4)
    expect(pauses).toEqual([10_000, 10_000, HOUR, HOUR])
  })
})
