/** The reader of all streams keeps what a runner remembers fresh. */
import { expect, it, onTestFinished } from "vitest"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import { START, type StoredEvent } from "../../adapters/eventstore/port.ts"
import { startReader } from "../../adapters/postgres/projector/reader.ts"
import { accountOf } from "../../domain/charging/ledger-views.ts"
import type { Runner } from "../../src/frame/writer/run.ts"
import { startConfirming } from "../../src/frame/writer/runner/fresh.ts"
import { OWN, STREAM, addFunds, execute, runnerWith, tellingLate } from "./bench.ts"

/** A process whose runner is fed by a reader; its time passes by `pass`, its reader waits at `gate`. */
function processOn(store: ReturnType<typeof openMemoryEventStore>) {
  let elapsed = 0
  const pauses = new Set<() => void>()
  const pacer = {
    elapsedMs: () => elapsed,
    pause: async (_ms: number, signal?: AbortSignal) => {
      await new Promise<void>((resolve) => {
        pauses.add(resolve)
        signal?.addEventListener("abort", () => resolve())
      })
    },
  }
  const reads: string[] = []
  const warn = (message: string, error: unknown) =>
    expect.unreachable(`${message} ${String(error)}`)
  const runner = runnerWith({
    store: {
      ...store,
      read: (stream, range) => {
        reads.push(stream)
        return store.read(stream, range)
      },
    },
    pacer,
  })
  let gate: Promise<void> = Promise.resolve()
  const reader = startReader(store, START, {
    onEvents: async (events: readonly StoredEvent[]) => {
      await gate
      runner.heard(events)
    },
    onCaughtUp: () => undefined,
  })
  const confirmed: number[] = []
  const heard = {
    confirmed: (asOfMs: number) => {
      confirmed.push(asOfMs)
      runner.confirmed(asOfMs)
    },
  }
  const { handedOver } = reader
  const confirming = startConfirming({ store, pacer, runner: heard, handedOver, warn })
  onTestFinished(async () => {
    await confirming.stop()
    await reader.stop()
  })
  return {
    runner,
    reads,
    confirmed,
    handedOver,
    /** Lets time pass, and everything that waits for it go on. */
    pass: async (ms: number) => {
      elapsed += ms
      // A copy: what is called may change the list.
      // eslint-disable-next-line unicorn/no-useless-spread
      for (const go of [...pauses]) go()
      pauses.clear()
      for (let i = 0; i < 20; i += 1) await new Promise(setImmediate)
    },
    hold: (until: Promise<void>) => {
      gate = until
    },
  }
}

const funds = async (runner: Runner) => (await runner.read(OWN, accountOf)).fundsMicros

it("is answered from memory for as long as nothing comes, without a read", async () => {
  const store = openMemoryEventStore()
  const process = processOn(store)
  await execute(process.runner, addFunds(5))
  await process.pass(250)
  process.reads.length = 0
  for (let i = 0; i < 20; i += 1) {
    await process.pass(250)
    expect(await funds(process.runner)).toBe(5)
  }
  expect(process.reads).toEqual([])
})

it("is what another process wrote, as soon as it was heard of", async () => {
  const store = openMemoryEventStore()
  const [one, two] = [processOn(store), processOn(store)]
  await execute(one.runner, addFunds(5))
  await two.pass(250)
  expect(await funds(two.runner)).toBe(5)
  await execute(one.runner, addFunds(7))
  await two.handedOver(await store.head())
  expect(await funds(two.runner)).toBe(12)
  expect(two.reads).toEqual([STREAM, STREAM])
})

it("is as of before the reader was asked for, and nothing while it is behind", async () => {
  const store = openMemoryEventStore()
  const [one, two] = [processOn(store), processOn(store)]
  await execute(one.runner, addFunds(5))
  await two.pass(250)
  expect(await funds(two.runner)).toBe(5)
  const gate = Promise.withResolvers<void>()
  two.hold(gate.promise)
  await execute(one.runner, addFunds(7))
  const last = two.confirmed.at(-1)
  await two.pass(250)
  await two.pass(751)
  expect(two.confirmed.at(-1)).toBe(last)
  // A second after it was last confirmed the store is asked.
  expect(await funds(two.runner)).toBe(12)
  gate.resolve()
  await two.pass(0)
  expect(two.confirmed.at(-1)).toBe(500)
  await two.pass(250)
  expect(two.confirmed.at(-1)).toBe(1_501)
})

it("is nothing between a loss of the store and the reader's having caught up", async () => {
  const store = openMemoryEventStore()
  const [one, two] = [processOn(store), processOn(store)]
  await two.pass(250)
  const gate = Promise.withResolvers<void>()
  two.hold(gate.promise)
  await execute(one.runner, addFunds(5))
  store.interrupt(new Error("lost"))
  const before = two.confirmed.length
  expect(await two.handedOver(START)).toBe(false)
  for (let i = 0; i < 4; i += 1) await two.pass(250)
  expect(two.confirmed).toHaveLength(before)
  gate.resolve()
  await two.pass(250)
  await two.pass(250)
  expect(two.confirmed.length).toBeGreaterThan(before)
})

it("is not what was loaded before an event that came while it was loading", async () => {
  const store = openMemoryEventStore()
  const [one, two] = [processOn(store), processOn(store)]
  await execute(one.runner, addFunds(5))
  const gate = Promise.withResolvers<void>()
  const late = processOn(tellingLate(store, gate.promise))
  const looking = funds(late.runner)
  await late.pass(250)
  await execute(one.runner, addFunds(7))
  const place = await store.head()
  await late.handedOver(place)
  await late.pass(250)
  gate.resolve()
  await looking
  expect(await funds(late.runner)).toBe(12)
  expect(await funds(two.runner)).toBe(12)
})
