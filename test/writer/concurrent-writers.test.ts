/** Multiple processes write one stream: the store decides, whatever a process has cached. */
import { describe, expect, it } from "vitest"
import { openMemoryCheckpoints } from "../../adapters/postgres/checkpoints/checkpoints.ts"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type { EventStore } from "../../adapters/eventstore/port.ts"
import { StaleStore, UnknownOutcome } from "../../adapters/eventstore/port.ts"
import { openMemoryLocks } from "../../adapters/postgres/locks/locks.ts"
import type { Locks } from "../../adapters/postgres/locks/port.ts"
import { accountOf } from "../../domain/charging/ledger-views.ts"
import type { Runner } from "../../src/frame/writer/runner.ts"
import { OutcomeUnknown } from "../../src/frame/writer/runner.ts"
import {
  TEST_LEDGER,
  TEST_LEDGER_STREAM,
  addFundsCommand,
  pendingChargeCommand,
  executeOnLedger,
  runnerWith,
  storedEventsIn,
  SERVED_CALL,
  runnerOn,
  storeWithDelayedReads,
  virtualPacer,
} from "./runner-fixture.ts"

/** Processes on one store that share a time, which advances by pauses or by `pass`. */
function processes(count: number, store: EventStore = openMemoryEventStore()) {
  const pacer = virtualPacer()
  const reads: string[] = []
  const watched: EventStore = {
    ...store,
    append: (...args) => store.append(...args),
    read: (stream, range) => {
      reads.push(stream)
      return store.read(stream, range)
    },
  }
  const memory = openMemoryLocks(pacer)
  const taken: string[] = []
  const locks: Locks = {
    acquire: async (name, timeoutMs) => {
      taken.push(name)
      return memory.acquire(name, timeoutMs)
    },
  }
  const open = (through: EventStore = watched): Runner =>
    runnerWith({
      store: through,
      locks,
      clock: { now: () => Date.UTC(2026, 10, 21, 12) + pacer.elapsedMs() },
      pacer,
    })
  return {
    store,
    runners: Array.from({ length: count }, () => open()),
    open,
    reads,
    taken,
    pass: pacer.advance,
    now: pacer.elapsedMs,
  }
}

const funds = async (runner: Runner) => (await runner.read(TEST_LEDGER, accountOf)).fundsMicros

describe("a rejection", () => {
  it("is decided again, and not returned, if another process wrote since", async () => {
    const { runners, pass } = processes(2)
    const [one, two] = runners as [Runner, Runner]
    await executeOnLedger(one, addFundsCommand(5))
    expect(await funds(two)).toBe(5)
    pass(1)
    await executeOnLedger(one, addFundsCommand(5))
    // Its cached state would reject the charge; a state of 500 ms ago is good enough only for reads.
    expect(await funds(two)).toBe(5)
    expect((await executeOnLedger(two, pendingChargeCommand("chg_1", 10))).accepted).toBe(true)
  })

  it("is decided again if another process wrote before the request, during an append", async () => {
    const { store, runners, pass, open } = processes(1)
    const [one] = runners as [Runner]
    await executeOnLedger(one, addFundsCommand(5))
    const gate = Promise.withResolvers<void>()
    const late = open({
      ...store,
      append: async (...args) => {
        const appended = await store.append(...args)
        await gate.promise
        return appended
      },
    })
    const first = executeOnLedger(late, pendingChargeCommand("chg_1", 5))
    await new Promise(setImmediate)
    pass(1)
    await executeOnLedger(one, addFundsCommand(5))
    pass(1)
    const second = executeOnLedger(late, pendingChargeCommand("chg_2", 5))
    pass(1)
    gate.resolve()
    expect((await first).accepted).toBe(true)
    expect((await second).accepted).toBe(true)
  })

  it("is confirmed by the store, with one read for a whole batch", async () => {
    const { runners, reads, pass } = processes(1)
    const [one] = runners as [Runner]
    await executeOnLedger(one, addFundsCommand(5))
    pass(10)
    reads.length = 0
    const refused = await Promise.all(
      [1, 2, 3].map((i) => executeOnLedger(one, pendingChargeCommand(`chg_${i}`, 6))),
    )
    expect(refused.map(({ accepted }) => accepted)).toEqual([false, false, false])
    expect(reads).toEqual([TEST_LEDGER_STREAM])
  })

  it("needs no read if the process was notified of everything stored since the request", async () => {
    const { runners, reads, now } = processes(1)
    const [one] = runners as [Runner]
    await executeOnLedger(one, addFundsCommand(5))
    reads.length = 0
    one.noteConfirmed(now())
    await executeOnLedger(one, pendingChargeCommand("chg_1", 6))
    expect(reads).toEqual([])
  })
})

describe("a read", () => {
  it("is at most a second old", async () => {
    const { runners, pass } = processes(2)
    const [one, two] = runners as [Runner, Runner]
    await executeOnLedger(one, addFundsCommand(5))
    expect(await funds(two)).toBe(5)
    await executeOnLedger(one, addFundsCommand(7))
    pass(1_000)
    expect(await funds(two)).toBe(5)
    pass(1)
    expect(await funds(two)).toBe(12)
  })

  it("needs no store access while the process is notified of everything stored", async () => {
    const { runners, reads, pass, now } = processes(1)
    const [one] = runners as [Runner]
    await executeOnLedger(one, addFundsCommand(5))
    reads.length = 0
    for (let i = 0; i < 5; i += 1) {
      pass(900)
      one.noteConfirmed(now())
      expect(await funds(one)).toBe(5)
    }
    expect(reads).toEqual([])
  })

  it("never returns a state from before the request, however long it takes", async () => {
    const { store, runners, pass, open } = processes(1)
    const [one] = runners as [Runner]
    await executeOnLedger(one, addFundsCommand(5))
    const gate = Promise.withResolvers<void>()
    const late = open(storeWithDelayedReads(store, gate.promise))
    const first = funds(late)
    await new Promise(setImmediate)
    await executeOnLedger(one, addFundsCommand(7))
    pass(1_001)
    const second = funds(late)
    gate.resolve()
    expect(await second).toBe(12)
    // The first request came before the other write, so both states are correct.
    expect([5, 12]).toContain(await first)
  })

  it("is refreshed immediately if the process was notified of a fact that its state lacks", async () => {
    const { store, runners } = processes(2)
    const [one, two] = runners as [Runner, Runner]
    await executeOnLedger(one, addFundsCommand(5))
    await funds(two)
    await executeOnLedger(one, addFundsCommand(7))
    two.noteAppended(await storedEventsIn(store))
    expect(await funds(two)).toBe(12)
    const cached = await two.readCached(TEST_LEDGER, accountOf)
    expect(cached.fundsMicros).toBe(12)
  })

  it("never lacks a notified fact, even while another caller refreshes the state", async () => {
    const { store, runners, open, now } = processes(1)
    const [one] = runners as [Runner]
    await executeOnLedger(one, addFundsCommand(5))
    let gate = Promise.resolve()
    const late = open({
      ...store,
      read: async function* (...args: Parameters<typeof store.read>) {
        await gate
        yield* store.read(...args)
      },
    })
    expect(await funds(late)).toBe(5)
    await executeOnLedger(one, addFundsCommand(7))
    late.noteAppended(await storedEventsIn(store))
    late.noteConfirmed(now())
    const reading = Promise.withResolvers<void>()
    gate = reading.promise
    const refreshing = funds(late)
    await new Promise(setImmediate)
    const cached = late.readCached(TEST_LEDGER, accountOf)
    reading.resolve()
    expect((await cached).fundsMicros).toBe(12)
    expect(await refreshing).toBe(12)
  })

  it("never returns an unstored fact at the revision of a notified one", async () => {
    const { store, runners, open, now } = processes(1)
    const [one] = runners as [Runner]
    await executeOnLedger(one, addFundsCommand(5))
    const gate = Promise.withResolvers<void>()
    const late = open({
      ...store,
      append: async (...args) => {
        await gate.promise
        return store.append(...args)
      },
    })
    expect(await funds(late)).toBe(5)
    const adding = executeOnLedger(late, addFundsCommand(3))
    await new Promise(setImmediate)
    expect((await late.readCached(TEST_LEDGER, accountOf)).fundsMicros).toBe(8)
    await executeOnLedger(one, addFundsCommand(7))
    late.noteAppended(await storedEventsIn(store))
    late.noteConfirmed(now())
    const cached = late.readCached(TEST_LEDGER, accountOf)
    gate.resolve()
    expect((await cached).fundsMicros).toBe(15)
    expect((await adding).accepted).toBe(true)
  })
})

describe("many processes on one stream", () => {
  it("take turns with a lock after two conflicts, and never exceed the funds", async () => {
    const { runners, store, taken } = processes(4)
    await executeOnLedger(runners[0] as Runner, addFundsCommand(50))
    const one = async (runner: Runner, name: string) => {
      const outcomes = []
      for (let i = 0; i < 25; i += 1) {
        outcomes.push(
          await executeOnLedger(runner, pendingChargeCommand(`${name}_${i}`, 1), 600_000),
        )
      }
      return outcomes
    }
    const outcomes = (await Promise.all(runners.map((runner, i) => one(runner, `p${i}`)))).flat()
    expect(outcomes.filter(({ accepted }) => accepted)).toHaveLength(50)
    const charged = (await storedEventsIn(store)).filter(({ type }) => type === "Charged")
    expect(charged).toHaveLength(50)
    expect(taken.length).toBeGreaterThan(0)
    expect(new Set(taken)).toEqual(new Set([TEST_LEDGER_STREAM]))
  })

  it("write without the lock if it does not become free in time", async () => {
    const { runners, store } = processes(2)
    const [one, two] = runners as [Runner, Runner]
    await executeOnLedger(one, addFundsCommand(50))
    for (let i = 0; i < 10; i += 1) {
      await Promise.all([
        executeOnLedger(one, pendingChargeCommand(`a_${i}`, 1)),
        executeOnLedger(two, pendingChargeCommand(`b_${i}`, 1)),
      ])
    }
    expect((await storedEventsIn(store)).filter(({ type }) => type === "Charged")).toHaveLength(20)
  })
})

/** A runner whose time does not advance, so a caller that is not turned away immediately waits forever. */
function staleStoreFixture() {
  const memory = openMemoryEventStore()
  const now = { isStale: false, isLost: false, elapsedMs: 0 }
  const throwIfStale = (): void => {
    if (now.isStale) throw new StaleStore("it is an older copy")
  }
  const store: EventStore = {
    ...memory,
    append: async (...given) => {
      throwIfStale()
      const appended = await memory.append(...given)
      if (!now.isLost) return appended
      now.isStale = true
      throw new UnknownOutcome("the connection broke")
    },
    read: async function* (...given) {
      throwIfStale()
      yield* memory.read(...given)
    },
  }
  const warnings: string[] = []
  const runner = runnerOn(store, openMemoryCheckpoints(), warnings, () => now.elapsedMs)
  return { runner, memory, now, warnings }
}

it("turns callers away immediately when the store is stale, and keeps the buffered calls", async () => {
  const { runner, memory, now } = staleStoreFixture()
  await executeOnLedger(runner, addFundsCommand(1_000))
  expect(await runner.buffer(TEST_LEDGER, SERVED_CALL)).toBeNull()
  now.isStale = true
  now.elapsedMs = 2_000
  for (const ask of [
    () => executeOnLedger(runner, addFundsCommand(1)),
    () => executeOnLedger(runner, addFundsCommand(2)),
    () => runner.readLatest(TEST_LEDGER, () => null),
  ]) {
    await expect(ask()).rejects.toThrow(StaleStore)
  }
  now.isStale = false
  await runner.flush()
  const types = (await storedEventsIn(memory)).map(({ type }) => type)
  expect(types.filter((type) => type === "ApiCallsCounted")).toHaveLength(1)
  expect(types.filter((type) => type === "FundsAdded")).toHaveLength(1)
})

it("reports an unknown outcome immediately when the store is stale after a lost append", async () => {
  const { runner, now } = staleStoreFixture()
  await executeOnLedger(runner, addFundsCommand(1_000))
  now.isLost = true
  await expect(executeOnLedger(runner, addFundsCommand(1))).rejects.toThrow(OutcomeUnknown)
})
