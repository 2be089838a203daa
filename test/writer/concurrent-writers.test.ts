/** Several processes write one stream: whatever one remembers, the store has the last word. */
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

/** Processes on one store and one time, which passes by pausing or by `pass`. */
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

describe("a no", () => {
  it("is decided again where another process wrote since, and not told", async () => {
    const { runners, pass } = processes(2)
    const [one, two] = runners as [Runner, Runner]
    await executeOnLedger(one, addFundsCommand(5))
    expect(await funds(two)).toBe(5)
    pass(1)
    await executeOnLedger(one, addFundsCommand(5))
    // By what it remembers it would refuse; half a second old is good enough to look at only.
    expect(await funds(two)).toBe(5)
    expect((await executeOnLedger(two, pendingChargeCommand("chg_1", 10))).accepted).toBe(true)
  })

  it("is decided again where another wrote before its caller came, behind an append on its way", async () => {
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

  it("stands where the store says the same, after one look at it for a whole batch", async () => {
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

  it("needs no look where everything stored since its caller came was heard", async () => {
    const { runners, reads, now } = processes(1)
    const [one] = runners as [Runner]
    await executeOnLedger(one, addFundsCommand(5))
    reads.length = 0
    one.noteConfirmed(now())
    await executeOnLedger(one, pendingChargeCommand("chg_1", 6))
    expect(reads).toEqual([])
  })
})

describe("what is looked at", () => {
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

  it("stays valid without a look while everything stored is heard", async () => {
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

  it("is not what was so before the caller came, however long it was on its way", async () => {
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
    // Who came before the others wrote may see either.
    expect([5, 12]).toContain(await first)
  })

  it("is brought up at once where a fact was heard that it lacks", async () => {
    const { store, runners } = processes(2)
    const [one, two] = runners as [Runner, Runner]
    await executeOnLedger(one, addFundsCommand(5))
    await funds(two)
    await executeOnLedger(one, addFundsCommand(7))
    two.noteAppended(await storedEventsIn(store))
    expect(await funds(two)).toBe(12)
    const glimpse = await two.readCached(TEST_LEDGER, accountOf)
    expect(glimpse.fundsMicros).toBe(12)
  })

  it("is not what lacks a heard fact, while another caller has it brought up", async () => {
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
    const bringingUp = funds(late)
    await new Promise(setImmediate)
    const glimpse = late.readCached(TEST_LEDGER, accountOf)
    reading.resolve()
    expect((await glimpse).fundsMicros).toBe(12)
    expect(await bringingUp).toBe(12)
  })

  it("is not what has a fact of its own in the place of one that was heard", async () => {
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
    const glimpse = late.readCached(TEST_LEDGER, accountOf)
    gate.resolve()
    expect((await glimpse).fundsMicros).toBe(15)
    expect((await adding).accepted).toBe(true)
  })
})

describe("many processes on one stream", () => {
  it("take turns by a lock once they were in each other's way twice, and let nothing by", async () => {
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

  it("write all the same where a lock is not free in time", async () => {
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

/** A runner whose time stands still: who is not turned away at once never is. */
function olderBench() {
  const memory = openMemoryEventStore()
  const now = { isOlder: false, isLost: false, elapsedMs: 0 }
  const refuse = (): void => {
    if (now.isOlder) throw new StaleStore("it is an older copy")
  }
  const store: EventStore = {
    ...memory,
    append: async (...given) => {
      refuse()
      const appended = await memory.append(...given)
      if (!now.isLost) return appended
      now.isOlder = true
      throw new UnknownOutcome("the connection broke")
    },
    read: async function* (...given) {
      refuse()
      yield* memory.read(...given)
    },
  }
  const warnings: string[] = []
  const runner = runnerOn(store, openMemoryCheckpoints(), warnings, () => now.elapsedMs)
  return { runner, memory, now, warnings }
}

it("turns every caller away at once, and keeps what was served and counted", async () => {
  const { runner, memory, now } = olderBench()
  await executeOnLedger(runner, addFundsCommand(1_000))
  expect(await runner.buffer(TEST_LEDGER, SERVED_CALL)).toBeNull()
  now.isOlder = true
  now.elapsedMs = 2_000
  for (const ask of [
    () => executeOnLedger(runner, addFundsCommand(1)),
    () => executeOnLedger(runner, addFundsCommand(2)),
    () => runner.readLatest(TEST_LEDGER, () => null),
  ]) {
    await expect(ask()).rejects.toThrow(StaleStore)
  }
  now.isOlder = false
  await runner.flush()
  const types = (await storedEventsIn(memory)).map(({ type }) => type)
  expect(types.filter((type) => type === "ApiCallsCounted")).toHaveLength(1)
  expect(types.filter((type) => type === "FundsAdded")).toHaveLength(1)
})

it("leaves it open at once whether an append in doubt is stored", async () => {
  const { runner, now } = olderBench()
  await executeOnLedger(runner, addFundsCommand(1_000))
  now.isLost = true
  await expect(executeOnLedger(runner, addFundsCommand(1))).rejects.toThrow(OutcomeUnknown)
})
