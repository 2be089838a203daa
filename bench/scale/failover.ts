/**
 * A process dies: how long its companies wait for their next charge. Events of a simulation happen one
 * after the other; what they cost was measured, and when they come is drawn by a seed.
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

/** What is simulated. */
export interface FailureScenario extends ClusterSetup {
  readonly population: Population
  readonly costs: Costs
  readonly seed: number
  /** The process that dies. */
  readonly deadProcess: number
  readonly loss: Loss
  /** Whether every company of the dead one calls within a second, also those that seldom do. */
  readonly isEveryCompanyCalling: boolean
}

/** What came of it. */
export interface FailoverResult {
  /** Companies that have another owner now. */
  readonly moved: number
  /** Those of them that called meanwhile; each was answered. */
  readonly called: number
  /** Calls that the dead process had in hand: answered by nobody, and repeated at once. */
  readonly inFlight: number
  /** The part of charges for which a company had to be loaded, before the death. */
  readonly loadedPart: number
  readonly callsPerSecond: number
  /** From the first call of each company since the death to its answer, milliseconds, ascending. */
  readonly waitsMs: Float64Array
}

/** So much of what the first wall lets through is asked of the installation. */
const LOAD = 0.5
const SECOND = 1_000_000
/** Simulated before the death, so that queues are as they are, and behind it. */
const [BEFORE, AFTER] = [-2 * SECOND, 30 * SECOND]
/** A ledger keeps a checkpoint every 200 facts. */
const MAX_EVENTS = 200
/** Of a company that texts: its ledger, its keys, its phone. */
const STREAMS_LOADED = 3
const MICROS_PER_MS = 1_000

/** Plays a death. The same failure comes to the same result. */
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
  /** When its caller began to wait for it, or the process died that had it. */
  readonly since: number
  readonly isFirst: boolean
}

/** Takes calls through the proxy, the processes and the database. */
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

/** What a call is done by: its process, the database where its company is loaded, the line of appends. */
function openProcessing(
  { failure, agenda, memories, random, callsPerSecond }: Simulation,
  owners: CompanyOwners,
) {
  const { costs, processes, databaseCores, population } = failure
  const shares = processShares(population, owners, processes)
  const cores: readonly Cores[] = shares.map(() => openCores(agenda, 1))
  // What a process reads of the others' events leaves less of its core.
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

/** Texts a second: a part of what the busiest process, the line of appends or the database can do. */
function rateOf(failure: FailureScenario, owners: CompanyOwners, loadedPart: number): number {
  const { costs, population, processes } = failure
  const busiest = Math.max(...processShares(population, owners, processes).map(({ part }) => part))
  const own = costs.textCpu + loadedPart * loadOf(costs, MAX_EVENTS / 2)
  const others = (1 - busiest) * costs.textEvents * costs.followCpu
  const byBusiest = SECOND / (busiest * own + others)
  const { byAppends, byDatabase }: Capacity = capacityOf(costs, failure)
  return LOAD * Math.min(byBusiest, byAppends, byDatabase)
}
