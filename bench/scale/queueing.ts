/** Where a call waits in a simulation: cores that do one thing after the other, and the line of appends. */
import type { EventQueue } from "./event-queue.ts"

/** Cores that take what comes in its order. `done` is called once `micros` of work are done. */
export type Cores = (micros: number, done: () => void) => void

/** So many cores. */
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

/** What an append takes: by itself, and what each event adds, microseconds. */
export interface AppendTimes {
  readonly alone: number
  readonly each: number
}

/** Appends events for a process. `stored` is called once they are. */
export type AppendQueue = (process: number, events: number, stored: () => void) => void

/** What one transaction takes at most: `FLIGHT_EVENTS` of the appender. */
const MAX_TRANSACTION_EVENTS = 500

interface WaitingAppend {
  readonly events: number
  readonly stored: () => void
}

/**
 * The one line of all appends: a process has one transaction under way, with everything that waited,
 * and the lock in the database lets one process in after the other.
 */
export function openAppendQueue(agenda: EventQueue, { alone, each }: AppendTimes): AppendQueue {
  /** By process, in the order in which they came to the lock. */
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
