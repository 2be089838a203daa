/**
 * Faults that a test sets off in a whole process: `LEDGER_FAILPOINTS` and `LEDGER_CLOCK_FAULT`. They
 * are refused outside of tests (`NODE_ENV=test`), and without them every part is the one that was given.
 */
import type { Server } from "node:http"
import type { Pool } from "pg"
import type { Carrier } from "../../adapters/carrier/port.ts"
import type { ClockFault } from "../../adapters/clock/faulty.ts"
import { faultyMachine, parseClockFault } from "../../adapters/clock/faulty.ts"
import type { Pacer } from "../../adapters/clock/port.ts"
import type { EventStore } from "../../adapters/eventstore/port.ts"
import type { FailpointHits } from "../../adapters/failpoints/failpoints.ts"
import { openFailpoints, parseFailpoints } from "../../adapters/failpoints/failpoints.ts"
import {
  failBetweenAnswers,
  failingCarrier,
  failingProjection,
  failingStore,
} from "../../adapters/failpoints/wrapped.ts"
import type { Projection } from "../../projections/projection.ts"

/** What is to go wrong. */
export interface Faults {
  readonly failpoints: FailpointHits | null
  readonly clock: ClockFault | null
}

/** Nothing. */
const NO_FAULTS: Faults = { failpoints: null, clock: null }

/** Reads the faults that are set, and what is wrong with how they are, a line each. */
export function readFaults(env: Readonly<Record<string, string | undefined>>): {
  readonly faults: Faults
  readonly wrong: readonly string[]
} {
  const wrong: string[] = []
  const read = <T>(name: string, parse: (text: string) => T): T | null => {
    const text = env[name] ?? ""
    if (text === "") return null
    if (env["NODE_ENV"] !== "test") {
      wrong.push(`${name} is for tests alone: it is refused without NODE_ENV=test.`)
      return null
    }
    try {
      return parse(text)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      wrong.push(`${name} ${error.message}.`)
      return null
    }
  }
  const failpoints = read("LEDGER_FAILPOINTS", parseFailpoints)
  const clock = read("LEDGER_CLOCK_FAULT", parseClockFault)
  return { faults: { failpoints, clock }, wrong }
}

/** The time of the machine and of the database. */
interface Machine {
  readonly pool: Pick<Pool, "query">
  readonly pacer: Pacer
}

/** Parts of an installation as they are with its faults. */
export interface Faulty {
  readonly store: (store: EventStore) => EventStore
  readonly carrier: (carrier: Carrier) => Carrier
  readonly projection: (projection: Projection) => Projection
  readonly machine: (machine: Machine) => Machine
  readonly server: (server: Server) => void
}

/** Arranges for faults; without any, each part is the one that was given. */
export function arrangeFaults({ failpoints, clock }: Faults = NO_FAULTS): Faulty {
  const reach = failpoints === null ? null : openFailpoints(failpoints)
  return {
    store: (store) => (reach === null ? store : failingStore(store, reach)),
    carrier: (carrier) => (reach === null ? carrier : failingCarrier(carrier, reach)),
    projection: (one) => (reach === null ? one : failingProjection(one, reach)),
    machine: (machine) => (clock === null ? machine : faultyMachine(clock, machine)),
    server: (server) => {
      if (reach !== null) failBetweenAnswers(server, reach)
    },
  }
}
