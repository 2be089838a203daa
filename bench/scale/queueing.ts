/** The queues of a simulation: cores that work in sequence, and the append queue. */
import type { EventQueue } from "./event-queue.ts"

/** Cores that work in order of arrival. `done` is called once `micros` of work are done. */
export type Cores = (micros: number, done: () => void) => void

/** Opens so many cores. */
export function openCores(agenda: EventQueue, count: number): Cores {
  const freeAt = Array.from({ length: count }, () => Number.NEGATIVE_INFINITY)
  return (micros, done) => {
    let first = 0
    for (const [core, free] of freeAt.entries()) if (free < (freeAt[first] as number)) first = core
    const at = Math.max(agenda.now(), freeAt[first] as number) + micros
    freeAt[first] = at
    agenda.schedule(at, done)
  }
}

/** The time of an append, and the additional time of each event, microseconds. */
export interface AppendTimes {
  readonly alone: number
  readonly each: number
}

/** Appends events for a process. `stored` is called once they are stored. */
export type AppendQueue = (process: number, events: number, stored: () => void) => void

/** Maximum size of a transaction: `FLIGHT_EVENTS` of the appender. */
const MAX_TRANSACTION_EVENTS = 500

interface WaitingAppend {
  readonly events: number
  readonly stored: () => void
}

/**
 * Opens the queue of all appends: each process has one transaction in flight with all events that waited, and the lock in
 * the database admits one process after the other.
 */
export function openAppendQueue(agenda: EventQueue, { alone, each }: AppendTimes): AppendQueue {
  /** By process, in order of arrival at the lock. */
  const line = new Map<number, WaitingAppend[]>()
  let isBusy = false
  const next = (): void => {
    const [first] = line
    isBusy = first !== undefined
    if (first === undefined) return
    const [process, waiting] = first
    line.delete(process)
    let events = 0
    const flight: WaitingAppend[] = []
    for (const one of waiting) {
      if (flight.length > 0 && events + one.events > MAX_TRANSACTION_EVENTS) break
      events += one.events
      flight.push(one)
    }
    const rest = waiting.slice(flight.length)
    if (rest.length > 0) line.set(process, rest)
    agenda.schedule(agenda.now() + alone + events * each, () => {
      for (const { stored } of flight) stored()
      next()
    })
  }
  return (process, events, stored) => {
    const waiting = line.get(process)
    if (waiting === undefined) line.set(process, [{ events, stored }])
    else waiting.push({ events, stored })
    if (!isBusy) next()
  }
}
