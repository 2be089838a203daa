/**
 * Faults that a test sets off in a whole process: `LEDGER_FAILPOINTS`, `LEDGER_CLOCK_FAULT` and
 * `LEDGER_STRAY_FAULT`. They are refused outside of tests (`NODE_ENV=test`), and without them every part
 * is the one that was given.
 */
import type { Server } from "node:http"
import process from "node:process"
import type { Pool } from "pg"
import type {
  ClockFault,
  FailpointHits,
  ReachFailpoint,
} from "../../../adapters/machine/failpoints/failpoints.ts"
import {
  withClockFault,
  parseClockFault,
  openFailpoints,
  parseFailpoints,
} from "../../../adapters/machine/failpoints/failpoints.ts"
import type { Pacer } from "../../../adapters/machine/clock/port.ts"
import type { EventStore } from "../../../adapters/eventstore/port.ts"
import type { Projection } from "../../../projections/kernel/projection.ts"

/** What is to go wrong. */
export interface InjectedFaults {
  readonly failpoints: FailpointHits | null
  readonly clock: ClockFault | null
  /** What nobody catches, set off by SIGUSR2. */
  readonly stray: StrayFault | null
}

/** An error that is thrown where nobody is, or a promise that breaks without anybody waiting for it. */
type StrayFault = "exception" | "rejection"

/** Nothing. */
const NO_FAULTS: InjectedFaults = { failpoints: null, clock: null, stray: null }

/** Reads the faults that are set, and what is wrong with how they are, a line each. */
export function readInjectedFaults(env: Readonly<Record<string, string | undefined>>): {
  readonly faults: InjectedFaults
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
  const stray = read("LEDGER_STRAY_FAULT", parseStrayFault)
  return { faults: { failpoints, clock, stray }, wrong }
}

/** @throws RangeError naming what is wrong */
function parseStrayFault(text: string): StrayFault {
  if (text === "exception" || text === "rejection") return text
  throw new RangeError("must be exception or rejection")
}

/** Sets a fault off, outside of anybody's hands. */
function triggerStrayFault(fault: StrayFault): void {
  const error = new Error(`a stray ${fault}`)
  if (fault === "exception") throw error
  void Promise.reject(error)
}

/** The time of the machine and of the database. */
interface Machine {
  readonly pool: Pick<Pool, "query">
  readonly pacer: Pacer
}

/** Parts of an installation as they are with its faults. */
export interface FaultInjector {
  readonly store: (store: EventStore) => EventStore
  /** A provider as it is with its faults around an act of it. */
  readonly provider: <P extends object>(port: P, act: keyof P) => P
  readonly projection: (projection: Projection) => Projection
  readonly machine: (machine: Machine) => Machine
  readonly server: (server: Server) => void
}

/** Arranges for faults; without any, each part is the one that was given. */
export function openFaultInjector({
  failpoints,
  clock,
  stray: fault,
}: InjectedFaults = NO_FAULTS): FaultInjector {
  const reach = failpoints === null ? null : openFailpoints(failpoints)
  return {
    store: (store) => (reach === null ? store : failingStore(store, reach)),
    provider: (port, act) => (reach === null ? port : failingProvider(port, act, reach)),
    projection: (one) => (reach === null ? one : failingProjection(one, reach)),
    machine: (machine) => (clock === null ? machine : withClockFault(clock, machine)),
    server: (server) => {
      if (fault !== null) process.on("SIGUSR2", () => triggerStrayFault(fault))
      if (reach !== null) failBetweenAnswers(server, reach)
    },
  }
}

/** A store that may end the process right before an append, or right after it was stored. */
function failingStore(store: EventStore, reach: ReachFailpoint): EventStore {
  return {
    ...store,
    append: async (stream, events, expectedRevision) => {
      const types = events.map(({ type }) => type)
      reach("append.before", types)
      const stored = await store.append(stream, events, expectedRevision)
      reach("append.after", types)
      return stored
    },
  }
}

/**
 * A provider that may end the process right before it is asked for an act, or right after its answer.
 *
 * @throws TypeError where that is no act
 */
function failingProvider<P extends object>(port: P, act: keyof P, reach: ReachFailpoint): P {
  const perform = port[act]
  if (typeof perform !== "function") throw new TypeError(`${String(act)} is no act of a provider`)
  const performing = async (...given: readonly unknown[]): Promise<unknown> => {
    reach("provider.before")
    const answer: unknown = await perform.apply(port, given)
    reach("provider.after")
    return answer
  }
  return { ...port, [act]: performing }
}

/** A read model that may end the process when its rows are written and not committed. */
function failingProjection(projection: Projection, reach: ReachFailpoint): Projection {
  return {
    ...projection,
    apply: async (tx, facts, opener) => {
      await projection.apply(tx, facts, opener)
      reach("projection.inside")
    },
  }
}

/** Lets a server end the process when an answer has left it, and others of its batch have not. */
function failBetweenAnswers(server: Pick<Server, "on">, reach: ReachFailpoint): void {
  server.on("request", (_request, response) => {
    response.once("finish", () => reach("answers.between"))
  })
}
