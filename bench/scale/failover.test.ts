import { describe, expect, it } from "vitest"
import type { Costs } from "./capacity.ts"
import { capacityOf, wallOf } from "./capacity.ts"
import type { Failure } from "./failover.ts"
import { failOver } from "./failover.ts"
import { populationOf } from "./population.ts"
import { openProxy } from "./proxy.ts"
import { waitAt } from "./simulated.ts"

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
const FAILURE: Failure = {
  population: populationOf(3_000, 5),
  costs: COSTS,
  seed: 11,
  dies: 2,
  loss: "process",
  allAtOnce: false,
  processes: 5,
  databaseCores: 4,
}
const usual = failOver(FAILURE)

describe("a process that dies", () => {
  it("comes to the same by the same seed, and to another by another", () => {
    expect(failOver(FAILURE)).toEqual(usual)
    expect(failOver({ ...FAILURE, seed: 12 }).waitsMs).not.toEqual(usual.waitsMs)
  })

  it("has each of its companies that calls answered", () => {
    expect(usual.called).toBe(usual.waitsMs.length)
    expect(usual.called).toBeGreaterThan(usual.moved / 2)
    const all = failOver({ ...FAILURE, allAtOnce: true })
    expect(all.called).toBe(all.moved)
  })

  it("has nobody answered before what a charge takes by itself", () => {
    const { textCpu, textEvents, appendAlone, appendEach } = COSTS
    const least = textCpu + appendAlone + textEvents * appendEach
    expect(usual.waitsMs[0]).toBeGreaterThan(least / 1_000)
  })

  it("keeps them longer where loading takes longer, and where all come at once", () => {
    const slow = { ...COSTS, loadCpu: 20 * COSTS.loadCpu }
    const slowed = failOver({ ...FAILURE, costs: slow, allAtOnce: true })
    const quick = failOver({ ...FAILURE, allAtOnce: true })
    expect(waitAt(slowed, 0.99)).toBeGreaterThan(waitAt(quick, 0.99))
    expect(waitAt(quick, 0.99)).toBeGreaterThan(waitAt(usual, 0.99))
  })

  it("keeps those who call at once for nginx's time-out where its machine is lost", () => {
    const lost = failOver({ ...FAILURE, loss: "machine" })
    expect(waitAt(lost, 1)).toBeGreaterThan(2_000)
    expect(waitAt(lost, 0.2)).toBeLessThan(waitAt(lost, 1) - 1_500)
  })
})

describe("nginx", () => {
  it("waits for nobody whose port refuses", () => {
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
    expect(ten.byOrder).toBeCloseTo(1_000_000 / 150, 6)
    expect(ten.byDatabase).toBeCloseTo(4_000_000 / (600 + 9 * 3 * 5), 6)
    expect(wallOf(ten)).toBe(ten.byDatabase)
  })
})
