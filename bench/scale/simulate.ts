/** The figures of a simulation, by what was measured before it in the same round. */
import type { Costs } from "./capacity.ts"
import type { FailoverResult } from "./failover.ts"
import { simulateFailover } from "./failover.ts"
import { DATABASE_CORES, PROCESSES } from "./figures.ts"
import type { Population } from "./population.ts"
import { populationOf } from "./population.ts"
import type { Loss } from "./proxy.ts"
import { movedCompanies, routeCompanies, processShares } from "./routing.ts"

/** The same companies and the same calls each time. */
const SEED = 20_261_126
/** The one that dies. */
const DEAD_PROCESS = 4

/** What is to be simulated. */
export type SimulationRequest =
  | { readonly routing: number }
  | {
      readonly companies: number
      readonly costs: Costs
      readonly loss: Loss
      readonly isEveryCompanyCalling: boolean
    }

/** What a death came to, in short. Waits are milliseconds. */
export interface FailoverWaits extends Pick<FailoverResult, "loadedPart" | "callsPerSecond"> {
  readonly p50: number
  readonly p99: number
  readonly most: number
}

/** How the companies lie on the ring. Parts are of one. */
export interface RoutingSummary {
  readonly fewest: number
  readonly most: number
  readonly busiest: number
  readonly movedByDeath: number
  readonly movedByAddition: number
}

const drawn = new Map<number, Population>()

function populationFor(companies: number): Population {
  const population = drawn.get(companies) ?? populationOf(companies, SEED)
  drawn.set(companies, population)
  return population
}

/** Simulates; populations are drawn when they are first asked for. */
export function simulate(told: SimulationRequest): RoutingSummary | FailoverWaits {
  if ("routing" in told) return simulateRouting(populationFor(told.routing))
  const { companies, costs, loss, isEveryCompanyCalling } = told
  const failover = simulateFailover({
    population: populationFor(companies),
    costs,
    seed: SEED,
    deadProcess: DEAD_PROCESS,
    loss,
    isEveryCompanyCalling,
    processes: PROCESSES,
    databaseCores: DATABASE_CORES,
  })
  const { loadedPart, callsPerSecond } = failover
  const [p50, p99, most] = [
    waitPercentile(failover, 0.5),
    waitPercentile(failover, 0.99),
    waitPercentile(failover, 1),
  ]
  return { loadedPart, callsPerSecond, p50, p99, most }
}

function simulateRouting(population: Population): RoutingSummary {
  const owners = routeCompanies(population, PROCESSES)
  const shares = processShares(population, owners, PROCESSES)
  const counts = shares.map(({ companies }) => companies)
  const moved = (after: typeof owners) => movedCompanies(owners, after).length / population.count
  return {
    fewest: Math.min(...counts),
    most: Math.max(...counts),
    busiest: Math.max(...shares.map(({ part }) => part)),
    movedByDeath: moved(routeCompanies(population, PROCESSES, DEAD_PROCESS)),
    movedByAddition: moved(routeCompanies(population, PROCESSES + 1)),
  }
}

/** The wait that this part of the companies had at most, milliseconds. */
export function waitPercentile({ waitsMs }: FailoverResult, part: number): number {
  const wait = waitsMs[Math.ceil(part * waitsMs.length) - 1]
  if (wait === undefined) throw new RangeError("no company waited")
  return wait
}
