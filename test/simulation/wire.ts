/** Messages of a process over a network: delayed, and sometimes broken, as the seed draws it. */
import type { SeededRandom, TaskOwner, Schedule } from "./schedule.ts"
import { ENVIRONMENT_OWNER } from "./schedule.ts"

/** Fault rates: the probability from 0 to 1 for each opportunity, unless stated otherwise. */
export interface FaultRates {
  /** Maximum delay of a message in milliseconds. */
  readonly slowMs: number
  /** A message takes seconds. */
  readonly stalledMessages: number
  /** The store reports that it is unavailable; nothing is stored. */
  readonly unavailable: number
  /** An append's request is lost, and its outcome is unknown. */
  readonly lostRequest: number
  /** An append is stored, but its response is lost. */
  readonly lostAnswer: number
  /** An append is stored after its caller has given up. */
  readonly lateAppend: number
  /** A subscriber is dropped and subscribes again. */
  readonly droppedSubscribers: number
  /** Events are delivered a second time. */
  readonly duplicateDeliveries: number
  /** The database connection breaks before or after the statement takes effect. */
  readonly databaseFailures: number
  /** A free lock is refused. */
  readonly lockRefused: number
  /** Per step of a process: it crashes. */
  readonly crashes: number
  /** Per stored append: its process crashes before its next task. */
  readonly crashesAfterStore: number
  /** Per second: a process is stopped and started. */
  readonly restarts: number
  /** Per second: the holders of all locks and leases lose them. */
  readonly locksLost: number
  /** Per second: a process cannot read the ledger's time for a while. */
  readonly clockUnsure: number
  /** Per second: the ledger's time jumps. */
  readonly clockJumps: number
  /** Per second: every subscriber loses the store. */
  readonly storeLosses: number
}

/** No faults. */
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

/** Draws the fault rates of a run: each is 0 in a third of the runs, otherwise up to its maximum. */
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

/** The network between processes and remote systems. */
export interface SimulatedNetwork {
  readonly chance: SeededRandom
  readonly schedule: Schedule
  faults: FaultRates
  /** Counts an occurrence. */
  readonly count: (what: string) => void
}

/** Draws the delay of a message in milliseconds. */
export function drawLatency({ chance, faults }: SimulatedNetwork): number {
  if (chance.happens(faults.stalledMessages)) return chance.between(500, 4_000)
  return chance.between(0, faults.slowMs)
}

/** Never settles, because the caller has crashed. */
export function neverSettles(): Promise<never> {
  return new Promise(() => undefined)
}

/**
 * Calls a remote system: the request travels, takes effect, and the response travels back. If the caller crashes in
 * between, the request still takes effect, but no response arrives.
 */
export function callRemote<T>(
  wire: SimulatedNetwork,
  owner: TaskOwner,
  effect: () => T | Promise<T>,
): Promise<T> {
  if (!owner.isAlive) return neverSettles()
  const { schedule } = wire
  return new Promise((resolve, reject) => {
    const answer = (settle: () => void): void =>
      void schedule.after(drawLatency(wire), owner, settle)
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

/** The error of a broken database connection, before or after the statement took effect. */
function broken(): Error {
  return Object.assign(new Error("fault: the connection broke"), { code: "ECONNRESET" })
}

/** Calls the database. */
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
