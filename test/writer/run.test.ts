/** The promises of a stream queue, tested on the memory store with faults on demand. */
import { describe, expect, it } from "vitest"
import type { EventStore } from "../../adapters/eventstore/port.ts"
import { UnknownOutcome } from "../../adapters/eventstore/port.ts"
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import { accountOf } from "../../domain/charging/ledger-views.ts"
import { NO_HASH, expectedHash, readMetadata } from "../../src/frame/kernel/envelope.ts"
import {
  addFundsCommand,
  openRunnerFixture,
  pendingChargeCommand,
  executeOnLedger,
  runnerOn,
  storedEventsIn,
  TEST_LEDGER,
  runnerWith,
} from "./runner-fixture.ts"

describe("a batch", () => {
  it("stores the facts of concurrent callers with one append, in order of arrival", async () => {
    let appends = 0
    const { runner, store } = openRunnerFixture(() => {
      appends += 1
      return "none"
    })
    await Promise.all([1, 2, 3].map((amount) => executeOnLedger(runner, addFundsCommand(amount))))
    expect(appends).toBe(1)
    expect((await storedEventsIn(store)).map(({ data }) => JSON.parse(data).amountMicros)).toEqual([
      "1",
      "2",
      "3",
    ])
  })

  it("decides each command on the state that the earlier ones left, so the funds are never exceeded", async () => {
    const { runner, store } = openRunnerFixture()
    await executeOnLedger(runner, addFundsCommand(100))
    const tries = Array.from({ length: 50 }, (_, i) =>
      executeOnLedger(runner, pendingChargeCommand(`chg_${i}`, 10)),
    )
    const outcomes = await Promise.all(tries)
    expect(outcomes.filter((outcome) => outcome.accepted)).toHaveLength(10)
    expect((await storedEventsIn(store)).filter(({ type }) => type === "Charged")).toHaveLength(10)
  })

  it("chains every stored fact to the one before it by hash", async () => {
    const { runner, store } = openRunnerFixture()
    await executeOnLedger(runner, addFundsCommand(5))
    await Promise.all([
      executeOnLedger(runner, addFundsCommand(6)),
      executeOnLedger(runner, addFundsCommand(7)),
    ])
    let previous = NO_HASH
    for (const event of await storedEventsIn(store)) {
      const { hash } = readMetadata(event.metadata)
      expect(hash).toBe(expectedHash(event, previous))
      previous = hash
    }
    expect(previous).not.toBe(NO_HASH)
  })

  it("rejects a command that cannot be encoded and executes the others", async () => {
    const { runner } = openRunnerFixture()
    const bad = executeOnLedger(runner, pendingChargeCommand("not plain \u0000", 0))
    const good = executeOnLedger(runner, addFundsCommand(1))
    await expect(bad).rejects.toThrow(/plain text/)
    expect((await good).view.fundsMicros).toBe(1)
  })
})

describe("an answer", () => {
  it("is sent only after the store confirmed the append", async () => {
    const { store } = openRunnerFixture()
    let acknowledged = false
    const slow: EventStore = {
      ...store,
      append: async (...args) => {
        const answer = await store.append(...args)
        await new Promise(setImmediate)
        acknowledged = true
        return answer
      },
    }
    const runner = runnerOn(slow)
    const rejection = executeOnLedger(runner, pendingChargeCommand("chg_no", 7)).then(
      () => acknowledged,
    )
    const acceptance = executeOnLedger(runner, addFundsCommand(3)).then(() => acknowledged)
    const queuedRejection = executeOnLedger(runner, pendingChargeCommand("chg_behind", 7)).then(
      () => acknowledged,
    )
    expect(await Promise.all([acceptance, queuedRejection])).toEqual([true, true])
    expect(await rejection).toBe(true)
  })

  it("has the position of the stream's last fact, even if nothing new was recorded", async () => {
    const { runner } = openRunnerFixture()
    await executeOnLedger(runner, addFundsCommand(50))
    const first = await executeOnLedger(runner, pendingChargeCommand("chg_a", 5))
    const again = await executeOnLedger(runner, pendingChargeCommand("chg_a", 5))
    expect(again).toMatchObject({ accepted: true, facts: [] })
    expect(first.accepted && again.accepted && again.position).toEqual(
      first.accepted && first.position,
    )
  })
})

describe("an unknown outcome", () => {
  it.each(["stored-unknown", "unstored-unknown"] as const)(
    "that is %s ends with the fact stored once",
    async (fault) => {
      const { runner, store } = openRunnerFixture((attempt) => (attempt === 1 ? fault : "none"))
      expect((await executeOnLedger(runner, addFundsCommand(9))).view.fundsMicros).toBe(9)
      expect(await storedEventsIn(store)).toHaveLength(1)
    },
  )

  it("past the deadline is reported as unknown, and the next load resolves it", async () => {
    let broken = true
    const { runner, store } = openRunnerFixture((attempt) => {
      if (!broken) return "none"
      return attempt === 1 ? "stored-unknown" : "unavailable"
    })
    await expect(executeOnLedger(runner, addFundsCommand(9), 500)).rejects.toMatchObject({
      name: "OutcomeUnknown",
    })
    broken = false
    expect((await executeOnLedger(runner, addFundsCommand(1))).view.fundsMicros).toBe(10)
    expect(await storedEventsIn(store)).toHaveLength(2)
  })

  it("is resolved by reading if another writer appended after it", async () => {
    const other = openRunnerFixture()
    let hasAppended = false
    const store: EventStore = {
      ...other.store,
      append: async (stream, events, expected) => {
        if (hasAppended) return other.store.append(stream, events, expected)
        hasAppended = true
        await other.store.append(stream, events, expected)
        await executeOnLedger(other.runner, addFundsCommand(1))
        throw new UnknownOutcome("the connection broke")
      },
    }
    const runner = runnerOn(store)
    expect((await executeOnLedger(runner, addFundsCommand(40))).accepted).toBe(true)
    const amounts = (await storedEventsIn(other.store)).map(
      ({ data }) => JSON.parse(data).amountMicros,
    )
    expect(amounts).toEqual(["40", "1"])
  })
})

describe("an unavailable store", () => {
  it("is retried, and nothing is lost", async () => {
    const { runner, store } = openRunnerFixture((attempt) =>
      attempt <= 3 ? "unavailable" : "none",
    )
    expect((await executeOnLedger(runner, addFundsCommand(9))).view.fundsMicros).toBe(9)
    expect(await storedEventsIn(store)).toHaveLength(1)
  })

  it("for longer than the deadline turns callers away, with nothing stored", async () => {
    let isUnavailable = true
    const { runner, store } = openRunnerFixture(() => (isUnavailable ? "unavailable" : "none"))
    await expect(executeOnLedger(runner, addFundsCommand(9), 100)).rejects.toMatchObject({
      name: "DeadlinePassed",
    })
    isUnavailable = false
    expect(await storedEventsIn(store)).toHaveLength(0)
  })
})

describe("another writer of the same stream", () => {
  it("causes a batch to be decided again on the stored state", async () => {
    const one = openRunnerFixture()
    await executeOnLedger(one.runner, addFundsCommand(10))
    const two = one.newRunner()
    expect((await executeOnLedger(two, pendingChargeCommand("chg_1", 8))).accepted).toBe(true)
    // The first runner's state does not contain that charge yet.
    const late = await executeOnLedger(one.runner, pendingChargeCommand("chg_2", 8))
    expect(late.accepted).toBe(false)
  })

  it("never lets two racing writers spend more than the funds", async () => {
    const one = openRunnerFixture()
    await executeOnLedger(one.runner, addFundsCommand(100))
    const two = one.newRunner()
    const tries = Array.from({ length: 40 }, (_, i) =>
      executeOnLedger(i % 2 === 0 ? one.runner : two, pendingChargeCommand(`chg_${i}`, 10)),
    )
    const accepted = (await Promise.all(tries)).filter((outcome) => outcome.accepted)
    const charged = (await storedEventsIn(one.store)).filter(({ type }) => type === "Charged")
    expect(accepted.length).toBe(charged.length)
    expect(charged.length).toBe(10)
  })
})

/** More than the cache keeps of empty streams, and far fewer than it keeps of streams with facts. */
const EMPTY_STREAMS = 1_100

describe("cached streams", () => {
  it("stay cached while requests name streams that do not exist", async () => {
    const { store } = openRunnerFixture()
    const loads: string[] = []
    const watched: EventStore = {
      ...store,
      read: (stream, range) => {
        loads.push(stream)
        return store.read(stream, range)
      },
    }
    const runner = runnerOn(watched)
    await executeOnLedger(runner, addFundsCommand(5))
    for (let i = 0; i < EMPTY_STREAMS; i += 1) {
      await runner.read(ledgerStreamOf(`co_${i}`), accountOf)
    }
    loads.length = 0
    expect((await runner.read(TEST_LEDGER, accountOf)).fundsMicros).toBe(5)
    expect(loads).toEqual([])
    // The oldest empty streams are evicted instead, and load again as empty.
    await runner.read(ledgerStreamOf(`co_${EMPTY_STREAMS - 1}`), accountOf)
    expect(loads).toEqual([])
    expect(await runner.read(ledgerStreamOf("co_0"), accountOf)).toMatchObject({
      opened: false,
    })
    expect(loads).toEqual([ledgerStreamOf("co_0").stream])
  })

  it("stay cached while they are used, however small the cache is", async () => {
    const { store } = openRunnerFixture()
    const pacer = { elapsedMs: () => 0, pause: () => new Promise<void>(() => undefined) }
    const runner = runnerWith({ store, pacer, maxBytes: 1 })
    await executeOnLedger(runner, addFundsCommand(5))
    // The stream becomes idle in the turn after its answer.
    await new Promise(setImmediate)
    const call = { via: "own_key", keyId: "key_1", personId: "per_1" } as const
    const price = { unitPriceMicros: 100, priceVersion: 1 }
    await runner.buffer(TEST_LEDGER, { ...call, ...price })
    await runner.close()
    const types = (await storedEventsIn(store)).map(({ type }) => type)
    expect(types).toEqual(["FundsAdded", "ApiCallsCounted"])
  })
})
