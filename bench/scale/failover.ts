/**
 * Simulates the death of a process: how long its companies wait for their next charge. Events of the simulation run in
 * sequence; their costs were measured, and their times are drawn by a seed.
 */
import { seededRandom } from "../decide/traffic.ts"
import type { EventQueue } from "./event-queue.ts"
import { openEventQueue } from "./event-queue.ts"
import type { Capacity, Costs, ClusterSetup } from "./capacity.ts"
import { capacityOf } from "./capacity.ts"
import { openProcessCaches } from "./process-caches.ts"
import type { ProcessCaches } from "./process-caches.ts"
import type { Population } from "./population.ts"
import { companyForCharge } from "./population.ts"
import type { Loss } from "./proxy.ts"
import { openProxy } from "./proxy.ts"
import type { CompanyOwners } from "./routing.ts"
import { movedCompanies, routeCompanies, processShares } from "./routing.ts"
import type { AppendQueue, Cores } from "./queueing.ts"
import { openAppendQueue, openCores } from "./queueing.ts"

export interface FailureScenario extends ClusterSetup {
  readonly population: Population
  readonly costs: Costs
  readonly seed: number
  /** The process that dies. */
  readonly deadProcess: number
  readonly loss: Loss
  /** Whether every company of the dead process calls within a second, also those that rarely do. */
  readonly isEveryCompanyCalling: boolean
}

export interface FailoverResult {
  /** Companies that have another owner now. */
  readonly moved: number
  /** Number of these that called meanwhile; each was answered. */
  readonly called: number
  /** Calls that the dead process was executing: they get no answer and are repeated immediately. */
  readonly inFlight: number
  /** The share of charges for which a company had to be loaded, before the death. */
  readonly loadedPart: number
  readonly callsPerSecond: number
  /** Time from the first call of each company after the death to its answer, milliseconds, ascending. */
  readonly waitsMs: Float64Array
}

/** The load, as a share of the capacity at the first limit. */
const LOAD = 0.5
const SECOND = 1_000_000
/** The simulated time before the death, which fills the queues, and after it. */
const [BEFORE, AFTER] = [-2 * SECOND, 30 * SECOND]
/** A ledger saves a checkpoint every 200 facts. */
const MAX_EVENTS = 200
/** The streams of a company that texts: its ledger, its keys, its phone. */
const STREAMS_LOADED = 3
const MICROS_PER_MS = 1_000

/** Simulates a death. The same scenario gives the same result. */
export function simulateFailover(failure: FailureScenario): FailoverResult {
  const { population, processes, seed, deadProcess, isEveryCompanyCalling } = failure
  const before = routeCompanies(population, processes)
  const after = routeCompanies(population, processes, deadProcess)
  const memories = openProcessCaches(population, before, { processes, seed })
  const callsPerSecond = rateOf(failure, before, memories.loadedPart)
  const random = seededRandom(seed + 1)
  const agenda = openEventQueue(BEFORE)
  const moved = movedCompanies(before, after)
  const play: Simulation = { failure, agenda, memories, random, callsPerSecond }
  const { ask, die, waits, inHand } = openCallHandling(play, before, after)
  let at = BEFORE
  const comes = (): void => {
    ask(companyForCharge(population, random()))
    at += (-Math.log(1 - random()) * SECOND) / callsPerSecond
    if (at < AFTER) agenda.schedule(at, comes)
  }
  agenda.schedule(at, comes)
  agenda.schedule(0, die)
  if (isEveryCompanyCalling)
    for (const one of moved) agenda.schedule(random() * SECOND, () => ask(one))
  agenda.run()
  const waitsMs = Float64Array.from(waits.values(), (micros) => micros / MICROS_PER_MS).toSorted()
  const { loadedPart } = memories
  const called = waits.size
  return { moved: moved.length, called, inFlight: inHand(), loadedPart, callsPerSecond, waitsMs }
}

interface Simulation {
  readonly failure: FailureScenario
  readonly agenda: EventQueue
  readonly memories: ProcessCaches
  readonly random: () => number
  readonly callsPerSecond: number
}

interface Call {
  readonly company: number
  /** When its caller started to wait, or when the process died that executed it. */
  readonly since: number
  readonly isFirst: boolean
}

/** Routes calls through the proxy, the processes and the database. */
function openCallHandling(play: Simulation, before: CompanyOwners, after: CompanyOwners) {
  const { failure, agenda } = play
  const { deadProcess } = failure
  const work = openProcessing(play, before)
  const proxy = openProxy(failure.loss)
  const inHand = new Set<Call>()
  const waits = new Map<number, number>()
  const begun = new Set<number>()
  let lost = 0
  const serve = (call: Call, process: number): void => {
    if (process === deadProcess) inHand.add(call)
    work(process, call.company, () => {
      if (process === deadProcess && !inHand.delete(call)) return
      if (call.isFirst) waits.set(call.company, agenda.now() - call.since)
    })
  }
  const ask = (company: number): void => {
    const owner = before[company] as number
    const now = agenda.now()
    if (now < 0 || owner !== deadProcess) {
      serve({ company, since: now, isFirst: false }, owner)
      return
    }
    const isFirst = !begun.has(company)
    begun.add(company)
    const call = { company, since: now, isFirst }
    agenda.schedule(now + proxy(now), () => serve(call, after[company] as number))
  }
  const die = (): void => {
    lost = inHand.size
    const repeated = [...inHand]
    inHand.clear()
    for (const { company } of repeated) ask(company)
  }
  return { ask, die, waits, inHand: () => lost }
}

/** The resources of a call: its process, the database that loads its company, and the append queue. */
function openProcessing(
  { failure, agenda, memories, random, callsPerSecond }: Simulation,
  owners: CompanyOwners,
) {
  const { costs, processes, databaseCores, population } = failure
  const shares = processShares(population, owners, processes)
  const cores: readonly Cores[] = shares.map(() => openCores(agenda, 1))
  // Reading other processes' events leaves less of a process's core.
  const slower = shares.map(({ part }) => {
    const read = callsPerSecond * (1 - part) * costs.textEvents * costs.followCpu
    return 1 / (1 - read / SECOND)
  })
  const database = openCores(agenda, databaseCores)
  const times = { alone: costs.appendAlone, each: costs.appendEach }
  const line: AppendQueue = openAppendQueue(agenda, times)
  return (process: number, company: number, then: () => void): void => {
    const isLoaded = memories.use(process, company)
    const facts = isLoaded ? Math.floor(random() * MAX_EVENTS) : 0
    const loading = isLoaded ? loadOf(costs, facts) : 0
    const append = () => line(process, costs.textEvents, then)
    const micros = (costs.textCpu + loading) * (slower[process] as number)
    const reading = STREAMS_LOADED * costs.loadDatabaseCpu + facts * costs.factDatabaseCpu
    const own = cores[process] as Cores
    own(micros, () => (isLoaded ? database(reading, append) : append()))
  }
}

const loadOf = ({ loadCpu, factCpu }: Costs, facts: number): number =>
  STREAMS_LOADED * loadCpu + facts * factCpu

/** Texts per second: a share of the capacity of the busiest process, the append queue or the database. */
function rateOf(failure: FailureScenario, owners: CompanyOwners, loadedPart: number): number {
  const { costs, population, processes } = failure
  const busiest = Math.max(...processShares(population, owners, processes).map(({ part }) => part))
  const own = costs.textCpu + loadedPart * loadOf(costs, MAX_EVENTS / 2)
  const others = (1 - busiest) * costs.textEvents * costs.followCpu
  const byBusiest = SECOND / (busiest * own + others)
  const { byAppends, byDatabase }: Capacity = capacityOf(costs, failure)
  return LOAD * Math.min(byBusiest, byAppends, byDatabase)
}
