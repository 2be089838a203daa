/** A runner on the memory store, with faults on demand and a time that advances only by pauses. */
import { expect } from "vitest"
import { openMemoryCheckpoints } from "../../adapters/postgres/checkpoints/checkpoints.ts"
import type { Checkpoints } from "../../adapters/postgres/checkpoints/port.ts"
import type { Pacer } from "../../adapters/machine/clock/port.ts"
import type { AppendFault } from "../../adapters/eventstore/memory.ts"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type { EventStore, StoredEvent } from "../../adapters/eventstore/port.ts"
import { openMemoryLocks } from "../../adapters/postgres/locks/locks.ts"
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import { accountOf } from "../../domain/charging/ledger-views.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { openRunner } from "../../src/frame/writer/runner.ts"
import type { Runner } from "../../src/frame/writer/runner.ts"
import type { RunnerPorts } from "../../src/frame/writer/runner/port.ts"

/** The store, with the results of reads delayed until the promise resolves. */
export function storeWithDelayedReads<S extends EventStore>(store: S, until: Promise<unknown>): S {
  return {
    ...store,
    read: async function* (...args: Parameters<EventStore["read"]>) {
      const pages = []
      for await (const page of store.read(...args)) pages.push(page)
      await until
      yield* pages
    },
  }
}

/** A pacer whose time can also be advanced by hand. */
interface VirtualPacer extends Pacer {
  /** Advances the time by so many milliseconds and ends the timers that are due. */
  readonly advance: (ms: number) => void
}

/**
 * Opens a virtual pacer. A pause without a signal ends immediately and advances the time; a pause with a signal is a
 * timer, which ends once the time has advanced otherwise.
 */
export function virtualPacer(): VirtualPacer {
  let elapsed = 0
  const timers = new Set<{ readonly at: number; readonly end: () => void }>()
  const advance = (ms: number): void => {
    elapsed += ms
    for (const timer of timers) {
      if (timer.at > elapsed) continue
      timers.delete(timer)
      timer.end()
    }
  }
  return {
    elapsedMs: () => elapsed,
    advance,
    pause: async (ms, signal) => {
      if (signal === undefined) {
        advance(ms)
        await new Promise(setImmediate)
        return
      }
      await new Promise<void>((resolve) => {
        const timer = { at: elapsed + ms, end: resolve }
        timers.add(timer)
        signal.addEventListener("abort", () => {
          timers.delete(timer)
          resolve()
        })
      })
    },
  }
}

/** The ledger that all tests here use. */
export const TEST_LEDGER = ledgerStreamOf("co_aaaaaa")
export const TEST_LEDGER_STREAM = TEST_LEDGER.stream
const START = Date.UTC(2026, 10, 21, 12)

/** A call by a person's own key. */
export const SERVED_CALL = {
  via: "own_key",
  keyId: "key_1",
  personId: "per_1",
  unitPriceMicros: 100,
  priceVersion: 1,
} as const

interface RunnerFixture {
  readonly store: EventStore
  readonly runner: Runner
  readonly checkpoints: Checkpoints
  readonly newRunner: () => Runner
}

/** A runner with its own checkpoints and locks and a fixed clock, unless other ports are passed. */
export function runnerWith(
  ports: Pick<RunnerPorts, "store" | "pacer"> & Partial<RunnerPorts>,
): Runner {
  return openRunner({
    checkpoints: openMemoryCheckpoints(),
    locks: openMemoryLocks(ports.pacer),
    clock: { now: () => START },
    warn: (message, error) => expect.unreachable(`${message} ${String(error)}`),
    ...ports,
  })
}

/** A runner on any store, with its own checkpoints unless some are passed. */
export function runnerOn(
  store: EventStore,
  checkpoints: Checkpoints = openMemoryCheckpoints(),
  warnings: string[] = [],
  elapsedMs?: () => number,
): Runner {
  const pacer = { ...virtualPacer(), ...(elapsedMs === undefined ? {} : { elapsedMs }) }
  return runnerWith({ store, pacer, checkpoints, warn: (message) => warnings.push(message) })
}

/** Opens a fixture; `faults` chooses the fault of the n-th append, counted from 1. */
export function openRunnerFixture(
  faults: (attempt: number) => AppendFault = () => "none",
): RunnerFixture {
  let attempts = 0
  const store = openMemoryEventStore({
    chooseFault: () => {
      attempts += 1
      return faults(attempts)
    },
  })
  const checkpoints = openMemoryCheckpoints()
  const newRunner = () => runnerOn(store, checkpoints)
  return { store, runner: newRunner(), checkpoints, newRunner }
}

/** Executes a ledger command and returns its outcome with the account as view. */
export async function executeOnLedger(runner: Runner, command: LedgerCommand, deadlineMs?: number) {
  return runner.execute(TEST_LEDGER, command, causedBy("test"), accountOf, deadlineMs)
}

/** A command that adds funds. */
export function addFundsCommand(amountMicros: number): LedgerCommand {
  return { type: "AddFunds", amountMicros, reference: null }
}

/** A command that makes a pending charge for the company. */
export function pendingChargeCommand(chargeId: string, amountMicros: number): LedgerCommand {
  return {
    type: "Charge",
    chargeId,
    via: "company",
    keyId: null,
    personId: null,
    class: "general",
    item: "test",
    quantity: 1,
    unitPriceMicros: amountMicros,
    priceVersion: 1,
    amountMicros,
    resource: null,
    requestedAt: START,
    dueAt: null,
    servedFrom: null,
    isPending: true,
    exemption: null,
    searchedUpTo: null,
  }
}

/** All events of the stream. */
export async function storedEventsIn(store: EventStore): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = []
  for await (const page of store.read(TEST_LEDGER_STREAM)) events.push(...page)
  return events
}
