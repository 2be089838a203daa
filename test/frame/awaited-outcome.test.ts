/** How long a request waits for the outcome of its thing. */
import { z } from "zod"
import { describe, expect, it } from "vitest"
import { awaitOutcome, paidRoute } from "../../src/frame/effects/paid-route.ts"
import type { StoredJob, NewJob } from "../../adapters/postgres/jobs/port.ts"
import type { Caller, CheckedRequest } from "../../src/frame/routes/declare/route.ts"
import type { Ports } from "../../src/frame/ports.ts"
import { OutcomeUnknown } from "../../src/frame/writer/runner.ts"
import { partialFake } from "../support/partial-fake.ts"
import { orderThing, thing, thingJobs } from "./example/order-thing.ts"
import type { Things } from "./example/thing.ts"

const WITHIN_MS = 10_000
const NOW = Date.UTC(2026, 10, 28)
const DUE = { stuck: null, dueAt: new Date(NOW).toISOString() }
const JOB = partialFake<NewJob>({ kind: "make-thing", name: "thing_a" })

/** A request that waits at most ten seconds, on a clock that advances with the request's pauses. */
class Waiting {
  elapsedMs = 0
  /** When the outcome is known; null for never. */
  knownAtMs: number | null = null
  reads = 0
  /** Runs the job in this process; by default it never ends. */
  doNow: () => Promise<boolean> = () => new Promise(() => undefined)
  /** The job in another process; by default it is running. */
  job: () => Partial<StoredJob> | null = () => DUE

  readonly pacer = {
    elapsedMs: () => this.elapsedMs,
    pause: async (ms: number, signal?: AbortSignal) => {
      // Whatever is immediate happens before time passes.
      await new Promise(setImmediate)
      if (signal?.aborted !== true) this.elapsedMs += ms
    },
  }

  isKnown(): boolean {
    return this.knownAtMs !== null && this.elapsedMs >= this.knownAtMs
  }

  /** Waits for the outcome; returns it with the time at which the request has it. */
  async result(stopping = new AbortController().signal): Promise<readonly [unknown, number]> {
    const read = async () => {
      this.reads += 1
      return this.isKnown() ? "made" : null
    }
    const outcome = await awaitOutcome(this.ports(), JOB, read, stopping, WITHIN_MS)
    return [outcome, this.elapsedMs]
  }

  ports(): Pick<Ports, "clock" | "runJobNow" | "pacer" | "jobs"> {
    return partialFake<Ports>({
      pacer: this.pacer,
      clock: { now: () => NOW },
      runJobNow: () => this.doNow(),
      jobs: { findByName: async () => this.job() },
    })
  }
}

it("a request waits no longer than its time limit for a job of this process", async () => {
  expect(await new Waiting().result()).toEqual([null, 10_000])
})

it("a request gets an outcome that is known at its time limit", async () => {
  const waiting = new Waiting()
  waiting.knownAtMs = 9_999
  expect(await waiting.result()).toEqual(["made", 10_000])
})

it("a request reads the outcome of another process's job until its time limit", async () => {
  const waiting = new Waiting()
  waiting.doNow = async () => false
  waiting.knownAtMs = 5_000
  expect(await waiting.result()).toEqual(["made", 5_000])
  waiting.knownAtMs = null
  expect(await waiting.result()).toEqual([null, 15_000])
})

it.for<[string, Partial<StoredJob> | null]>([
  ["done or replaced by a status job", null],
  ["postponed", { stuck: null, dueAt: new Date(NOW + 60_000).toISOString() }],
  ["stuck", { ...DUE, stuck: "the carrier is silent" }],
])("a request stops waiting once another process's job is %s", async ([, job]) => {
  const waiting = new Waiting()
  waiting.doNow = async () => false
  waiting.job = () => (waiting.elapsedMs < 3_000 ? DUE : job)
  expect(await waiting.result()).toEqual([null, 3_000])
  // A job may record the outcome before it is postponed.
  waiting.elapsedMs = 0
  waiting.knownAtMs = 3_000
  expect(await waiting.result()).toEqual(["made", 3_000])
})

it("a request waits for a job that no process has begun", async () => {
  const waiting = new Waiting()
  waiting.doNow = async () => false
  waiting.job = () => (waiting.elapsedMs < 3_000 ? null : DUE)
  waiting.knownAtMs = 5_000
  expect(await waiting.result()).toEqual(["made", 5_000])
})

it("a request reads the outcome once after this process ran or postponed the job", async () => {
  const waiting = new Waiting()
  waiting.doNow = async () => true
  await waiting.result()
  expect(waiting.reads).toBe(2)
})

it("a request does not wait if the outcome is known or its process stops", async () => {
  const known = new Waiting()
  known.knownAtMs = 0
  expect(await known.result()).toEqual(["made", 0])
  expect(await new Waiting().result(AbortSignal.abort())).toEqual([null, 0])
})

interface Draft {
  readonly name: string
}

/** The example slice's route with a wait for its outcome. */
const waitingRoute = ({ hasInterimReply }: { readonly hasInterimReply: boolean }) =>
  paidWith([{ ...thingJobs[0], isAwaited: true }, ...thingJobs.slice(1)], hasInterimReply)

const paidWith = (jobs: typeof thingJobs, hasInterimReply = false) =>
  paidRoute({
    name: "orderThing",
    method: "POST",
    url: orderThing.url,
    group: "things",
    summary: orderThing.summary,
    operation: orderThing.operation,
    isCounted: true,
    reply: z.string(),
    paidResource: thing,
    jobs,
    refundReason: "the thing could not be ordered",
    draft: async (): Promise<Draft> => ({ name: "Lamp" }),
    price: async () => "free" as const,
    command: async (_ports, _caller, { name }, { id: thingId, chargeId }) => ({
      type: "OrderThing" as const,
      thingId,
      chargeId,
      maker: "relay" as const,
      name,
    }),
    outcomeWait: {
      timeoutMs: WITHIN_MS,
      payload: (thingId, orderedAt) => ({ thingId, orderedAt }),
      ...(hasInterimReply && {
        interimReply: async (_ports, { name }) => ({ reply: `${name} begun` }),
      }),
    },
    answer: async (_ports, { name }, _id, { view: { outcome } }) =>
      outcome === null ? null : { reply: `${name} ${outcome}` },
  })

/** Retries a request whose thing is ordered; returns the answer and its time. */
async function retry(
  waiting: Waiting,
  {
    hasInterimReply,
    stopping = new AbortController().signal,
  }: { hasInterimReply: boolean; stopping?: AbortSignal },
): Promise<readonly [unknown, number]> {
  const ordered = { chargeId: "chg_a", maker: "relay", name: "Lamp" } as const
  const read = async (_stream: unknown, viewIn: (things: Things) => unknown) => {
    const outcome = waiting.isKnown() ? ("made" as const) : null
    // The stream has a thing for any id.
    const things = partialFake<Things>({ get: () => ({ ...ordered, outcome }) })
    return viewIn(things)
  }
  const ports = partialFake<Ports>({
    ...waiting.ports(),
    runner: { read, readLatest: read },
  })
  const caller = partialFake<Caller>({ companyId: "co_aaaaaa" })
  const seed = { parts: ["key_a", "one"], isKeyed: true }
  const input = partialFake<CheckedRequest<unknown, unknown, unknown>>({ seed, stopping })
  const resumed = await waitingRoute({ hasInterimReply }).resume?.(ports, caller, input)
  const reply = resumed !== undefined && "reply" in resumed ? resumed.reply : null
  return [reply?.ok === true ? reply.body : reply, waiting.elapsedMs]
}

describe("a request for a thing that continues after it", () => {
  it("gets the interim reply if there is one", async () => {
    const waiting = new Waiting()
    expect(await retry(waiting, { hasInterimReply: true })).toEqual(["Lamp begun", 10_000])
    const stopping = AbortSignal.abort()
    expect(await retry(waiting, { hasInterimReply: true, stopping })).toEqual([
      "Lamp begun",
      10_000,
    ])
    waiting.knownAtMs = 10_000
    expect(await retry(waiting, { hasInterimReply: true })).toEqual(["Lamp made", 10_000])
  })

  it("has an unknown outcome if there is no interim reply", async () => {
    const waiting = new Waiting()
    await expect(retry(waiting, { hasInterimReply: false })).rejects.toThrow(OutcomeUnknown)
    expect(waiting.elapsedMs).toBe(10_000)
  })
})

it("a route is rejected if its request runs a job that its fact also enqueues", () => {
  expect(() => paidWith(thingJobs)).toThrow(/runs make-thing itself: .* "isAwaited: true"/)
})
