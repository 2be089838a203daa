/** Messages between a process and what it asks: late, and sometimes broken, as the seed draws it for a run. */
import type { Chance, Owner, Schedule } from "./schedule.ts"
import { WORLD } from "./schedule.ts"

/** How often things go wrong: parts of 1, for each time that they could. */
export interface Faults {
  /** A message takes up to so many milliseconds. */
  readonly slowMs: number
  /** A message takes seconds. */
  readonly stalls: number
  /** The store says that it cannot be reached; nothing is stored. */
  readonly unavailable: number
  /** An append is lost on its way, and nobody knows. */
  readonly lostRequest: number
  /** An append is stored, and its answer is lost. */
  readonly lostAnswer: number
  /** An append is given up by its caller, and stored after that. */
  readonly lateAppend: number
  /** A subscriber is dropped, and subscribes again. */
  readonly drops: number
  /** Events are delivered a second time. */
  readonly doubles: number
  /** The database breaks a connection, before or after what was asked. */
  readonly database: number
  /** A lock is not given although it is free. */
  readonly lockRefused: number
  /** For each step of a process: its memory is gone. */
  readonly crashes: number
  /** For each append that was stored: its process dies before it does anything more. */
  readonly crashesStored: number
  /** For each second: a process is stopped in order, and started again. */
  readonly restarts: number
  /** For each second: locks and leases are lost by who believes to have them. */
  readonly locksLost: number
  /** For each second: a process cannot tell the ledger's time for a while. */
  readonly clockUnsure: number
  /** For each second: the ledger's time jumps. */
  readonly clockJumps: number
  /** For each second: the store is lost for every subscriber at once. */
  readonly losses: number
}

/** Nothing goes wrong. */
export const CALM: Faults = {
  slowMs: 3,
  stalls: 0,
  unavailable: 0,
  lostRequest: 0,
  lostAnswer: 0,
  lateAppend: 0,
  drops: 0,
  doubles: 0,
  database: 0,
  lockRefused: 0,
  crashes: 0,
  crashesStored: 0,
  restarts: 0,
  locksLost: 0,
  clockUnsure: 0,
  clockJumps: 0,
  losses: 0,
}

/** Draws what goes wrong in a run: of each kind nothing in every third one, else up to so much. */
export function drawFaults(chance: Chance): Faults {
  const upTo = (most: number): number => (chance.happens(1 / 3) ? 0 : most * chance.part())
  return {
    slowMs: chance.pick([2, 10, 60]),
    stalls: upTo(0.01),
    unavailable: upTo(0.15),
    lostRequest: upTo(0.1),
    lostAnswer: upTo(0.15),
    lateAppend: upTo(0.1),
    drops: upTo(0.1),
    doubles: upTo(0.2),
    database: upTo(0.08),
    lockRefused: upTo(0.5),
    crashes: upTo(0.006),
    crashesStored: upTo(0.1),
    restarts: upTo(0.1),
    locksLost: upTo(0.2),
    clockUnsure: upTo(0.3),
    clockJumps: upTo(0.3),
    losses: upTo(0.2),
  }
}

/** What messages go by. */
export interface Wire {
  readonly chance: Chance
  readonly schedule: Schedule
  /** What goes wrong just now. */
  faults: Faults
  /** Counts something that went wrong. */
  readonly count: (what: string) => void
}

/** How long a message takes, milliseconds. */
export function latency({ chance, faults }: Wire): number {
  if (chance.happens(faults.stalls)) return chance.between(500, 4_000)
  return chance.between(0, faults.slowMs)
}

/** Never settles: whoever waits for it is dead. */
export function never(): Promise<never> {
  return new Promise(() => undefined)
}

/**
 * Asks for something outside: the question is on its way, has its effect, and the answer comes back.
 * Whoever dies meanwhile hears nothing, and the effect comes all the same.
 */
export function ask<T>(wire: Wire, owner: Owner, effect: () => T | Promise<T>): Promise<T> {
  if (!owner.isAlive) return never()
  const { schedule } = wire
  return new Promise((resolve, reject) => {
    const answer = (tell: () => void): void => void schedule.after(latency(wire), owner, tell)
    const act = async (): Promise<void> => {
      try {
        const value = await effect()
        answer(() => resolve(value))
      } catch (error) {
        answer(() => reject(error))
      }
    }
    schedule.after(latency(wire), WORLD, () => void act())
  })
}

/** A connection to the database that broke: before what was asked had its effect, or after it. */
function broken(): Error {
  return Object.assign(new Error("fault: the connection broke"), { code: "ECONNRESET" })
}

/** Asks the database. */
export function askDatabase<T>(wire: Wire, owner: Owner, effect: () => T | Promise<T>): Promise<T> {
  const isBroken = wire.chance.happens(wire.faults.database)
  if (isBroken) wire.count("database broke")
  const isLate = wire.chance.happens(0.5)
  return ask(wire, owner, async () => {
    if (isBroken && !isLate) throw broken()
    const value = await effect()
    if (isBroken) throw broken()
    return value
  })
}
