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

/** A request that waits at most ten seconds, on a clock that goes on where the request pauses. */
class Waiting {
  elapsedMs = 0
  /** When the outcome is known; null for never. */
  knownAtMs: number | null = null
  looks = 0
  /** What this process does of it; by default it is silent for ever. */
  doNow: () => Promise<boolean> = () => new Promise(() => undefined)
  /** The job as another process has it; by default it is being done. */
  job: () => Partial<StoredJob> | null = () => DUE

  readonly pacer = {
    elapsedMs: () => this.elapsedMs,
    pause: async (ms: number, signal?: AbortSignal) => {
      // What is done immediately is done before any time goes by.
      await new Promise(setImmediate)
      if (signal?.aborted !== true) this.elapsedMs += ms
    },
  }

  isKnown(): boolean {
    return this.knownAtMs !== null && this.elapsedMs >= this.knownAtMs
  }

  /** The outcome, and when the request has it. */
  async ends(stopping = new AbortController().signal): Promise<readonly [unknown, number]> {
    const look = async () => {
      this.looks += 1
      return this.isKnown() ? "made" : null
    }
    const outcome = await awaitOutcome(this.ports(), JOB, look, stopping, WITHIN_MS)
    return [outcome, this.elapsedMs]
  }

  /** What a request needs while it waits. */
  ports(): Pick<Ports, "clock" | "runJobNow" | "pacer" | "jobs"> {
    return partialFake<Ports>({
      pacer: this.pacer,
      clock: { now: () => NOW },
      runJobNow: () => this.doNow(),
      jobs: { findByName: async () => this.job() },
    })
  }
}

it("does not wait for more than its time where this process does the work", async () => {
  expect(await new Waiting().ends()).toEqual([null, 10_000])
})

it("is told what is known by the end of its time", async () => {
  const waiting = new Waiting()
  waiting.knownAtMs = 9_999
  expect(await waiting.ends()).toEqual(["made", 10_000])
})

it("looks for what another process does until its time is over", async () => {
  const waiting = new Waiting()
  waiting.doNow = async () => false
  waiting.knownAtMs = 5_000
  expect(await waiting.ends()).toEqual(["made", 5_000])
  waiting.knownAtMs = null
  expect(await waiting.ends()).toEqual([null, 15_000])
})

it.for<[string, Partial<StoredJob> | null]>([
  ["done, or is only asked about", null],
  ["put off", { stuck: null, dueAt: new Date(NOW + 60_000).toISOString() }],
  ["an operator's", { ...DUE, stuck: "the carrier is silent" }],
])("waits no longer once the job of another process is %s", async ([, job]) => {
  const waiting = new Waiting()
  waiting.doNow = async () => false
  waiting.job = () => (waiting.elapsedMs < 3_000 ? DUE : job)
  expect(await waiting.ends()).toEqual([null, 3_000])
  // What the job recorded before it was put off is found.
  waiting.elapsedMs = 0
  waiting.knownAtMs = 3_000
  expect(await waiting.ends()).toEqual(["made", 3_000])
})

it("waits for a job that no process has begun", async () => {
  const waiting = new Waiting()
  waiting.doNow = async () => false
  waiting.job = () => (waiting.elapsedMs < 3_000 ? null : DUE)
  waiting.knownAtMs = 5_000
  expect(await waiting.ends()).toEqual(["made", 5_000])
})

it("looks once more where this process did it or put it off, and no longer", async () => {
  const waiting = new Waiting()
  waiting.doNow = async () => true
  await waiting.ends()
  expect(waiting.looks).toBe(2)
})

it("does nothing where it is known already, or its process stops", async () => {
  const known = new Waiting()
  known.knownAtMs = 0
  expect(await known.ends()).toEqual(["made", 0])
  expect(await new Waiting().ends(AbortSignal.abort())).toEqual([null, 0])
})

interface Draft {
  readonly name: string
}

/** The scratch slice's route, where it waits for its thing. */
const waitingRoute = ({ hasSoFar }: { readonly hasSoFar: boolean }) =>
  paidWith([{ ...thingJobs[0], isAwaited: true }, ...thingJobs.slice(1)], hasSoFar)

const paidWith = (jobs: typeof thingJobs, hasSoFar = false) =>
  paidRoute({
    name: "orderThing",
    method: "POST",
    url: orderThing.url,
    group: "things",
    summary: orderThing.summary,
    operation: orderThing.operation,
    isCounted: true,
    reply: z.string(),
    thing,
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
      ...(hasSoFar && { interimReply: async (_ports, { name }) => ({ reply: `${name} begun` }) }),
    },
    answer: async (_ports, { name }, _id, { view: { outcome } }) =>
      outcome === null ? null : { reply: `${name} ${outcome}` },
  })

/** Sends a request again whose thing is ordered; returns the answer, and when it comes. */
async function asked(
  waiting: Waiting,
  {
    hasSoFar,
    stopping = new AbortController().signal,
  }: { hasSoFar: boolean; stopping?: AbortSignal },
): Promise<readonly [unknown, number]> {
  const ordered = { chargeId: "chg_a", maker: "relay", name: "Lamp" } as const
  const look = async (_stream: unknown, viewIn: (things: Things) => unknown) => {
    const outcome = waiting.isKnown() ? ("made" as const) : null
    // Whatever id the request derives: its company's stream knows the thing.
    const things = partialFake<Things>({ get: () => ({ ...ordered, outcome }) })
    return viewIn(things)
  }
  const ports = partialFake<Ports>({
    ...waiting.ports(),
    runner: { read: look, readLatest: look },
  })
  const caller = partialFake<Caller>({ companyId: "co_aaaaaa" })
  const seed = { parts: ["key_a", "one"], isKeyed: true }
  const input = partialFake<CheckedRequest<unknown, unknown, unknown>>({ seed, stopping })
  const resumed = await waitingRoute({ hasSoFar }).resume?.(ports, caller, input)
  const reply = resumed !== undefined && "reply" in resumed ? resumed.reply : null
  return [reply?.ok === true ? reply.body : reply, waiting.elapsedMs]
}

describe("a request for a thing that goes on after it", () => {
  it("is told how far the thing has come, where that is an answer", async () => {
    const waiting = new Waiting()
    expect(await asked(waiting, { hasSoFar: true })).toEqual(["Lamp begun", 10_000])
    const stopping = AbortSignal.abort()
    expect(await asked(waiting, { hasSoFar: true, stopping })).toEqual(["Lamp begun", 10_000])
    waiting.knownAtMs = 10_000
    expect(await asked(waiting, { hasSoFar: true })).toEqual(["Lamp made", 10_000])
  })

  it("has an unknown outcome where that is no answer", async () => {
    const waiting = new Waiting()
    await expect(asked(waiting, { hasSoFar: false })).rejects.toThrow(OutcomeUnknown)
    expect(waiting.elapsedMs).toBe(10_000)
  })
})

it("refuses a route whose request would run a job that its fact enqueues a second time", () => {
  expect(() => paidWith(thingJobs)).toThrow(/runs make-thing itself: .* "isAwaited: true"/)
})
