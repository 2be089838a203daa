/** Several processes write one stream: whatever one remembers, the store has the last word. */
import { describe, expect, it } from "vitest"
import { openMemoryCheckpoints } from "../../adapters/postgres/checkpoints/checkpoints.ts"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type { EventStore } from "../../adapters/eventstore/port.ts"
import { OlderStore, UnknownOutcome } from "../../adapters/eventstore/port.ts"
import { openMemoryLocks } from "../../adapters/postgres/locks/locks.ts"
import type { Locks } from "../../adapters/postgres/locks/port.ts"
import { accountOf } from "../../domain/charging/ledger-views.ts"
import type { Runner } from "../../src/frame/writer/run.ts"
import { OutcomeUnknown } from "../../src/frame/writer/run.ts"
import {
  OWN,
  STREAM,
  addFunds,
  charge,
  execute,
  runnerWith,
  stored,
  CALL,
  runnerOn,
  tellingLate,
  virtualPacer,
} from "./bench.ts"

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
    take: async (name, timeoutMs) => {
      taken.push(name)
      return memory.take(name, timeoutMs)
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
    pass: pacer.pass,
    now: pacer.elapsedMs,
  }
}

const funds = async (runner: Runner) => (await runner.read(OWN, accountOf)).fundsMicros

describe("a no", () => {
  it("is decided again where another process wrote since, and not told", async () => {
    const { runners, pass } = processes(2)
    const [one, two] = runners as [Runner, Runner]
    await execute(one, addFunds(5))
    expect(await funds(two)).toBe(5)
    pass(1)
    await execute(one, addFunds(5))
    // By what it remembers it would refuse; half a second old is good enough to look at only.
    expect(await funds(two)).toBe(5)
    expect((await execute(two, charge("chg_1", 10))).accepted).toBe(true)
  })

  it("is decided again where another wrote before its caller came, behind an append on its way", async () => {
    const { store, runners, pass, open } = processes(1)
    const [one] = runners as [Runner]
    await execute(one, addFunds(5))
    const gate = Promise.withResolvers<void>()
    const late = open({
      ...store,
      append: async (...args) => {
        const appended = await store.append(...args)
        await gate.promise
        return appended
      },
    })
    const first = execute(late, charge("chg_1", 5))
    await new Promise(setImmediate)
    pass(1)
    await execute(one, addFunds(5))
    pass(1)
    const second = execute(late, charge("chg_2", 5))
    pass(1)
    gate.resolve()
    expect((await first).accepted).toBe(true)
    expect((await second).accepted).toBe(true)
  })

  it("stands where the store says the same, after one look at it for a whole batch", async () => {
    const { runners, reads, pass } = processes(1)
    const [one] = runners as [Runner]
    await execute(one, addFunds(5))
    pass(10)
    reads.length = 0
    const refused = await Promise.all([1, 2, 3].map((i) => execute(one, charge(`chg_${i}`, 6))))
    expect(refused.map(({ accepted }) => accepted)).toEqual([false, false, false])
    expect(reads).toEqual([STREAM])
  })

  it("needs no look where everything stored since its caller came was heard", async () => {
    const { runners, reads, now } = processes(1)
    const [one] = runners as [Runner]
    await execute(one, addFunds(5))
    reads.length = 0
    one.confirmed(now())
    await execute(one, charge("chg_1", 6))
    expect(reads).toEqual([])
  })
})

describe("what is looked at", () => {
  it("is at most a second old", async () => {
    const { runners, pass } = processes(2)
    const [one, two] = runners as [Runner, Runner]
    await execute(one, addFunds(5))
    expect(await funds(two)).toBe(5)
    await execute(one, addFunds(7))
    pass(1_000)
    expect(await funds(two)).toBe(5)
    pass(1)
    expect(await funds(two)).toBe(12)
  })

  it("stays valid without a look while everything stored is heard", async () => {
    const { runners, reads, pass, now } = processes(1)
    const [one] = runners as [Runner]
    await execute(one, addFunds(5))
    reads.length = 0
    for (let i = 0; i < 5; i += 1) {
      pass(900)
      one.confirmed(now())
      expect(await funds(one)).toBe(5)
    }
    expect(reads).toEqual([])
  })

  it("is not what was so before the caller came, however long it was on its way", async () => {
    const { store, runners, pass, open } = processes(1)
    const [one] = runners as [Runner]
    await execute(one, addFunds(5))
    const gate = Promise.withResolvers<void>()
    const late = open(tellingLate(store, gate.promise))
    const first = funds(late)
    await new Promise(setImmediate)
    await execute(one, addFunds(7))
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
    await execute(one, addFunds(5))
    await funds(two)
    await execute(one, addFunds(7))
    two.heard(await stored(store))
    expect(await funds(two)).toBe(12)
    const glimpse = await two.glance(OWN, accountOf)
    expect(glimpse.fundsMicros).toBe(12)
  })

  it("is not what lacks a heard fact, while another caller has it brought up", async () => {
    const { store, runners, open, now } = processes(1)
    const [one] = runners as [Runner]
    await execute(one, addFunds(5))
    let gate = Promise.resolve()
    const late = open({
      ...store,
      read: async function* (...args: Parameters<typeof store.read>) {
        await gate
        yield* store.read(...args)
      },
    })
    expect(await funds(late)).toBe(5)
    await execute(one, addFunds(7))
    late.heard(await stored(store))
    late.confirmed(now())
    const reading = Promise.withResolvers<void>()
    gate = reading.promise
    const bringingUp = funds(late)
    await new Promise(setImmediate)
    const glimpse = late.glance(OWN, accountOf)
    reading.resolve()
    expect((await glimpse).fundsMicros).toBe(12)
    expect(await bringingUp).toBe(12)
  })

  it("is not what has a fact of its own in the place of one that was heard", async () => {
    const { store, runners, open, now } = processes(1)
    const [one] = runners as [Runner]
    await execute(one, addFunds(5))
    const gate = Promise.withResolvers<void>()
    const late = open({
      ...store,
      append: async (...args) => {
        await gate.promise
        return store.append(...args)
      },
    })
    expect(await funds(late)).toBe(5)
    const adding = execute(late, addFunds(3))
    await new Promise(setImmediate)
    expect((await late.glance(OWN, accountOf)).fundsMicros).toBe(8)
    await execute(one, addFunds(7))
    late.heard(await stored(store))
    late.confirmed(now())
    const glimpse = late.glance(OWN, accountOf)
    gate.resolve()
    expect((await glimpse).fundsMicros).toBe(15)
    expect((await adding).accepted).toBe(true)
  })
})

describe("many processes on one stream", () => {
  it("take turns by a lock once they were in each other's way twice, and let nothing by", async () => {
    const { runners, store, taken } = processes(4)
    await execute(runners[0] as Runner, addFunds(50))
    const one = async (runner: Runner, name: string) => {
      const outcomes = []
      for (let i = 0; i < 25; i += 1) {
        outcomes.push(await execute(runner, charge(`${name}_${i}`, 1), 600_000))
      }
      return outcomes
    }
    const outcomes = (await Promise.all(runners.map((runner, i) => one(runner, `p${i}`)))).flat()
    expect(outcomes.filter(({ accepted }) => accepted)).toHaveLength(50)
    const charged = (await stored(store)).filter(({ type }) => type === "Charged")
    expect(charged).toHaveLength(50)
    expect(taken.length).toBeGreaterThan(0)
    expect(new Set(taken)).toEqual(new Set([STREAM]))
  })

  it("write all the same where a lock is not free in time", async () => {
    const { runners, store } = processes(2)
    const [one, two] = runners as [Runner, Runner]
    await execute(one, addFunds(50))
    for (let i = 0; i < 10; i += 1) {
      await Promise.all([execute(one, charge(`a_${i}`, 1)), execute(two, charge(`b_${i}`, 1))])
    }
    expect((await stored(store)).filter(({ type }) => type === "Charged")).toHaveLength(20)
  })
})

/** A runner whose time stands still: who is not turned away at once never is. */
function olderBench() {
  const memory = openMemoryEventStore()
  const now = { isOlder: false, isLost: false, elapsedMs: 0 }
  const refuse = (): void => {
    if (now.isOlder) throw new OlderStore("it is an older copy")
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
  await execute(runner, addFunds(1_000))
  expect(await runner.gather(OWN, CALL)).toBeNull()
  now.isOlder = true
  now.elapsedMs = 2_000
  for (const ask of [
    () => execute(runner, addFunds(1)),
    () => execute(runner, addFunds(2)),
    () => runner.readLatest(OWN, () => null),
  ]) {
    await expect(ask()).rejects.toThrow(OlderStore)
  }
  now.isOlder = false
  await runner.record()
  const types = (await stored(memory)).map(({ type }) => type)
  expect(types.filter((type) => type === "ApiCallsCounted")).toHaveLength(1)
  expect(types.filter((type) => type === "FundsAdded")).toHaveLength(1)
})

it("leaves it open at once whether an append in doubt is stored", async () => {
  const { runner, now } = olderBench()
  await execute(runner, addFunds(1_000))
  now.isLost = true
  await expect(execute(runner, addFunds(1))).rejects.toThrow(OutcomeUnknown)
})
