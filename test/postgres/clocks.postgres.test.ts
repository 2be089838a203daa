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

/** A database with a time and a latency that the test sets, and a pacer. */
class ManualClocks {
  elapsedMs = 1_000
  databaseMs = 1_800_000_000_000
  /** The machine's wall clock, which is used only to detect jumps. */
  wallMs = 7_000
  answerMs = 0
  fault: Error | null = null
  readonly warnings: string[] = []
  readonly pacer: Pacer = { elapsedMs: () => this.elapsedMs, pause: async () => undefined }

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
    const warn = (message: string) => this.warnings.push(message)
    const clock = await openDatabaseClock(pool, this.pacer, warn, () => this.wallMs)
    onTestFinished(() => clock.stop())
    return clock
  }
}

describe("the database's clock", () => {
  it("is the database's time, advanced by the process's monotonic clock", async () => {
    const clocks = new ManualClocks()
    const clock = await clocks.open()
    expect(clock.now()).toBe(1_800_000_000_000)
    clocks.pass(59_999)
    expect(clock.now()).toBe(1_800_000_059_999)
  })

  it("corrects for the latency of the answer", async () => {
    const clocks = new ManualClocks()
    clocks.answerMs = 800
    const clock = await clocks.open()
    expect(clock.now()).toBe(clocks.databaseMs)
  })

  it("is unsure without a measurement of the last minute", async () => {
    const clocks = new ManualClocks()
    const clock = await clocks.open()
    clocks.pass(60_000)
    expect(clock.now()).toBe(clocks.databaseMs)
    clocks.pass(1)
    expect(() => clock.now()).toThrow(ClockUnsure)
    await clock.measure()
    expect(clock.now()).toBe(clocks.databaseMs)
  })

  it("ignores a measurement that takes longer than a second", async () => {
    const clocks = new ManualClocks()
    clocks.answerMs = 1_001
    const clock = await clocks.open()
    expect(() => clock.now()).toThrow(ClockUnsure)
    clocks.answerMs = 1_000
    await clock.measure()
    expect(clock.now()).toBe(clocks.databaseMs)
  })

  it.each([2_001, -2_001])(
    "is unsure after a jump of %i ms until it is measured again",
    async (ms) => {
      const clocks = new ManualClocks()
      const clock = await clocks.open()
      clocks.databaseMs += ms
      await clock.measure()
      expect(() => clock.now()).toThrow(ClockUnsure)
      expect(clocks.warnings).toEqual([
        "the ledger's clock jumped; writing waits for a second measurement",
      ])
      await clock.measure()
      expect(clock.now()).toBe(clocks.databaseMs)
      expect(clocks.warnings).toHaveLength(1)
    },
  )

  it.each([2_000, -2_000])("follows a drift of %i ms", async (ms) => {
    const clocks = new ManualClocks()
    const clock = await clocks.open()
    clocks.databaseMs += ms
    await clock.measure()
    expect(clock.now()).toBe(clocks.databaseMs)
    expect(clocks.warnings).toEqual([])
  })

  it.each([
    [
      "slept, while its monotonic clock did not advance",
      { elapsedMs: 0, wallMs: 600_000, databaseMs: 600_000 },
      1,
    ],
    ["counts time at a wrong rate", { elapsedMs: 600_000, wallMs: 0, databaseMs: 0 }, 1],
    ["counts time backwards", { elapsedMs: -600, wallMs: -600, databaseMs: 0 }, 0],
    ["was set ahead", { elapsedMs: 0, wallMs: 600_000, databaseMs: 0 }, 0],
    ["was set back", { elapsedMs: 0, wallMs: -600_000, databaseMs: 0 }, 0],
  ])("measures again before it returns a time on a machine that %s", async (...given) => {
    const [, leap, jumps] = given
    const clocks = new ManualClocks()
    const clock = await clocks.open()
    clocks.elapsedMs += leap.elapsedMs
    clocks.wallMs += leap.wallMs
    clocks.databaseMs += leap.databaseMs
    expect(() => clock.now()).toThrow(ClockUnsure)
    await expect.poll(() => clock.now()).toBe(clocks.databaseMs)
    expect(clocks.warnings).toHaveLength(jumps)
  })

  it("cannot be opened without the database, and logs a later loss", async () => {
    const clocks = new ManualClocks()
    clocks.fault = new Error("gone")
    await expect(clocks.open()).rejects.toThrow("gone")
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] })
    onTestFinished(() => void vi.useRealTimers())
    clocks.fault = null
    const clock = await clocks.open()
    clocks.fault = new Error("gone")
    await vi.advanceTimersByTimeAsync(10_000)
    expect(clocks.warnings).toEqual(["the ledger's clock could not be measured"])
    clocks.fault = null
    clocks.pass(50_000)
    await vi.advanceTimersByTimeAsync(10_000)
    clocks.pass(59_000)
    expect(clock.now()).toBe(clocks.databaseMs)
  })

  it("agrees with a real database to within the latency of a query", async () => {
    const pool = database.pool()
    const clock = await openDatabaseClock(pool, machinePacer, () => undefined)
    const before = clock.now()
    const { rows } = await pool.query<{ now: number }>(
      "select (extract(epoch from clock_timestamp()) * 1000)::bigint as now",
    )
    const after = clock.now()
    clock.stop()
    // If the first answer is asymmetric, the measurement is off by up to its duration, 1 s at most.
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
  // The last notification may arrive after the pools are closed.
  const warn = (_message: string, error: unknown) => {
    if (!isOver) expect.unreachable(String(error))
  }
  return openTestClock({ pool: database.pool(), pacer: machinePacer, processes, warn })
}

describe("the test clock", () => {
  it("does not advance by itself, and keeps its time over a restart", async () => {
    const clock = await openInProcess()
    const begin = clock.now()
    expect(clock.now()).toBe(begin)
    await clock.set(begin + 12_345_678_901)
    expect(clock.now()).toBe(begin + 12_345_678_901)
    expect((await openInProcess()).now()).toBe(begin + 12_345_678_901)
  })

  it("can be set to its current time, even if it is new", async () => {
    await database.pool().query("delete from ledger.test_clock")
    const clock = await openInProcess()
    const begun = clock.now()
    await clock.set(begun)
    expect(clock.now()).toBe(begun)
  })

  it("advances only", async () => {
    const clock = await openInProcess()
    const now = clock.now()
    await clock.set(now)
    await expect(clock.set(now - 1)).rejects.toThrow(RangeError)
    expect(clock.now()).toBe(now)
  })

  it("is the same in all processes once it is set, after each ran its hooks", async () => {
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

  it("ends at the latest of the times that processes set concurrently", async () => {
    const clocks = [await openInProcess(), await openInProcess(), await openInProcess()]
    const begin = (clocks[0] as TestClock).now()
    const set = await Promise.allSettled(clocks.map((clock, i) => clock.set(begin + 10 + i)))
    expect(set.some(({ status }) => status === "fulfilled")).toBe(true)
    await expect.poll(() => clocks.map((clock) => clock.now())).toEqual(Array(3).fill(begin + 12))
  })
})

describe("a pause", () => {
  it("ends immediately if its signal is or becomes aborted", async () => {
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
