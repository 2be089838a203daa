/** How long a call waits for what its intent comes to. */
import type { NewWork } from "../../adapters/postgres/jobs/port.ts"
import { expect, it } from "vitest"
import type { Caller } from "../../src/frame/routes/declare/route.ts"
import { awaitOutcome } from "../../src/frame/effects/charged.ts"
import type { Awaits, Outcome, Told } from "../../src/frame/effects/paid-spec.ts"
import type { Ports } from "../../src/frame/ports.ts"
import { partly } from "../support/partly.ts"

/** A call that waits at most ten seconds, on a clock that goes on where it pauses. */
class Waiting {
  elapsedMs = 0
  /** From when it is known what came of it; null: it never is. */
  knownAtMs: number | null = null
  looks = 0
  /** Whether what is known by then is an answer. */
  hasSoFar = false
  /** What this process does of it; by default it is silent for ever. */
  doNow: () => Promise<boolean> = () => new Promise(() => undefined)

  /** What the call is told, and when. */
  async ends(stopping = new AbortController().signal): Promise<readonly [unknown, number]> {
    const pacer = {
      elapsedMs: () => this.elapsedMs,
      pause: async (ms: number, signal?: AbortSignal) => {
        // What is done at once is done before any time goes by.
        await new Promise(setImmediate)
        if (signal?.aborted !== true) this.elapsedMs += ms
      },
    }
    const ports = partly<Ports>({ pacer, doNow: () => this.doNow() })
    const awaits: Awaits<object, string, "msg"> = {
      work: () => partly<NewWork>({}),
      withinMs: 10_000,
      outcome: async () => {
        this.looks += 1
        const { knownAtMs } = this
        return knownAtMs === null || this.elapsedMs < knownAtMs ? null : MADE
      },
    }
    const soFar = async () => SO_FAR
    const given = this.hasSoFar ? { ...awaits, soFar } : awaits
    const named = { id: "msg_a", chargeId: "chg_a" } as const
    const outcome = await awaitOutcome(given, ports, {} as Caller, {}, named, stopping)
    return [outcome, this.elapsedMs]
  }
}

const SO_FAR: Told<string> = { reply: "begun", position: null }
const MADE: Outcome<string> = { reply: "made", position: null }

it("does not wait for more than its time where this process does the work", async () => {
  expect(await new Waiting().ends()).toEqual([null, 10_000])
})

it("is told how far it has come, where that is an answer", async () => {
  const waiting = new Waiting()
  waiting.hasSoFar = true
  expect(await waiting.ends()).toEqual([SO_FAR, 10_000])
  expect(await waiting.ends(AbortSignal.abort())).toEqual([SO_FAR, 10_000])
  waiting.knownAtMs = 10_000
  expect(await waiting.ends()).toEqual([MADE, 10_000])
})

it("is told what is known by the end of its time", async () => {
  const waiting = new Waiting()
  waiting.knownAtMs = 9_999
  expect(await waiting.ends()).toEqual([MADE, 10_000])
})

it("looks for what another process does until its time is over", async () => {
  const waiting = new Waiting()
  waiting.doNow = async () => false
  waiting.knownAtMs = 5_000
  expect(await waiting.ends()).toEqual([MADE, 5_000])
  waiting.knownAtMs = null
  expect(await waiting.ends()).toEqual([null, 15_000])
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
  expect(await known.ends()).toEqual([MADE, 0])
  expect(await new Waiting().ends(AbortSignal.abort())).toEqual([null, 0])
})
