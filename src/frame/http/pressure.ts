/**
 * Turns calls away while the memory of the process is nearly full. How many calls it takes in hand, and
 * so what is done where its event loop is late, is the door's to decide (pipeline/admission.ts): the
 * package's own look at the loop takes one pause of a second for one without an end.
 */
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
