/**
 * How many calls a process takes in hand at once. A call that would wait for too long is turned away
 * at the door, where that is cheap: the memory stays bounded, and what was taken is served in time.
 *
 * How long a newcomer would wait is what is in hand divided by what is finished in a second. Nobody
 * is turned away below a number that any process serves, nor for a rush that has only just begun.
 */
import type { Pacer } from "../../../adapters/machine/clock/port.ts"
import { getHeapStatistics } from "node:v8"
import underPressure from "@fastify/under-pressure"
import type { FastifyInstance } from "fastify"
import { overloadedRefusal } from "../routes/answers/faults.ts"
import { sendRefusal } from "./outgoing.ts"

/** Beyond this part of what V8 may use, collecting takes all the time there is. */
const FULL_HEAP = 0.95

/** When a process counts as overloaded, and how often it is looked at. */
export interface Pressure {
  readonly heapBytes: number
  readonly sampleEveryMs: number
}

const PRESSURE: Pressure = {
  heapBytes: Math.floor(getHeapStatistics().heap_size_limit * FULL_HEAP),
  sampleEveryMs: 1_000,
}

/** So many calls are always taken in hand. */
const ALWAYS = 1_000
/** And never more than so many. */
const MOST = 10_000
/** In between, nobody is taken in hand who would wait longer. */
const MOST_WAIT_S = 4
/** Over so long it is counted what is finished. */
const WINDOW_MS = 1_000

/** A call that was taken in hand. */
export interface Place {
  /** Somebody works on the call: it stays in hand also when its caller goes away. */
  readonly work: <T>(work: () => Promise<T>) => Promise<T>
  /** The answer has left, or its caller. */
  readonly leave: () => void
}

/** The door of a process. */
export interface Admission {
  /** Takes a call in hand; null where it is to be turned away. */
  readonly enter: () => Place | null
  /** How many calls are in hand. */
  readonly inHand: () => number
}

/** Opens the door of a process. */
export function openAdmission(pacer: Pick<Pacer, "elapsedMs">): Admission {
  let inHand = 0
  let finished = 0
  /** When counting began anew; null while few are in hand. */
  let countedFrom: number | null = null
  /** What was finished in a second when it was counted last; null where it never was in this rush. */
  let perSecond: number | null = null

  const isTooLong = (): boolean => {
    if (inHand < ALWAYS) return false
    if (inHand >= MOST) return true
    const now = pacer.elapsedMs()
    countedFrom ??= now
    const countedMs = now - countedFrom
    if (countedMs >= WINDOW_MS) {
      perSecond = (finished * 1_000) / countedMs
      finished = 0
      countedFrom = now
    }
    return perSecond !== null && inHand > perSecond * MOST_WAIT_S
  }
  const end = (): void => {
    inHand -= 1
    finished += 1
    if (inHand >= ALWAYS) return
    finished = 0
    countedFrom = null
    perSecond = null
  }
  return {
    inHand: () => inHand,
    enter: () => {
      if (isTooLong()) return null
      inHand += 1
      let holders = 1
      const letGo = (): void => {
        holders -= 1
        if (holders === 0) end()
      }
      let hasLeft = false
      return {
        work: async (work) => {
          holders += 1
          try {
            return await work()
          } finally {
            letGo()
          }
        },
        leave: () => {
          if (hasLeft) return
          hasLeft = true
          letGo()
        },
      }
    },
  }
}

/** Watches the process from here on. */
export async function watchPressure(
  app: FastifyInstance,
  { heapBytes, sampleEveryMs }: Pressure = PRESSURE,
): Promise<void> {
  await app.register(underPressure, {
    maxHeapUsedBytes: heapBytes,
    sampleInterval: sampleEveryMs,
    pressureHandler: async (request, reply) => {
      // Before its route is looked at: nothing is said of what it pays for.
      const nothing = { pays: null, isNamed: false, mayBeDone: false }
      await sendRefusal(reply, overloadedRefusal({ requestId: request.id, ...nothing }))
    },
  })
}
