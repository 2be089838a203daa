import { describe, expect, it } from "vitest"
import { companyForCharge, chargeShareOf, populationOf } from "./population.ts"
import { processAddresses, movedCompanies, routeCompanies, processShares } from "./routing.ts"
import { ownerOf, ringPositionOf, ringOf } from "./ring.ts"

const COMPANIES = 50_000
const population = populationOf(COMPANIES, 7)

describe("the ring", () => {
  it("has each company at one process that is there", () => {
    const owners = routeCompanies(population, 10)
    expect(owners).toHaveLength(COMPANIES)
    expect(new Set(owners)).toEqual(new Set([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]))
    const counted = processShares(population, owners, 10)
    expect(counted.reduce((sum, { companies }) => sum + companies, 0)).toBe(COMPANIES)
    expect(counted.reduce((sum, { part }) => sum + part, 0)).toBeCloseTo(1, 9)
  })

  it.for([2, 3, 5, 10, 20])(
    "gives each of %d processes its part, give or take a third",
    (count) => {
      for (const { companies } of processShares(
        population,
        routeCompanies(population, count),
        count,
      )) {
        expect(companies * count).toBeGreaterThan((COMPANIES * 2) / 3)
        expect(companies * count).toBeLessThan((COMPANIES * 4) / 3)
      }
    },
  )

  it.for([0, 4, 9])("moves the companies of process %d alone when it dies", (dead) => {
    const before = routeCompanies(population, 10)
    const after = routeCompanies(population, 10, dead)
    const moved = movedCompanies(before, after)
    expect(new Set(moved.map((company) => before[company]))).toEqual(new Set([dead]))
    expect(moved).toHaveLength(before.filter((owner) => owner === dead).length)
    expect(new Set(moved.map((company) => after[company]))).toHaveLength(9)
  })

  it("moves companies to a process that is added, and none between the others", () => {
    const before = routeCompanies(population, 10)
    const after = routeCompanies(population, 11)
    const moved = movedCompanies(before, after)
    expect(new Set(moved.map((company) => after[company]))).toEqual(new Set([10]))
    expect(moved.length / COMPANIES).toBeGreaterThan(0.05)
    expect(moved.length / COMPANIES).toBeLessThan(0.13)
  })

  it("throws if no process is left", () => {
    expect(() => ownerOf(ringOf(processAddresses(1)), ringPositionOf("abc123"), 0)).toThrow(
      "no server is up",
    )
  })
})

describe("a population", () => {
  it("is the same by the same seed, and another by another", () => {
    expect(populationOf(1_000, 3).ringPositions).toEqual(populationOf(1_000, 3).ringPositions)
    expect(populationOf(1_000, 3).ringPositions).not.toEqual(populationOf(1_000, 4).ringPositions)
  })

  it("has a fifth of the companies make three quarters of all charges", () => {
    const { cumulativeShare } = populationOf(100_000, 1)
    expect(cumulativeShare[20_000 - 1]).toBeCloseTo(0.75, 2)
    expect(cumulativeShare.at(-1)).toBeCloseTo(1, 9)
  })

  it("draws each company as often as its part says", () => {
    const small = populationOf(4, 1)
    expect(companyForCharge(small, 0)).toBe(0)
    expect(companyForCharge(small, 0.999_999)).toBe(3)
    const first = chargeShareOf(small, 0)
    expect(companyForCharge(small, first - 1e-9)).toBe(0)
    expect(companyForCharge(small, first + 1e-9)).toBe(1)
  })
})
