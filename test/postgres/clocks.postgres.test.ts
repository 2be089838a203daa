import type pg from "pg"
import { describe, expect, it, onTestFinished, vi } from "vitest"
import { openDatabaseClock, machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import type { Pacer } from "../../adapters/machine/clock/port.ts"
import { ClockUnsure } from "../../adapters/machine/clock/port.ts"
import type { TestClock } from "../../adapters/machine/clock/test-clock.ts"
import { openTestClock } from "../../adapters/machine/clock/test-clock.ts"
import { registerProcess } from "../../adapters/postgres/leases/postgres.ts"
import { databaseUnderTest } from "./database-under-test.ts"
import { partialFake } from "../support/partial-fake.ts"

const database = await databaseUnderTest()

/** A database whose time, and the time it takes to say so, are set by hand; and a pacer beside it. */
class SetByHand {
  elapsedMs = 1_000
  databaseMs = 1_800_000_000_000
  /** What this machine takes the time for: nobody asks it for more than how fast it passes. */
  wallMs = 7_000
  answerMs = 0
  fault: Error | null = null
  readonly told: string[] = []
  readonly pacer: Pacer = { elapsedMs: () => this.elapsedMs, pause: async () => undefined }

  /** All clocks go on by so much. */
  pass(ms: number): void {
    this.elapsedMs += ms
    this.wallMs += ms
    this.databaseMs += ms
  }

  /** Opens a clock whose own timer never fires in the test. */
  async open() {
    const pool = partialFake<pg.Pool>({
      query: async () => {
        if (this.fault !== null) throw this.fault
        this.pass(this.answerMs / 2)
        const now = this.databaseMs
        this.pass(this.answerMs / 2)
        return { rows: [{ now }] }
      },
    })
    const tell = (message: string) => this.told.push(message)
    const clock = await openDatabaseClock(pool, this.pacer, tell, () => this.wallMs)
    onTestFinished(() => clock.stop())
    return clock
  }
}

describe("the database's clock", () => {
  it("is the database's time, carried on by this process's own clock", async () => {
    const hand = new SetByHand()
    const clock = await hand.open()
    expect(clock.now()).toBe(1_800_000_000_000)
    hand.pass(59_999)
    expect(clock.now()).toBe(1_800_000_059_999)
  })

  it("allows for the time that the answer takes", async () => {
    const hand = new SetByHand()
    hand.answerMs = 800
    const clock = await hand.open()
    expect(clock.now()).toBe(hand.databaseMs)
  })

  it("refuses to say the time without a measurement of the last minute", async () => {
    const hand = new SetByHand()
    const clock = await hand.open()
    hand.pass(60_000)
    expect(clock.now()).toBe(hand.databaseMs)
    hand.pass(1)
    expect(() => clock.now()).toThrow(ClockUnsure)
    await clock.measure()
    expect(clock.now()).toBe(hand.databaseMs)
  })

  it("takes no measurement that took longer than a second", async () => {
    const hand = new SetByHand()
    hand.answerMs = 1_001
    const clock = await hand.open()
    expect(() => clock.now()).toThrow(ClockUnsure)
    hand.answerMs = 1_000
    await clock.measure()
    expect(clock.now()).toBe(hand.databaseMs)
  })

  it.each([2_001, -2_001])(
    "refuses after a jump of %i ms until it is measured again",
    async (ms) => {
      const hand = new SetByHand()
      const clock = await hand.open()
      hand.databaseMs += ms
      await clock.measure()
      expect(() => clock.now()).toThrow(ClockUnsure)
      expect(hand.told).toEqual([
        "the ledger's clock jumped; writing waits for a second measurement",
      ])
      await clock.measure()
      expect(clock.now()).toBe(hand.databaseMs)
      expect(hand.told).toHaveLength(1)
    },
  )

  it.each([2_000, -2_000])("follows a drift of %i ms", async (ms) => {
    const hand = new SetByHand()
    const clock = await hand.open()
    hand.databaseMs += ms
    await clock.measure()
    expect(clock.now()).toBe(hand.databaseMs)
    expect(hand.told).toEqual([])
  })

  it.each([
    ["slept: its own clock stood still", { elapsedMs: 0, wallMs: 600_000, databaseMs: 600_000 }, 1],
    ["counts time wrong", { elapsedMs: 600_000, wallMs: 0, databaseMs: 0 }, 1],
    ["counts time backwards", { elapsedMs: -600, wallMs: -600, databaseMs: 0 }, 0],
    ["was set ahead", { elapsedMs: 0, wallMs: 600_000, databaseMs: 0 }, 0],
    ["was set back", { elapsedMs: 0, wallMs: -600_000, databaseMs: 0 }, 0],
  ])("asks the database again before it says the time on a machine that %s", async (...given) => {
    const [, leap, jumps] = given
    const hand = new SetByHand()
    const clock = await hand.open()
    hand.elapsedMs += leap.elapsedMs
    hand.wallMs += leap.wallMs
    hand.databaseMs += leap.databaseMs
    expect(() => clock.now()).toThrow(ClockUnsure)
    await expect.poll(() => clock.now()).toBe(hand.databaseMs)
    expect(hand.told).toHaveLength(jumps)
  })

  it("cannot be opened without the database, and is told of when it is lost later", async () => {
    const hand = new SetByHand()
    hand.fault = new Error("gone")
    await expect(hand.open()).rejects.toThrow("gone")
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] })
    onTestFinished(() => void vi.useRealTimers())
    hand.fault = null
    const clock = await hand.open()
    hand.fault = new Error("gone")
    await vi.advanceTimersByTimeAsync(10_000)
    expect(hand.told).toEqual(["the ledger's clock could not be measured"])
    hand.fault = null
    hand.pass(50_000)
    await vi.advanceTimersByTimeAsync(10_000)
    hand.pass(59_000)
    expect(clock.now()).toBe(hand.databaseMs)
  })

  it("agrees with a real database to within the time it takes to ask", async () => {
    const pool = database.pool()
    const clock = await openDatabaseClock(pool, machinePacer, () => undefined)
    const before = clock.now()
    const { rows } = await pool.query<{ now: number }>(
      "select (extract(epoch from clock_timestamp()) * 1000)::bigint as now",
    )
    const after = clock.now()
    clock.stop()
    // An asymmetric answer of the first measurement may be off by its whole length, 1 s at most.
    expect(rows[0]?.now).toBeGreaterThanOrEqual(before - 1_000)
    expect(rows[0]?.now).toBeLessThanOrEqual(after + 1_000)
  })
})

/** Opens the test clock as another process of the installation. */
async function openInProcess(): Promise<TestClock> {
  const processes = await registerProcess(database.url, () => undefined)
  onTestFinished(() => processes.close())
  let isOver = false
  onTestFinished(() => void (isOver = true))
  // What is called out last may come when the pools are gone.
  const warn = (_message: string, error: unknown) => {
    if (!isOver) expect.unreachable(String(error))
  }
  return openTestClock({ pool: database.pool(), pacer: machinePacer, processes, warn })
}

describe("the test clock", () => {
  it("stands still until it is set, and is where it was after a restart", async () => {
    const clock = await openInProcess()
    const begin = clock.now()
    expect(clock.now()).toBe(begin)
    await clock.set(begin + 12_345_678_901)
    expect(clock.now()).toBe(begin + 12_345_678_901)
    expect((await openInProcess()).now()).toBe(begin + 12_345_678_901)
  })

  it("can be set to where it stands, also when it is new", async () => {
    await database.pool().query("delete from ledger.test_clock")
    const clock = await openInProcess()
    const begun = clock.now()
    await clock.set(begun)
    expect(clock.now()).toBe(begun)
  })

  it("moves forward only", async () => {
    const clock = await openInProcess()
    const now = clock.now()
    await clock.set(now)
    await expect(clock.set(now - 1)).rejects.toThrow(RangeError)
    expect(clock.now()).toBe(now)
  })

  it("is the same in all processes once it is set, and each does first what is to be done", async () => {
    const [one, two, three] = [await openInProcess(), await openInProcess(), await openInProcess()]
    const begin = one.now()
    const done: number[] = []
    two.beforeAdvance(async () => {
      await new Promise(setImmediate)
      done.push(two.now())
    })
    await one.set(begin + 1_000)
    expect([two.now(), three.now()]).toEqual([begin + 1_000, begin + 1_000])
    expect(done).toEqual([begin])
    await three.set(begin + 2_000)
    expect([one.now(), two.now()]).toEqual([begin + 2_000, begin + 2_000])
    expect(done).toEqual([begin, begin + 1_000])
    expect((await openInProcess()).now()).toBe(begin + 2_000)
  })

  it("goes to the latest of the times that processes set at once", async () => {
    const clocks = [await openInProcess(), await openInProcess(), await openInProcess()]
    const begin = (clocks[0] as TestClock).now()
    const set = await Promise.allSettled(clocks.map((clock, i) => clock.set(begin + 10 + i)))
    expect(set.some(({ status }) => status === "fulfilled")).toBe(true)
    await expect.poll(() => clocks.map((clock) => clock.now())).toEqual(Array(3).fill(begin + 12))
  })
})

describe("a pause", () => {
  it("ends at once when its signal aborts, before it or in it", async () => {
    const before = machinePacer.elapsedMs()
    const later = new AbortController()
    const pausing = machinePacer.pause(60_000, later.signal)
    later.abort()
    await pausing
    await machinePacer.pause(60_000, AbortSignal.abort())
    await machinePacer.pause(0)
    expect(machinePacer.elapsedMs() - before).toBeLessThan(30_000)
  })
})
