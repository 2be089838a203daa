/** The event feed keeps a runner's cached states fresh. */
import { expect, it, onTestFinished } from "vitest"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import { START, type StoredEvent } from "../../adapters/eventstore/port.ts"
import { startEventFeed } from "../../adapters/postgres/projector/event-feed.ts"
import { accountOf } from "../../domain/charging/ledger-views.ts"
import type { Runner } from "../../src/frame/writer/runner.ts"
import { startReadConfirmation } from "../../src/frame/writer/runner/freshness.ts"
import {
  TEST_LEDGER,
  TEST_LEDGER_STREAM,
  addFundsCommand,
  executeOnLedger,
  runnerWith,
  storeWithDelayedReads,
} from "./runner-fixture.ts"

/** A process whose runner is fed by an event feed. Its time advances by `pass`; the feed waits at `gate`. */
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
  const reader = startEventFeed(store, START, {
    onEvents: async (events: readonly StoredEvent[]) => {
      await gate
      runner.noteAppended(events)
    },
    onCaughtUp: () => undefined,
  })
  const confirmed: number[] = []
  const recordingRunner = {
    noteConfirmed: (asOfMs: number) => {
      confirmed.push(asOfMs)
      runner.noteConfirmed(asOfMs)
    },
  }
  const { waitUntilDelivered } = reader
  const confirming = startReadConfirmation({
    store,
    pacer,
    runner: recordingRunner,
    waitUntilRead: waitUntilDelivered,
    warn,
  })
  onTestFinished(async () => {
    await confirming.stop()
    await reader.stop()
  })
  return {
    runner,
    reads,
    confirmed,
    waitUntilDelivered,
    /** Advances the time and ends all pauses. */
    pass: async (ms: number) => {
      elapsed += ms
      // Iterate over a copy, because the callbacks may change the set.
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

const funds = async (runner: Runner) => (await runner.read(TEST_LEDGER, accountOf)).fundsMicros

it("answers from memory, without reading the store, while no events arrive", async () => {
  const store = openMemoryEventStore()
  const process = processOn(store)
  await executeOnLedger(process.runner, addFundsCommand(5))
  await process.pass(250)
  process.reads.length = 0
  for (let i = 0; i < 20; i += 1) {
    await process.pass(250)
    expect(await funds(process.runner)).toBe(5)
  }
  expect(process.reads).toEqual([])
})

it("returns another process's facts as soon as it was notified of them", async () => {
  const store = openMemoryEventStore()
  const [one, two] = [processOn(store), processOn(store)]
  await executeOnLedger(one.runner, addFundsCommand(5))
  await two.pass(250)
  expect(await funds(two.runner)).toBe(5)
  await executeOnLedger(one.runner, addFundsCommand(7))
  await two.waitUntilDelivered(await store.head())
  expect(await funds(two.runner)).toBe(12)
  expect(two.reads).toEqual([TEST_LEDGER_STREAM, TEST_LEDGER_STREAM])
})

it("confirms states as of before the feed was asked, and none while the feed lags", async () => {
  const store = openMemoryEventStore()
  const [one, two] = [processOn(store), processOn(store)]
  await executeOnLedger(one.runner, addFundsCommand(5))
  await two.pass(250)
  expect(await funds(two.runner)).toBe(5)
  const gate = Promise.withResolvers<void>()
  two.hold(gate.promise)
  await executeOnLedger(one.runner, addFundsCommand(7))
  const last = two.confirmed.at(-1)
  await two.pass(250)
  await two.pass(751)
  expect(two.confirmed.at(-1)).toBe(last)
  // One second after the last confirmation, the store is read.
  expect(await funds(two.runner)).toBe(12)
  gate.resolve()
  await two.pass(0)
  expect(two.confirmed.at(-1)).toBe(500)
  await two.pass(250)
  expect(two.confirmed.at(-1)).toBe(1_501)
})

it("confirms nothing from the loss of the store until the feed has caught up", async () => {
  const store = openMemoryEventStore()
  const [one, two] = [processOn(store), processOn(store)]
  await two.pass(250)
  const gate = Promise.withResolvers<void>()
  two.hold(gate.promise)
  await executeOnLedger(one.runner, addFundsCommand(5))
  store.interrupt(new Error("lost"))
  const before = two.confirmed.length
  expect(await two.waitUntilDelivered(START)).toBe(false)
  for (let i = 0; i < 4; i += 1) await two.pass(250)
  expect(two.confirmed).toHaveLength(before)
  gate.resolve()
  await two.pass(250)
  await two.pass(250)
  expect(two.confirmed.length).toBeGreaterThan(before)
})

it("does not return a state that misses an event which arrived during its load", async () => {
  const store = openMemoryEventStore()
  const [one, two] = [processOn(store), processOn(store)]
  await executeOnLedger(one.runner, addFundsCommand(5))
  const gate = Promise.withResolvers<void>()
  const late = processOn(storeWithDelayedReads(store, gate.promise))
  const reading = funds(late.runner)
  await late.pass(250)
  await executeOnLedger(one.runner, addFundsCommand(7))
  const head = await store.head()
  await late.waitUntilDelivered(head)
  await late.pass(250)
  gate.resolve()
  await reading
  expect(await funds(late.runner)).toBe(12)
  expect(await funds(two.runner)).toBe(12)
})
