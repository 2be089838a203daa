/** Messages between a process and what it asks: late, and sometimes broken. */
import type { Chance } from "./chance.ts"
import type { Faults } from "./faults.ts"
import type { Owner, Schedule } from "./schedule.ts"
import { WORLD } from "./schedule.ts"

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
