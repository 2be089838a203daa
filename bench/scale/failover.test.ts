import { describe, expect, it } from "vitest"
import type { Costs } from "./capacity.ts"
import { capacityOf, maxTextsPerSecond } from "./capacity.ts"
import type { FailureScenario } from "./failover.ts"
import { simulateFailover } from "./failover.ts"
import { populationOf } from "./population.ts"
import { openProxy } from "./proxy.ts"
import { waitPercentile } from "./simulate.ts"

const COSTS: Costs = {
  textCpu: 1_000,
  textDatabaseCpu: 600,
  textEvents: 3,
  loadCpu: 250,
  factCpu: 15,
  loadDatabaseCpu: 150,
  factDatabaseCpu: 3,
  followCpu: 10,
  followDatabaseCpu: 5,
  appendAlone: 500,
  appendEach: 50,
}
const FAILURE: FailureScenario = {
  population: populationOf(3_000, 5),
  costs: COSTS,
  seed: 11,
  deadProcess: 2,
  loss: "process",
  isEveryCompanyCalling: false,
  processes: 5,
  databaseCores: 4,
}
const usual = simulateFailover(FAILURE)

describe("a process that dies", () => {
  it("comes to the same by the same seed, and to another by another", () => {
    expect(simulateFailover(FAILURE)).toEqual(usual)
    expect(simulateFailover({ ...FAILURE, seed: 12 }).waitsMs).not.toEqual(usual.waitsMs)
  })

  it("has each of its companies that calls answered", () => {
    expect(usual.called).toBe(usual.waitsMs.length)
    expect(usual.called).toBeGreaterThan(usual.moved / 2)
    const all = simulateFailover({ ...FAILURE, isEveryCompanyCalling: true })
    expect(all.called).toBe(all.moved)
  })

  it("answers no caller before the time that a charge itself takes", () => {
    const { textCpu, textEvents, appendAlone, appendEach } = COSTS
    const least = textCpu + appendAlone + textEvents * appendEach
    expect(usual.waitsMs[0]).toBeGreaterThan(least / 1_000)
  })

  it("lets callers wait longer if loading takes longer, and if all call concurrently", () => {
    const slow = { ...COSTS, loadCpu: 20 * COSTS.loadCpu }
    const slowed = simulateFailover({ ...FAILURE, costs: slow, isEveryCompanyCalling: true })
    const quick = simulateFailover({ ...FAILURE, isEveryCompanyCalling: true })
    expect(waitPercentile(slowed, 0.99)).toBeGreaterThan(waitPercentile(quick, 0.99))
    expect(waitPercentile(quick, 0.99)).toBeGreaterThan(waitPercentile(usual, 0.99))
  })

  it("lets immediate callers wait for nginx's timeout if the machine is lost", () => {
    const lost = simulateFailover({ ...FAILURE, loss: "machine" })
    expect(waitPercentile(lost, 1)).toBeGreaterThan(2_000)
    expect(waitPercentile(lost, 0.2)).toBeLessThan(waitPercentile(lost, 1) - 1_500)
  })
})

describe("nginx", () => {
  it("causes no wait if the port refuses", () => {
    const proxy = openProxy("process")
    expect([0, 1, 6_000_000].map(proxy)).toEqual([0, 0, 0])
  })

  it("waits two seconds for a machine, then leaves it out but for one call every five seconds", () => {
    const proxy = openProxy("machine")
    const at = [0, 1_999_999, 2_000_000, 7_000_000, 7_000_001, 7_000_002, 12_000_002]
    expect(at.map(proxy)).toEqual([2_000_000, 2_000_000, 0, 0, 2_000_000, 0, 2_000_000])
  })
})

describe("what an installation carries", () => {
  it("is by its processes less than they carry each, for all of them read all", () => {
    const one = capacityOf(COSTS, { processes: 1, databaseCores: 4 })
    const ten = capacityOf(COSTS, { processes: 10, databaseCores: 4 })
    expect(one.byProcesses).toBeCloseTo(1_000, 6)
    // 1,000 µs of its own, and 9 × 3 × 10 for the others' events.
    expect(ten.byProcesses).toBeCloseTo(10_000_000 / 1_270, 6)
    expect(ten.byAppends).toBeCloseTo(1_000_000 / 150, 6)
    expect(ten.byDatabase).toBeCloseTo(4_000_000 / (600 + 9 * 3 * 5), 6)
    expect(maxTextsPerSecond(ten)).toBe(ten.byDatabase)
  })
})
