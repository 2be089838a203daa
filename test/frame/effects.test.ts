/** The one way of everything that is done outside: act, ask, end, by a provider that can do anything. */
import { beforeEach, describe, expect, it } from "vitest"
import { z } from "zod"
import { ProviderSilent, ProviderUnavailable } from "../../adapters/providers/outside.ts"
import type { WorkResult } from "../../adapters/work/port.ts"
import { effect } from "../../src/frame/effects/effect.ts"
import type { Standing } from "../../src/frame/effects/effect.ts"
import type { Reaction, Work } from "../../src/frame/effects/reaction.ts"
import type { Ports } from "../../src/frame/ports.ts"

const BEGUN = Date.UTC(2040, 0, 1)
const MINUTE = 60_000
const HOUR = 60 * MINUTE

type Answer = "made" | "under way" | "refused" | "never got it" | "given up"

/** What the provider does when it is called next, what was asked of it, and what came of it. */
let now: number
let standing: Standing
let acting: () => Promise<Answer>
let asking: () => Promise<Answer | "unknown">
let done: string[]
let isRepeatable: boolean
/** Whether the row is still this process's, and how long it takes to hear of it. */
let isOwn: boolean
let handOverMs: number
let elapsedMs: number
beforeEach(() => {
  isOwn = true
  handOverMs = 0
  elapsedMs = 0
  now = BEGUN
  standing = "open"
  acting = async () => "made"
  asking = async () => "unknown"
  done = []
  isRepeatable = false
})

const spec = {
  kind: "do-thing",
  payload: z.object({ begunAt: z.number() }),
  provider: "the provider",
  about: "this thing",
  unknownTo: "nobody knows this thing",
  begunAt: ({ begunAt }: { begunAt: number }) => begunAt,
  look: async () => standing,
  act: async () => {
    done.push("act")
    return acting()
  },
  ask: async () => {
    done.push("ask")
    return asking()
  },
  isRepeatable: () => isRepeatable,
  end: async (_ports: Ports, _work: unknown, answer: Answer) => {
    done.push(`end: ${answer}`)
    return answer !== "under way"
  },
  unknown: async () => "never got it" as const,
  givenUp: "given up" as const,
}
const [performing, askingAbout] = effect<{ begunAt: number }, Answer>({
  ...spec,
  askKind: "ask-thing",
  askSubject: () => "apart",
}) as readonly [Reaction, Reaction]
const [onlyAsked] = effect<{ begunAt: number }, Answer>({ ...spec, act: null }) as [Reaction]

const ports = {
  clock: { now: () => now },
  // Nothing here takes its time: a pause lasts as long as the test.
  pacer: { pause: () => new Promise<void>(() => undefined), elapsedMs: () => elapsedMs },
  work: {
    handOver: async () => {
      done.push("hand over")
      elapsedMs += handOverMs
      return isOwn
    },
  },
} as unknown as Ports

const perform = (reaction: Reaction, given: Partial<Work<unknown>> = {}): Promise<WorkResult> =>
  reaction.perform(ports, {
    ...{ workId: 1, kind: reaction.kind, name: "a", subject: "a", companyId: "co_a", tries: 1 },
    ...{ payload: { begunAt: BEGUN }, isHandedOver: false, signal: new AbortController().signal },
    ...given,
  })

const unavailable = () => Promise.reject(new ProviderUnavailable("away"))
const silent = () => Promise.reject(new ProviderSilent("no answer"))
const later = (dueAt: number) => ({
  ...{ result: "later", dueAt, kind: "ask-thing", subject: "apart" },
})

describe("what is to be done", () => {
  it("is written down as handed over before the provider is called, and ended", async () => {
    expect(await perform(performing)).toEqual({ result: "done" })
    expect(done).toEqual(["hand over", "act", "end: made"])
  })

  it("is not done where it has ended, and left to an operator where nobody knows it", async () => {
    standing = "ended"
    expect(await perform(performing)).toEqual({ result: "done" })
    standing = "not there"
    const reason = "nobody knows this thing"
    expect(await perform(performing)).toEqual({ result: "park", reason })
    expect(done).toEqual([])
  })

  it("is tried again where the provider did nothing, as if it had not been handed over", async () => {
    acting = unavailable
    const reason = "the provider is not available"
    const retry = { result: "retry", afterMs: 500, reason, isUndone: true }
    expect(await perform(performing)).toEqual(retry)
    now = BEGUN + 72 * HOUR
    expect(await perform(performing)).toEqual(later(now))
  })

  it("is asked about from a minute on where the provider was silent, and never done again", async () => {
    acting = silent
    expect(await perform(performing)).toEqual(later(BEGUN + MINUTE))
  })

  it("is asked about again where it has come to nothing yet", async () => {
    acting = async () => "under way"
    expect(await perform(performing)).toEqual(later(BEGUN + MINUTE))
  })
})

describe("what is another process's by now", () => {
  it("is let go before the provider is called", async () => {
    isOwn = false
    expect(await perform(performing)).toEqual({ result: "let go" })
    expect(done).toEqual(["hand over"])
  })

  it("is not even handed over where that is known", async () => {
    const signal = AbortSignal.abort()
    expect(await perform(performing, { signal })).toEqual({ result: "let go" })
    expect(done).toEqual([])
  })

  it("is let go where this was cut off until its row may have been lost", async () => {
    handOverMs = 60_000
    const letGo = { result: "let go" }
    expect(await perform(performing)).toEqual({ ...letGo, isUndone: true })
    asking = async () => "unknown"
    isRepeatable = true
    expect(await perform(performing, { isHandedOver: true })).toEqual(letGo)
    expect(done).toEqual(["hand over", "ask", "hand over"])
  })
})

describe("what was handed over by a process that is gone", () => {
  const handedOver = { isHandedOver: true }

  it("is asked about first, and ends as the provider says", async () => {
    asking = async () => "refused"
    expect(await perform(performing, handedOver)).toEqual({ result: "done" })
    expect(done).toEqual(["ask", "end: refused"])
  })

  it("is done again where the provider does not know it and takes a name once", async () => {
    isRepeatable = true
    expect(await perform(performing, handedOver)).toEqual({ result: "done" })
    expect(done).toEqual(["ask", "hand over", "act", "end: made"])
  })

  it.for([
    ["does not know it and would do it twice", () => Promise.resolve("unknown" as const)],
    ["is silent", silent],
    ["is not available", unavailable],
  ] as const)("is only asked about where the provider %s", async ([, answer]) => {
    asking = answer
    expect(await perform(performing, handedOver)).toEqual(later(BEGUN + MINUTE))
    expect(done).toEqual(["ask"])
  })
})

describe("what is asked about", () => {
  it.for([
    [1, 4 * MINUTE],
    [5, 5 * MINUTE],
  ])("after %i minutes and still unknown is asked about again", async ([minutes, waitMs]) => {
    now = BEGUN + (minutes ?? 0) * MINUTE
    expect(await perform(askingAbout)).toEqual({ result: "later", dueAt: now + (waitMs ?? 0) })
  })

  it("ends as never got where it is unknown after ten minutes", async () => {
    now = BEGUN + 10 * MINUTE
    expect(await perform(askingAbout)).toEqual({ result: "done" })
    expect(done).toEqual(["ask", "end: never got it"])
  })

  it("is asked about for three days where the provider says nothing, then parked", async () => {
    asking = silent
    for (const [age, next] of [
      [MINUTE, 5 * MINUTE],
      [5 * MINUTE, 30 * MINUTE],
      [30 * MINUTE, 30 * MINUTE + HOUR],
      [71.5 * HOUR, 72 * HOUR],
    ] as const) {
      now = BEGUN + age
      expect(await perform(askingAbout)).toEqual({ result: "later", dueAt: BEGUN + next })
    }
    now = BEGUN + 72 * HOUR
    const reason = "the provider has been silent about this thing for 72 hours"
    expect(await perform(askingAbout)).toEqual({ result: "park", reason })
  })

  it("by whoever cannot do it is not asked about before its first time", async () => {
    now = BEGUN + 1
    expect(await perform(onlyAsked)).toEqual({ result: "later", dueAt: BEGUN + MINUTE })
    expect(done).toEqual([])
    now = BEGUN + MINUTE
    asking = async () => "made"
    expect(await perform(onlyAsked, { isHandedOver: true })).toEqual({ result: "done" })
    expect(done).toEqual(["ask", "end: made"])
  })
})

it("what is given up ends by its word", async () => {
  const { giveUp } = performing
  if (typeof giveUp !== "function") expect.unreachable("it can be given up")
  const work = { workId: 1, kind: "do-thing", name: "a", subject: "a", companyId: "co_a" } as const
  const parked = { ...work, payload: { begunAt: BEGUN }, parked: "a test" }
  const cause = { command: "c", actor: null, keyId: null, personId: null, reason: null }
  expect(await giveUp(ports, parked, cause)).toBeNull()
  expect(done).toEqual(["end: given up"])
})
