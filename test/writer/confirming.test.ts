/** The reader of all streams keeps what a runner remembers fresh. */
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
  const reader = startEventFeed(store, START, {
    onEvents: async (events: readonly StoredEvent[]) => {
      await gate
      runner.noteAppended(events)
    },
    onCaughtUp: () => undefined,
  })
  const confirmed: number[] = []
  const heard = {
    noteConfirmed: (asOfMs: number) => {
      confirmed.push(asOfMs)
      runner.noteConfirmed(asOfMs)
    },
  }
  const { waitUntilDelivered } = reader
  const confirming = startReadConfirmation({
    store,
    pacer,
    runner: heard,
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
    handedOver: waitUntilDelivered,
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

const funds = async (runner: Runner) => (await runner.read(TEST_LEDGER, accountOf)).fundsMicros

it("is answered from memory for as long as nothing comes, without a read", async () => {
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

it("is what another process wrote, as soon as it was heard of", async () => {
  const store = openMemoryEventStore()
  const [one, two] = [processOn(store), processOn(store)]
  await executeOnLedger(one.runner, addFundsCommand(5))
  await two.pass(250)
  expect(await funds(two.runner)).toBe(5)
  await executeOnLedger(one.runner, addFundsCommand(7))
  await two.handedOver(await store.head())
  expect(await funds(two.runner)).toBe(12)
  expect(two.reads).toEqual([TEST_LEDGER_STREAM, TEST_LEDGER_STREAM])
})

it("is as of before the reader was asked for, and nothing while it is behind", async () => {
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
  await executeOnLedger(one.runner, addFundsCommand(5))
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
  await executeOnLedger(one.runner, addFundsCommand(5))
  const gate = Promise.withResolvers<void>()
  const late = processOn(storeWithDelayedReads(store, gate.promise))
  const looking = funds(late.runner)
  await late.pass(250)
  await executeOnLedger(one.runner, addFundsCommand(7))
  const place = await store.head()
  await late.handedOver(place)
  await late.pass(250)
  gate.resolve()
  await looking
  expect(await funds(late.runner)).toBe(12)
  expect(await funds(two.runner)).toBe(12)
})
