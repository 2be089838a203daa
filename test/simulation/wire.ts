/** Messages between a process and what it asks: late, and sometimes broken, as the seed draws it for a run. */
import type { SeededRandom, TaskOwner, Schedule } from "./schedule.ts"
import { ENVIRONMENT_OWNER } from "./schedule.ts"

/** How often things go wrong: parts of 1, for each time that they could. */
export interface FaultRates {
  /** A message takes up to so many milliseconds. */
  readonly slowMs: number
  /** A message takes seconds. */
  readonly stalledMessages: number
  /** The store says that it cannot be reached; nothing is stored. */
  readonly unavailable: number
  /** An append is lost on its way, and nobody knows. */
  readonly lostRequest: number
  /** An append is stored, and its answer is lost. */
  readonly lostAnswer: number
  /** An append is given up by its caller, and stored after that. */
  readonly lateAppend: number
  /** A subscriber is dropped, and subscribes again. */
  readonly droppedSubscribers: number
  /** Events are delivered a second time. */
  readonly duplicateDeliveries: number
  /** The database breaks a connection, before or after what was asked. */
  readonly databaseFailures: number
  /** A lock is not given although it is free. */
  readonly lockRefused: number
  /** For each step of a process: its memory is gone. */
  readonly crashes: number
  /** For each append that was stored: its process dies before it does anything more. */
  readonly crashesAfterStore: number
  /** For each second: a process is stopped in order, and started again. */
  readonly restarts: number
  /** For each second: locks and leases are lost by who believes to have them. */
  readonly locksLost: number
  /** For each second: a process cannot tell the ledger's time for a while. */
  readonly clockUnsure: number
  /** For each second: the ledger's time jumps. */
  readonly clockJumps: number
  /** For each second: the store is lost for every subscriber at once. */
  readonly storeLosses: number
}

/** Nothing goes wrong. */
export const NO_FAULTS: FaultRates = {
  slowMs: 3,
  stalledMessages: 0,
  unavailable: 0,
  lostRequest: 0,
  lostAnswer: 0,
  lateAppend: 0,
  droppedSubscribers: 0,
  duplicateDeliveries: 0,
  databaseFailures: 0,
  lockRefused: 0,
  crashes: 0,
  crashesAfterStore: 0,
  restarts: 0,
  locksLost: 0,
  clockUnsure: 0,
  clockJumps: 0,
  storeLosses: 0,
}

/** Draws what goes wrong in a run: of each kind nothing in every third one, else up to so much. */
export function drawFaults(chance: SeededRandom): FaultRates {
  const upTo = (most: number): number => (chance.happens(1 / 3) ? 0 : most * chance.fraction())
  return {
    slowMs: chance.pick([2, 10, 60]),
    stalledMessages: upTo(0.01),
    unavailable: upTo(0.15),
    lostRequest: upTo(0.1),
    lostAnswer: upTo(0.15),
    lateAppend: upTo(0.1),
    droppedSubscribers: upTo(0.1),
    duplicateDeliveries: upTo(0.2),
    databaseFailures: upTo(0.08),
    lockRefused: upTo(0.5),
    crashes: upTo(0.006),
    crashesAfterStore: upTo(0.1),
    restarts: upTo(0.1),
    locksLost: upTo(0.2),
    clockUnsure: upTo(0.3),
    clockJumps: upTo(0.3),
    storeLosses: upTo(0.2),
  }
}

/** What messages go by. */
export interface SimulatedNetwork {
  readonly chance: SeededRandom
  readonly schedule: Schedule
  /** What goes wrong just now. */
  faults: FaultRates
  /** Counts something that went wrong. */
  readonly count: (what: string) => void
}

/** How long a message takes, milliseconds. */
export function drawLatency({ chance, faults }: SimulatedNetwork): number {
  if (chance.happens(faults.stalledMessages)) return chance.between(500, 4_000)
  return chance.between(0, faults.slowMs)
}

/** Never settles: whoever waits for it is dead. */
export function neverSettles(): Promise<never> {
  return new Promise(() => undefined)
}

/**
 * Asks for something outside: the question is on its way, has its effect, and the answer comes back.
 * Whoever dies meanwhile hears nothing, and the effect comes all the same.
 */
export function callRemote<T>(
  wire: SimulatedNetwork,
  owner: TaskOwner,
  effect: () => T | Promise<T>,
): Promise<T> {
  if (!owner.isAlive) return neverSettles()
  const { schedule } = wire
  return new Promise((resolve, reject) => {
    const answer = (tell: () => void): void => void schedule.after(drawLatency(wire), owner, tell)
    const act = async (): Promise<void> => {
      try {
        const value = await effect()
        answer(() => resolve(value))
      } catch (error) {
        answer(() => reject(error))
      }
    }
    schedule.after(drawLatency(wire), ENVIRONMENT_OWNER, () => void act())
  })
}

/** A connection to the database that broke: before what was asked had its effect, or after it. */
function broken(): Error {
  return Object.assign(new Error("fault: the connection broke"), { code: "ECONNRESET" })
}

/** Asks the database. */
export function callDatabase<T>(
  wire: SimulatedNetwork,
  owner: TaskOwner,
  effect: () => T | Promise<T>,
): Promise<T> {
  const isBroken = wire.chance.happens(wire.faults.databaseFailures)
  if (isBroken) wire.count("database broke")
  const isLate = wire.chance.happens(0.5)
  return callRemote(wire, owner, async () => {
    if (isBroken && !isLate) throw broken()
    const value = await effect()
    if (isBroken) throw broken()
    return value
  })
}
