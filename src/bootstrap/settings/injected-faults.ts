/**
 * Faults that a test injects into a whole process: `LEDGER_FAILPOINTS`, `LEDGER_CLOCK_FAULT` and
 * `LEDGER_STRAY_FAULT`. They are rejected without `NODE_ENV=test`.
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

export interface InjectedFaults {
  readonly failpoints: FailpointHits | null
  readonly clock: ClockFault | null
  /** An uncaught error, set off by SIGUSR2. */
  readonly stray: StrayFault | null
}

/** An exception outside of any call, or a rejected promise without a handler. */
type StrayFault = "exception" | "rejection"

const NO_FAULTS: InjectedFaults = { failpoints: null, clock: null, stray: null }

/** Reads the injected faults, and the errors in them, a line each. */
export function readInjectedFaults(env: Readonly<Record<string, string | undefined>>): {
  readonly faults: InjectedFaults
  readonly wrong: readonly string[]
} {
  const wrong: string[] = []
  const read = <T>(name: string, parse: (text: string) => T): T | null => {
    const text = env[name] ?? ""
    if (text === "") return null
    if (env["NODE_ENV"] !== "test") {
      wrong.push(`${name} is only for tests: it needs NODE_ENV=test.`)
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

/** @throws RangeError for an unknown fault */
function parseStrayFault(text: string): StrayFault {
  if (text === "exception" || text === "rejection") return text
  throw new RangeError("must be exception or rejection")
}

/** Sets off a fault that no code catches. */
function triggerStrayFault(fault: StrayFault): void {
  const error = new Error(`a stray ${fault}`)
  if (fault === "exception") throw error
  void Promise.reject(error)
}

/** The clocks of the machine and of the database. */
interface Machine {
  readonly pool: Pick<Pool, "query">
  readonly pacer: Pacer
}

/** Wraps parts of an installation with faults. */
export interface FaultInjector {
  readonly store: (store: EventStore) => EventStore
  /** Wraps a provider with faults around one of its methods. */
  readonly provider: <P extends object>(port: P, act: keyof P) => P
  readonly projection: (projection: Projection) => Projection
  readonly machine: (machine: Machine) => Machine
  readonly server: (server: Server) => void
}

/** Builds a fault injector; without faults it returns each part unchanged. */
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

/** A store that may end the process just before or just after an append. */
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
 * A provider that may end the process just before or just after one of its methods.
 *
 * @throws TypeError if there is no such method
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
