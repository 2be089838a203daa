/** The figures of a simulation, by what was measured before it in the same round. */
import type { Costs } from "./capacity.ts"
import type { Failover } from "./failover.ts"
import { failOver } from "./failover.ts"
import { DATABASE_CORES, PROCESSES } from "./figures.ts"
import type { Population } from "./population.ts"
import { populationOf } from "./population.ts"
import type { Loss } from "./proxy.ts"
import { movedBetween, route, sharesOf } from "./routing.ts"

/** The same companies and the same calls each time. */
const SEED = 20_261_126
/** The one that dies. */
const DIES = 4

/** What is to be simulated. */
export type ToSimulate =
  | { readonly routing: number }
  | {
      readonly companies: number
      readonly costs: Costs
      readonly loss: Loss
      readonly allAtOnce: boolean
    }

/** What a death came to, in short. Waits are milliseconds. */
export interface Waits extends Pick<Failover, "loadedPart" | "callsPerSecond"> {
  readonly p50: number
  readonly p99: number
  readonly most: number
}

/** How the companies lie on the ring. Parts are of one. */
export interface Routed {
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
export function simulate(told: ToSimulate): Routed | Waits {
  if ("routing" in told) return routed(populationFor(told.routing))
  const { companies, costs, loss, allAtOnce } = told
  const failover = failOver({
    population: populationFor(companies),
    costs,
    seed: SEED,
    dies: DIES,
    loss,
    allAtOnce,
    processes: PROCESSES,
    databaseCores: DATABASE_CORES,
  })
  const { loadedPart, callsPerSecond } = failover
  const [p50, p99, most] = [waitAt(failover, 0.5), waitAt(failover, 0.99), waitAt(failover, 1)]
  return { loadedPart, callsPerSecond, p50, p99, most }
}

function routed(population: Population): Routed {
  const owners = route(population, PROCESSES)
  const shares = sharesOf(population, owners, PROCESSES)
  const counts = shares.map(({ companies }) => companies)
  const moved = (after: typeof owners) => movedBetween(owners, after).length / population.count
  return {
    fewest: Math.min(...counts),
    most: Math.max(...counts),
    busiest: Math.max(...shares.map(({ part }) => part)),
    movedByDeath: moved(route(population, PROCESSES, DIES)),
    movedByAddition: moved(route(population, PROCESSES + 1)),
  }
}

/** The wait that this part of the companies had at most, milliseconds. */
export function waitAt({ waitsMs }: Failover, part: number): number {
  const wait = waitsMs[Math.ceil(part * waitsMs.length) - 1]
  if (wait === undefined) throw new RangeError("no company waited")
  return wait
}
