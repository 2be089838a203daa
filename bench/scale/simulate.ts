/** The figures of a simulation, calculated from the measurements of the same round. */
import type { Costs } from "./capacity.ts"
import type { FailoverResult } from "./failover.ts"
import { simulateFailover } from "./failover.ts"
import { DATABASE_CORES, PROCESSES } from "./figures.ts"
import type { Population } from "./population.ts"
import { populationOf } from "./population.ts"
import type { Loss } from "./proxy.ts"
import { movedCompanies, routeCompanies, processShares } from "./routing.ts"

/** Every simulation has the same companies and calls. */
const SEED = 20_261_126
const DEAD_PROCESS = 4

export type SimulationRequest =
  | { readonly routing: number }
  | {
      readonly companies: number
      readonly costs: Costs
      readonly loss: Loss
      readonly isEveryCompanyCalling: boolean
    }

/** A summary of a death. Waits are in milliseconds. */
export interface FailoverWaits extends Pick<FailoverResult, "loadedPart" | "callsPerSecond"> {
  readonly p50: number
  readonly p99: number
  readonly most: number
}

/** The distribution of companies on the ring. Shares are from 0 to 1. */
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

/** Runs a simulation; a population is drawn at its first use. */
export function simulate(request: SimulationRequest): RoutingSummary | FailoverWaits {
  if ("routing" in request) return simulateRouting(populationFor(request.routing))
  const { companies, costs, loss, isEveryCompanyCalling } = request
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

/** A percentile of the companies' waits, milliseconds. */
export function waitPercentile({ waitsMs }: FailoverResult, part: number): number {
  const wait = waitsMs[Math.ceil(part * waitsMs.length) - 1]
  if (wait === undefined) throw new RangeError("no company waited")
  return wait
}
