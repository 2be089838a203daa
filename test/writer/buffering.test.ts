/**
 * Buffered calls: they count immediately, are stored in front of the next append's facts, and are neither lost nor
 * stored twice, whatever happens to that append.
 */
import { describe, expect, it } from "vitest"
import { ClockUnsure } from "../../adapters/machine/clock/port.ts"
import type { AppendFault } from "../../adapters/eventstore/memory.ts"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type { EventStore } from "../../adapters/eventstore/port.ts"
import type { Runner } from "../../src/frame/writer/runner.ts"
import {
  SERVED_CALL,
  TEST_LEDGER,
  addFundsCommand,
  pendingChargeCommand,
  executeOnLedger,
  runnerOn,
  runnerWith,
  storedEventsIn,
  TEST_LEDGER_STREAM,
  virtualPacer,
} from "./runner-fixture.ts"

const NOON = Date.UTC(2026, 10, 21, 12)
const DAY = 86_400_000
const RECORD_AFTER_MS = 5_000
const OPEN = { type: "OpenLedger", prepaidOnly: false, creditLineMicros: 0 } as const
/**
 * A runner whose clock the test moves and which advances by `passing` ms with each read. `endTimers` ends the
 * timer that stores buffered calls.
 */
function bufferFixture(
  faults: (attempt: number) => AppendFault = () => "none",
  start = NOON,
  passing = 0,
) {
  let attempts = 0
  const store = openMemoryEventStore({
    chooseFault: () => {
      attempts += 1
      return faults(attempts)
    },
  })
  const warnings: string[] = []
  let now = start
  const timers: (() => void)[] = []
  const pause = (ms: number, signal?: AbortSignal) =>
    signal === undefined
      ? new Promise<void>((resolve) => setImmediate(resolve))
      : new Promise<void>((resolve) => {
          if (ms === RECORD_AFTER_MS) timers.push(resolve)
          signal.addEventListener("abort", () => resolve())
        })
  const pacer = { elapsedMs: () => 0, pause }
  const runner = runnerWith({
    store,
    clock: { now: () => (now += passing) },
    pacer,
    warn: (message) => warnings.push(message),
  })
  const endTimers = () => {
    for (const end of timers.splice(0)) end()
  }
  return { store, runner, warnings, endTimers, advance: (ms: number) => (now += ms), timers }
}

const call = (runner: Runner) => runner.buffer(TEST_LEDGER, SERVED_CALL)

async function typesOf(store: EventStore): Promise<readonly string[]> {
  return (await storedEventsIn(store)).map(({ type }) => type)
}

async function countsOf(store: EventStore): Promise<readonly number[]> {
  const events = (await storedEventsIn(store)).filter(({ type }) => type === "ApiCallsCounted")
  return events.map(({ data }) => JSON.parse(data).counters[0].calls as number)
}

const limitOf = (amountMicros: number) => ({
  type: "SetLimit" as const,
  holder: "company" as const,
  holderId: null,
  class: "general" as const,
  period: "month" as const,
  amountMicros,
  remindersMicros: [],
  leaveKeysOut: false,
})

describe("a buffered call", () => {
  it("is stored once, in front of the next facts", async () => {
    const { runner, store } = bufferFixture()
    for (let i = 0; i < 3; i += 1) expect(await call(runner)).toBeNull()
    expect(await typesOf(store)).toEqual([])
    await executeOnLedger(runner, addFundsCommand(5))
    await executeOnLedger(runner, addFundsCommand(6))
    expect(await typesOf(store)).toEqual(["ApiCallsCounted", "FundsAdded", "FundsAdded"])
    expect(await countsOf(store)).toEqual([3])
  })

  it("is never later than the facts after it, wherever a month ends in between", async () => {
    const newMonth = Date.UTC(2026, 11, 1)
    const seen = new Set<string>()
    for (let before = 1; before <= 12; before += 1) {
      const { runner, store } = bufferFixture(() => "none", newMonth - before, 1)
      await executeOnLedger(runner, OPEN)
      await call(runner)
      await executeOnLedger(runner, pendingChargeCommand("chg_1", 0))
      const facts = (await storedEventsIn(store)).map(({ type, data }) => {
        return { type, at: Date.parse(JSON.parse(data).at) - newMonth }
      })
      const times = facts.map(({ at }) => at)
      expect(times).toEqual(times.toSorted((a, b) => a - b))
      const firstOfMonth = times.findIndex((at) => at >= 0)
      const closed = facts.findIndex(({ type }) => type === "MonthClosed")
      expect(closed).toBe(firstOfMonth > 0 ? firstOfMonth : -1)
      seen.add(facts.map(({ type }) => type).join())
    }
    expect([...seen]).toContain("LedgerOpened,MonthClosed,ApiCallsCounted,Charged")
    expect([...seen]).toContain("LedgerOpened,ApiCallsCounted,Charged")
  })

  it("counts in a refusal, which stores nothing", async () => {
    const { runner, store } = bufferFixture()
    await executeOnLedger(runner, addFundsCommand(1_000))
    await executeOnLedger(runner, limitOf(250))
    await call(runner)
    const { accepted, ...answer } = await executeOnLedger(
      runner,
      pendingChargeCommand("chg_1", 151),
    )
    expect(accepted).toBe(false)
    expect(answer).toMatchObject({
      refusal: { limits: [{ usedMicros: 100, unrecordedMicros: 100 }] },
    })
    expect(await countsOf(store)).toEqual([])
    expect((await executeOnLedger(runner, pendingChargeCommand("chg_2", 150))).accepted).toBe(true)
    expect(await countsOf(store)).toEqual([1])
  })

  it("is rejected if it exceeds a limit, and changes nothing", async () => {
    const { runner, store } = bufferFixture()
    await executeOnLedger(runner, limitOf(250))
    const answers = await Promise.all(Array.from({ length: 6 }, () => call(runner)))
    expect(answers.filter((answer) => answer === null)).toHaveLength(2)
    expect(answers[5]).toMatchObject({ usedMicros: 200, askedMicros: 100, remainingMicros: 50 })
    await runner.flush()
    expect(await countsOf(store)).toEqual([2])
  })

  it("is not rejected because of a charge that is decided but not stored", async () => {
    let called: Promise<unknown> | null = null
    const { runner, store } = bufferFixture((attempt) => {
      if (attempt !== 3) return "none"
      // The charge is in the state, but its append fails, so it must not cause a rejection.
      called = call(runner)
      return "unavailable"
    })
    await executeOnLedger(runner, addFundsCommand(1_000))
    await executeOnLedger(runner, limitOf(250))
    expect((await executeOnLedger(runner, pendingChargeCommand("chg_1", 200))).accepted).toBe(true)
    // The second attempt stores the charge; only then is the call rejected.
    expect(await called).toMatchObject({ usedMicros: 200, unrecordedMicros: 0 })
    expect(await countsOf(store)).toEqual([])
  })

  it("is stored by a timer if no facts follow, and one timer serves many calls", async () => {
    const { runner, store, endTimers, timers } = bufferFixture()
    await call(runner)
    await call(runner)
    expect(timers).toHaveLength(1)
    endTimers()
    await runner.flush()
    expect(await countsOf(store)).toEqual([2])
    await call(runner)
    expect(timers).toHaveLength(1)
  })

  it("is stored at shutdown", async () => {
    const { runner, store } = bufferFixture()
    await call(runner)
    await runner.close()
    expect(await countsOf(store)).toEqual([1])
  })

  it("of a past day is stored before anything else is decided or buffered", async () => {
    const { runner, store, advance } = bufferFixture()
    await call(runner)
    advance(DAY)
    await call(runner)
    expect(await countsOf(store)).toEqual([1])
    advance(DAY)
    expect((await executeOnLedger(runner, pendingChargeCommand("chg_1", 1))).accepted).toBe(false)
    expect(await countsOf(store)).toEqual([1, 1])
    const days = (await storedEventsIn(store)).map(({ data }) => JSON.parse(data).day as string)
    expect(days).toEqual(["2026-11-21T00:00:00.000Z", "2026-11-22T00:00:00.000Z"])
  })
})

describe("an append that starts with buffered calls", () => {
  it.each(["stored-unknown", "unstored-unknown", "unavailable"] as const)(
    "that is %s stores them once",
    async (fault) => {
      const { runner, store } = bufferFixture((attempt) => (attempt === 1 ? fault : "none"))
      await call(runner)
      await call(runner)
      await executeOnLedger(runner, addFundsCommand(5))
      expect(await countsOf(store)).toEqual([2])
      expect(await typesOf(store)).toEqual(["ApiCallsCounted", "FundsAdded"])
    },
  )

  it("that meets another writer's facts stores them once, after those facts", async () => {
    const { runner, store } = bufferFixture()
    await executeOnLedger(runner, addFundsCommand(5))
    await call(runner)
    await executeOnLedger(runnerOn(store), addFundsCommand(7))
    await executeOnLedger(runner, addFundsCommand(6))
    expect(await countsOf(store)).toEqual([1])
    const [, second, third] = await typesOf(store)
    expect([second, third]).toEqual(["FundsAdded", "ApiCallsCounted"])
  })

  it("loses no call that arrives while it is in progress and fails", async () => {
    const { runner, store } = bufferFixture((attempt) => (attempt === 2 ? "unavailable" : "none"))
    await executeOnLedger(runner, addFundsCommand(5))
    await call(runner)
    const failing = executeOnLedger(runner, addFundsCommand(6))
    await Promise.resolve()
    await call(runner)
    await failing
    await runner.flush()
    const counts = await countsOf(store)
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(2)
  })

  it("marks calls that exceed a limit because another writer stored calls meanwhile", async () => {
    const { runner, store } = bufferFixture()
    await executeOnLedger(runner, limitOf(250))
    const other = runnerOn(store)
    await call(runner)
    await call(runner)
    await other.buffer(TEST_LEDGER, SERVED_CALL)
    await other.flush()
    await runner.flush()
    const marks = (await storedEventsIn(store))
      .filter(({ type }) => type === "ApiCallsCounted")
      .map(({ data }) => JSON.parse(data).exemption as string | undefined)
    expect(marks).toEqual([undefined, "limits"])
  })
})

const PAUSES_UNSURE = 3
/**
 * A runner whose clock is unsure after `losesTime`, until a few pauses have passed. After `losesStore` the next append
 * finds the store unavailable.
 */
function unsureClockFixture() {
  let pausesUnsure = 0
  let isUnavailable = false
  const warnings: string[] = []
  const store = openMemoryEventStore({
    chooseFault: () => {
      if (!isUnavailable) return "none"
      isUnavailable = false
      pausesUnsure = PAUSES_UNSURE
      return "unavailable"
    },
  })
  const virtual = virtualPacer()
  const pacer = {
    elapsedMs: virtual.elapsedMs,
    pause: (ms: number, signal?: AbortSignal) => {
      if (signal === undefined) pausesUnsure -= 1
      return virtual.pause(ms, signal)
    },
  }
  const now = () => {
    if (pausesUnsure > 0) throw new ClockUnsure("no measurement")
    return Date.UTC(2026, 10, 21, 12) + pacer.elapsedMs()
  }
  const runner = runnerWith({
    store,
    clock: { now },
    pacer,
    warn: (message) => warnings.push(message),
  })
  const losesTime = (pauses = PAUSES_UNSURE) => (pausesUnsure = pauses)
  const counted = async () => {
    const events = (await storedEventsIn(store)).filter(({ type }) => type === "ApiCallsCounted")
    return events.map(({ data }) => JSON.parse(data).counters[0].calls as number)
  }
  return { runner, warnings, counted, losesTime, losesStore: () => (isUnavailable = true) }
}

describe("a call buffered before the clock was set back", () => {
  const midnight = Date.UTC(2026, 11, 1)

  it.each([
    ["is stored under its own day", () => false],
    ["is stored under its own day even if it is decided again", (attempt: number) => attempt === 2],
  ])("%s", async (_title, isLost) => {
    let now = midnight - 1
    let attempts = 0
    const store = openMemoryEventStore({
      chooseFault: () => {
        attempts += 1
        return isLost(attempts) ? "unavailable" : "none"
      },
    })
    const pacer = { elapsedMs: () => 0, pause: () => new Promise<void>(setImmediate) }
    const runner = runnerWith({
      store,
      clock: { now: () => now },
      pacer: {
        ...pacer,
        pause: (ms) => (ms < 5_000 ? pacer.pause() : new Promise(() => undefined)),
      },
    })
    await executeOnLedger(runner, addFundsCommand(5))
    now = midnight
    await runner.buffer(TEST_LEDGER, SERVED_CALL)
    now = midnight - 1
    await runner.flush()
    const [counted] = (await storedEventsIn(store)).filter(({ type }) => type === "ApiCallsCounted")
    const { at, day } = JSON.parse(counted?.data ?? "{}") as { at: string; day: string }
    expect([at, day]).toEqual(["2026-12-01T00:00:00.000Z", "2026-12-01T00:00:00.000Z"])
  })
})

describe("a call buffered while the ledger's time is unknown", () => {
  it("is stored at shutdown, as soon as the time is known again", async () => {
    const { runner, warnings, counted, losesTime } = unsureClockFixture()
    await runner.buffer(TEST_LEDGER, SERVED_CALL)
    losesTime()
    await runner.close()
    expect(await counted()).toEqual([1])
    expect(warnings).toEqual([])
  })

  it("survives a failed append and does not block later commands", async () => {
    const { runner, warnings, counted, losesStore } = unsureClockFixture()
    await runner.buffer(TEST_LEDGER, SERVED_CALL)
    losesStore()
    await expect(executeOnLedger(runner, addFundsCommand(5))).rejects.toThrow(ClockUnsure)
    await runner.flush()
    expect(await counted()).toEqual([1])
    expect((await executeOnLedger(runner, addFundsCommand(5))).accepted).toBe(true)
    expect(warnings).toEqual([])
  })

  it("is discarded at shutdown only if the time stays unknown, with a warning", async () => {
    const { runner, warnings, counted, losesTime } = unsureClockFixture()
    await runner.buffer(TEST_LEDGER, SERVED_CALL)
    losesTime(Infinity)
    await runner.close()
    expect(await counted()).toEqual([])
    expect(warnings).toEqual([`the buffered items of ${TEST_LEDGER_STREAM} are not stored yet`])
  })
})
