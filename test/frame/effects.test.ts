/** Effects: a job calls the provider, checks the status and records the outcome. */
import { beforeEach, describe, expect, it } from "vitest"
import { z } from "zod"
import {
  ProviderOutcomeUnknown,
  ProviderUnavailable,
} from "../../adapters/providers/provider-errors.ts"
import type { JobResult } from "../../adapters/postgres/jobs/port.ts"
import type { EffectTimes } from "../../src/frame/effects/effect-times.ts"
import type { IntentStatus } from "../../src/frame/effects/effect.ts"
import { effect } from "../../src/frame/effects/effect.ts"
import type { Reaction, Job } from "../../src/frame/effects/reaction.ts"
import type { Ports } from "../../src/frame/ports.ts"
import { partialFake } from "../support/partial-fake.ts"

const BEGUN = Date.UTC(2040, 0, 1)
const MINUTE = 60_000
const HOUR = 60 * MINUTE

type Answer = "made" | "under way" | "refused" | "not received" | "discarded"

/** The provider's next answers, the state of the job, and the steps taken. */
interface Scene {
  now: number
  status: IntentStatus
  call: () => Promise<Answer>
  check: () => Promise<Answer | "unknown">
  steps: string[]
  isIdempotent: boolean
  /** Whether the job still belongs to this process. */
  isOwn: boolean
  /** How long marking the job as dispatched takes. */
  dispatchMs: number
  elapsedMs: number
}

const first = (): Scene => ({
  now: BEGUN,
  status: "open",
  steps: [],
  isIdempotent: false,
  call: async () => "made",
  check: async () => "unknown",
  isOwn: true,
  dispatchMs: 0,
  elapsedMs: 0,
})
const scene: Scene = first()
/** Restores the initial scene. */
const reset = (): void => void Object.assign(scene, first())

const spec = {
  kind: "do-thing",
  payload: z.object({ begunAt: z.number() }),
  provider: "the provider",
  label: "this thing",
  missingReason: "this thing is unknown",
  startedAt: ({ begunAt }: { begunAt: number }) => begunAt,
  checkStatus: async () => scene.status,
  callProvider: async () => {
    scene.steps.push("call")
    return scene.call()
  },
  checkProvider: async () => {
    scene.steps.push("check")
    return scene.check()
  },
  isIdempotent: () => scene.isIdempotent,
  recordOutcome: async (_ports: Ports, _job: unknown, answer: Answer) => {
    scene.steps.push(`end: ${answer}`)
    return answer !== "under way"
  },
  notReceivedOutcome: async () => "not received" as const,
  discardedOutcome: "discarded" as const,
}
const ports = partialFake<Ports>({
  clock: { now: () => scene.now },
  // A pause lasts as long as the test.
  pacer: { pause: () => new Promise<void>(() => undefined), elapsedMs: () => scene.elapsedMs },
  jobs: {
    dispatch: async () => {
      scene.steps.push("dispatch")
      scene.elapsedMs += scene.dispatchMs
      return scene.isOwn
    },
  },
})

const perform = (
  reaction: Reaction,
  given: Partial<Job<unknown>> = {},
  usedPorts: Ports = ports,
): Promise<JobResult> =>
  reaction.perform(usedPorts, {
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
  result: "rescheduled",
  dueAt,
  kind: "ask-thing",
  subject: "own subject",
})

beforeEach(reset)

const [calling, checking] = effect<{ begunAt: number }, Answer>({
  ...spec,
  checkKind: "ask-thing",
  checkSubject: () => "own subject",
}) as readonly [Reaction, Reaction]
const [onlyChecked] = effect<{ begunAt: number }, Answer>({ ...spec, callProvider: null }) as [
  Reaction,
]

describe("a job", () => {
  it("is marked as dispatched before the provider is called, and its outcome is recorded", async () => {
    expect(await perform(calling)).toEqual({ result: "done" })
    expect(scene.steps).toEqual(["dispatch", "call", "end: made"])
  })

  it("is done if its thing has ended, and stuck if its thing is unknown", async () => {
    scene.status = "ended"
    expect(await perform(calling)).toEqual({ result: "done" })
    scene.status = "not there"
    const reason = "this thing is unknown"
    expect(await perform(calling)).toEqual({ result: "stuck", reason })
    expect(scene.steps).toEqual([])
  })

  it("is retried if the provider was unavailable, as if it had not been dispatched", async () => {
    scene.call = unavailable
    const reason = "the provider is not available"
    const retry = { result: "retry", afterMs: 500, reason, isDispatchCleared: true }
    expect(await perform(calling)).toEqual(retry)
    scene.now = BEGUN + 72 * HOUR
    expect(await perform(calling)).toEqual(later(scene.now))
  })

  it("becomes a status check after a minute if the provider did not answer", async () => {
    scene.call = silent
    expect(await perform(calling)).toEqual(later(BEGUN + MINUTE))
  })

  it("becomes a status check if it has no final outcome yet", async () => {
    scene.call = async () => "under way"
    expect(await perform(calling)).toEqual(later(BEGUN + MINUTE))
  })
})

describe("a job that another process has claimed", () => {
  it("is released before the provider is called", async () => {
    scene.isOwn = false
    expect(await perform(calling)).toEqual({ result: "released" })
    expect(scene.steps).toEqual(["dispatch"])
  })

  it("is not marked as dispatched if that is known", async () => {
    const signal = AbortSignal.abort()
    expect(await perform(calling, { signal })).toEqual({ result: "released" })
    expect(scene.steps).toEqual([])
  })

  it("is released if marking it took so long that the lease may have expired", async () => {
    scene.dispatchMs = 60_000
    const released = { result: "released" }
    expect(await perform(calling)).toEqual({ ...released, isDispatchCleared: true })
    scene.check = async () => "unknown"
    scene.isIdempotent = true
    expect(await perform(calling, { isDispatched: true })).toEqual(released)
    expect(scene.steps).toEqual(["dispatch", "check", "dispatch"])
  })
})

describe("a job that a dead process had dispatched", () => {
  const dispatched = { isDispatched: true }

  it("is checked first and ends with the provider's answer", async () => {
    scene.check = async () => "refused"
    expect(await perform(calling, dispatched)).toEqual({ result: "done" })
    expect(scene.steps).toEqual(["check", "end: refused"])
  })

  it("is called again if the provider does not know it and is idempotent", async () => {
    scene.isIdempotent = true
    expect(await perform(calling, dispatched)).toEqual({ result: "done" })
    expect(scene.steps).toEqual(["check", "dispatch", "call", "end: made"])
  })

  it.for([
    ["does not know it and is not idempotent", () => Promise.resolve("unknown" as const)],
    ["does not answer", silent],
    ["is not available", unavailable],
  ] as const)("becomes a status check if the provider %s", async ([, answer]) => {
    scene.check = answer
    expect(await perform(calling, dispatched)).toEqual(later(BEGUN + MINUTE))
    expect(scene.steps).toEqual(["check"])
  })
})

describe("a status check", () => {
  it.for([
    [1, 4 * MINUTE],
    [5, 5 * MINUTE],
  ])("after %i minutes without an outcome is repeated", async ([minutes, waitMs]) => {
    scene.now = BEGUN + (minutes ?? 0) * MINUTE
    expect(await perform(checking)).toEqual({
      result: "rescheduled",
      dueAt: scene.now + (waitMs ?? 0),
    })
  })

  it("ends as not received if the thing is unknown after ten minutes", async () => {
    scene.now = BEGUN + 10 * MINUTE
    expect(await perform(checking)).toEqual({ result: "done" })
    expect(scene.steps).toEqual(["check", "end: not received"])
  })

  it("is repeated for three days if the provider does not answer, then stuck", async () => {
    scene.check = silent
    for (const [age, next] of [
      [MINUTE, 5 * MINUTE],
      [5 * MINUTE, 30 * MINUTE],
      [30 * MINUTE, 30 * MINUTE + HOUR],
      [71.5 * HOUR, 72 * HOUR],
    ] as const) {
      scene.now = BEGUN + age
      expect(await perform(checking)).toEqual({ result: "rescheduled", dueAt: BEGUN + next })
    }
    scene.now = BEGUN + 72 * HOUR
    const reason = "the provider has given no outcome for this thing in 72 hours"
    expect(await perform(checking)).toEqual({ result: "stuck", reason })
  })

  it("of an effect without a provider call waits for its first due time", async () => {
    scene.now = BEGUN + 1
    expect(await perform(onlyChecked)).toEqual({ result: "rescheduled", dueAt: BEGUN + MINUTE })
    expect(scene.steps).toEqual([])
    scene.now = BEGUN + MINUTE
    scene.check = async () => "made"
    expect(await perform(onlyChecked, { isDispatched: true })).toEqual({ result: "done" })
    expect(scene.steps).toEqual(["check", "end: made"])
  })
})

it("a discarded job records the effect's outcome for that", async () => {
  const { discard } = calling
  if (typeof discard !== "function") expect.unreachable("it can be discarded")
  const job = { jobId: 1, kind: "do-thing", name: "a", subject: "a", companyId: "co_a" } as const
  const stuck = { ...job, payload: { begunAt: BEGUN }, stuck: "a test" }
  const cause = { command: "c", actor: null, keyId: null, personId: null, reason: null }
  expect(await discard(ports, stuck, cause)).toBeNull()
  expect(scene.steps).toEqual(["end: discarded"])
})

/** An effect whose provider has no status query. */
const unchecked = effect<{ begunAt: number }, Answer>({
  ...spec,
  checkProvider: null,
})[0] as Reaction
/** Shorter times than the default ones. */
const times: EffectTimes = {
  retryUnavailableForMs: 2 * MINUTE,
  checkAfterMs: [2 * MINUTE, 7 * MINUTE],
  checkEveryMs: 20 * MINUTE,
  notReceivedAfterMs: 3 * MINUTE,
  stuckAfterMs: 90 * MINUTE,
}
const [shortCalling, shortChecking] = effect<{ begunAt: number }, Answer>({
  ...spec,
  checkKind: "ask-thing",
  checkSubject: () => "own subject",
  unavailableOutcome: "refused",
  times,
}) as readonly [Reaction, Reaction]

describe("a job whose provider has no status query", () => {
  const dispatched = { isDispatched: true }
  const stuck = {
    result: "stuck",
    reason: "the provider may have done this thing, gave no answer, and has no status query",
  }
  beforeEach(() => {
    scene.isIdempotent = true
  })

  it("is called a second time if the provider did not answer, then stuck", async () => {
    scene.call = silent
    expect(await perform(unchecked)).toEqual({ result: "rescheduled", dueAt: BEGUN + MINUTE })
    expect(await perform(unchecked, dispatched)).toEqual(stuck)
    expect(scene.steps).toEqual(["dispatch", "call", "dispatch", "call"])
  })

  it("is not called again if the provider is not idempotent", async () => {
    scene.isIdempotent = false
    scene.call = silent
    expect(await perform(unchecked)).toEqual(stuck)
    expect(await perform(unchecked, dispatched)).toEqual(stuck)
    expect(scene.steps).toEqual(["dispatch", "call"])
  })

  it("ends as not received if the provider was unavailable for 72 hours", async () => {
    scene.call = unavailable
    scene.now = BEGUN + 72 * HOUR - 1
    expect(await perform(unchecked)).toMatchObject({ result: "retry", isDispatchCleared: true })
    scene.now = BEGUN + 72 * HOUR
    expect(await perform(unchecked)).toEqual({ result: "done" })
    expect(scene.steps.at(-1)).toBe("end: not received")
  })

  it("stays dispatched if the provider did not answer before and is unavailable now", async () => {
    scene.call = unavailable
    const reason = "the provider is not available"
    const again = { result: "retry", afterMs: 500, reason }
    expect(await perform(unchecked, dispatched)).toStrictEqual(again)
    scene.call = silent
    expect(await perform(unchecked, dispatched)).toEqual(stuck)
  })

  it("is stuck after 72 hours if it may have been executed before", async () => {
    scene.call = unavailable
    scene.now = BEGUN + 72 * HOUR
    expect(await perform(unchecked, dispatched)).toEqual(stuck)
    expect(scene.steps).toEqual(["dispatch", "call"])
  })

  it("is not called endlessly without an outcome", async () => {
    scene.call = async () => "under way"
    expect(await perform(unchecked)).toEqual({ result: "rescheduled", dueAt: BEGUN + MINUTE })
    expect(await perform(unchecked, dispatched)).toEqual(stuck)
  })
})

describe("an effect with its own times", () => {
  it("is retried for its time and then ends", async () => {
    scene.call = unavailable
    scene.now = BEGUN + 2 * MINUTE - 1
    expect(await perform(shortCalling)).toMatchObject({ result: "retry" })
    scene.now = BEGUN + 2 * MINUTE
    expect(await perform(shortCalling)).toEqual({ result: "done" })
    expect(scene.steps.at(-1)).toBe("end: refused")
  })

  it("becomes a status check instead if it may have been executed before", async () => {
    scene.isIdempotent = true
    scene.call = unavailable
    scene.now = BEGUN + 2 * MINUTE
    expect(await perform(shortCalling, { isDispatched: true })).toEqual(later(scene.now))
  })

  it("is checked at its own ages", async () => {
    scene.call = silent
    expect(await perform(shortCalling)).toEqual(later(BEGUN + 2 * MINUTE))
    scene.check = silent
    for (const [age, next] of [
      [2, 7],
      [7, 27],
      [80, 90],
    ] as const) {
      scene.now = BEGUN + age * MINUTE
      expect(await perform(shortChecking)).toEqual({
        result: "rescheduled",
        dueAt: BEGUN + next * MINUTE,
      })
    }
  })

  it("ends as not received, or is stuck, after its own times", async () => {
    scene.now = BEGUN + 3 * MINUTE
    expect(await perform(shortChecking)).toEqual({ result: "done" })
    expect(scene.steps.at(-1)).toBe("end: not received")
    scene.check = silent
    scene.now = BEGUN + 90 * MINUTE
    const reason = "the provider has given no outcome for this thing in 90 minutes"
    expect(await perform(shortChecking)).toEqual({ result: "stuck", reason })
  })

  it("waits for an answer for its own timeout, ten seconds by default", async () => {
    const pauses: number[] = []
    const pacer = {
      elapsedMs: () => 0,
      pause: (ms: number) => {
        pauses.push(ms)
        return new Promise<void>(() => undefined)
      },
    }
    const slow = effect<{ begunAt: number }, Answer>({
      ...spec,
      timeoutMs: HOUR,
    })[0] as Reaction
    scene.isIdempotent = true
    for (const one of [calling, slow]) {
      await perform(one, { isDispatched: true }, { ...ports, pacer })
    }
    expect(scene.steps.filter((step) => step === "check" || step === "call")).toHaveLength(4)
    expect(pauses).toEqual([10_000, 10_000, HOUR, HOUR])
  })
})
