/**
 * Processes on one store in memory, with the rows of work that follow from its facts, and the bill. Before each
 * thing that a process asks for it waits for its turn, so that a test says who goes on next, who dies there, and
 * what happens meanwhile.
 */
import fc from "fast-check"
import type { CompiledQuery } from "kysely"
import { openMemoryCheckpoints } from "../../adapters/postgres/checkpoints/checkpoints.ts"
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type { EventStore, StoredEvent } from "../../adapters/eventstore/port.ts"
import { openMemoryLocks } from "../../adapters/postgres/locks/locks.ts"
import {
  ProviderOutcomeUnknown,
  ProviderUnavailable,
} from "../../adapters/providers/provider-errors.ts"
import type { JobResult } from "../../adapters/postgres/jobs/port.ts"
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import type { ChargeId, CompanyId } from "../../domain/kernel/ids.ts"
import type { ChargeRow } from "../../projections/charging/charge-lines.ts"
import { chargeRowOf } from "../../projections/charging/charge-lines.ts"
import type { JobToEnqueue } from "../../projections/kernel/jobs.ts"
import type { ProjectedFact } from "../../projections/kernel/projection.ts"
import type { Reaction } from "../../src/frame/effects/reaction.ts"
import { jobsEndedBy, jobsFor } from "../../src/frame/effects/reaction.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import type { Ports } from "../../src/frame/ports.ts"
import type { Runner } from "../../src/frame/writer/runner.ts"
import { openRunner } from "../../src/frame/writer/runner.ts"
import { PROGRAM } from "../../src/slices.ts"
import { plainSealing } from "../simulation/plain-sealing.ts"
import { isChargesQuery, kyselyWith } from "../simulation/sql.ts"
import { virtualPacer } from "../writer/runner-fixture.ts"
import { partialFake } from "../support/partial-fake.ts"

/** When every history begins. */
export const NOON = Date.UTC(2026, 10, 23, 12)

/** A row of work. */
export interface InterleavedJob {
  readonly key: string
  readonly item: JobToEnqueue
  readonly reaction: Reaction
  dueAt: number
  attempts: number
  isDispatched: boolean
}

/** Everything that is stored, as its facts, and what follows from them at once. */
export class InterleavedStore {
  readonly store: EventStore
  readonly facts: ProjectedFact[] = []
  readonly jobs = new Map<string, InterleavedJob>()
  readonly charges = new Map<string, ChargeRow>()
  readonly #reactions: readonly Reaction[]

  /** @param reactions what follows from facts */
  constructor(reactions: readonly Reaction[]) {
    this.#reactions = reactions
    const memory = openMemoryEventStore()
    const seen = new Set<string>()
    this.store = {
      ...memory,
      append: async (stream, events, expected) => {
        const appended = await memory.append(stream, events, expected)
        for (const [i, event] of events.entries()) {
          const revision = appended.revision - events.length + 1 + i
          // The same append once more is the same one.
          const key = `${stream}/${revision}`
          if (!seen.has(key))
            this.#take({ ...event, stream, revision, position: appended.position })
          seen.add(key)
        }
        return appended
      },
    }
  }

  /** What became of a row. */
  settle(row: InterleavedJob, result: JobResult, now: number): void {
    // Another process may have settled it meanwhile, or a fact ended it.
    if (this.jobs.get(row.key) !== row) return
    switch (result.result) {
      case "done":
        this.jobs.delete(row.key)
        return
      case "rescheduled":
        row.dueAt = result.dueAt
        row.attempts = 0
        return
      case "retry":
        row.dueAt = now + result.afterMs
        if (result.isDispatchCleared === true) row.isDispatched = false
        return
      case "released":
        return
      case "stuck":
        throw new Error(`${row.key} waits for an operator: ${result.reason}`)
    }
  }

  #take(event: StoredEvent): void {
    const recorded = PROGRAM.streams.toRecorded(event)
    this.facts.push(recorded)
    for (const item of jobsFor(this.#reactions, recorded)) {
      const key = `${item.kind} ${item.name}`
      const reaction = this.#reactions.find(({ kind }) => kind === item.kind) as Reaction
      const row = { key, item, reaction, dueAt: item.dueAt, attempts: 0, isDispatched: false }
      if (!this.jobs.has(key)) this.jobs.set(key, row)
    }
    for (const { kind, name } of jobsEndedBy(this.#reactions, recorded))
      this.jobs.delete(`${kind} ${name}`)
    this.#bill(recorded)
  }

  #bill({ fact, companyId, revision }: ProjectedFact): void {
    if (companyId === null) return
    if (fact.type === "Charged") {
      const line = chargeRowOf({ fact, companyId, revision })
      if (line !== null) this.charges.set(fact.chargeId, line)
    }
    if (fact.type === "ChargesSettled") for (const id of fact.chargeIds) this.#end(id, 0)
    if (fact.type === "ChargeReduced") this.#end(fact.chargeId, fact.amountMicros)
  }

  #end(chargeId: string, backMicros: number): void {
    const row = this.charges.get(chargeId)
    if (row === undefined) return
    const given_back_micros = row.given_back_micros + backMicros
    const isAll = backMicros > 0 && given_back_micros === -row.amount_micros
    this.charges.set(chargeId, {
      ...row,
      given_back_micros,
      state: isAll ? "given_back" : "final",
    })
  }
}

/** Where somebody dies: at the how manieth turn, and whether what they asked for is done then. */
export interface CrashPoint {
  readonly turnNumber: number
  readonly isEffectApplied: boolean
}

/** Each turn takes a moment: no two are at one instant of a clock that is as fine as a machine's. */
const MOMENT_MS = 0.001

/** Somebody died, as a process does: nothing of it goes on. */
class ProcessCrashed extends Error {
  override readonly name = "ProcessCrashed"
}

/** What a process of the real thing is told, and what its caller or its row tries again. */
const TRANSIENT_ERRORS = new Set([
  "ProcessCrashed",
  "OutcomeUnknown",
  "Unavailable",
  "DeadlinePassed",
])

/** Carries out what a process asks for, once it has its turn. */
export type RunInTurn = <T>(act: () => Promise<T>) => Promise<T>

/** How a provider answers. */
export type ProviderBehavior = "ok" | "unavailable" | "silent"

/** The world of a history. */
export abstract class InterleavedProcesses {
  readonly stored: InterleavedStore
  readonly runners: readonly Runner[]
  /** What went wrong that nothing may cause. */
  readonly faults: unknown[] = []
  now = NOON
  provider: ProviderBehavior = "ok"
  /** Whether nobody waits for a turn any more. */
  isUnblocked = false
  protected readonly pacer = virtualPacer()
  protected readonly clock = { now: () => this.now }
  readonly #waiting: { readonly process: number; readonly go: () => void }[] = []
  readonly #inHand = new Set<Promise<void>>()

  constructor(count: number, reactions: readonly Reaction[]) {
    this.stored = new InterleavedStore(reactions)
    const { store } = this.stored
    const { clock, pacer } = this
    const locks = openMemoryLocks(pacer)
    const checkpoints = openMemoryCheckpoints()
    const warn = (message: string, error: unknown) => {
      this.faults.push(new Error(message, { cause: error }))
    }
    this.runners = Array.from({ length: count }, () =>
      openRunner({ store, checkpoints, locks, clock, pacer, warn }),
    )
  }

  /** The ports that only the slice of the history asks for. */
  protected abstract ownPorts(process: number, turn: RunInTurn): object

  /** The rows that read models answer; default the charge that is asked for. */
  protected queryRows(query: CompiledQuery): readonly object[] {
    if (!isChargesQuery(query)) throw new Error(`no such question is answered here: ${query.sql}`)
    const row = this.stored.charges.get(String(query.parameters[1]))
    return row === undefined ? [] : [row]
  }

  /** Lets time pass, of the ledger and of the machines. */
  advance(ms: number): void {
    this.now += ms
    this.pacer.advance(ms)
  }

  /** Has a process do something; it goes on as it gets its turns. Resolves when it is over. */
  async start(
    process: number,
    fate: CrashPoint | null,
    act: (ports: Ports) => Promise<unknown>,
  ): Promise<void> {
    const doing = act(this.#portsOf(process, this.#turnOf(process, fate))).then(
      () => undefined,
      (error: unknown) => {
        if (!isTransient(error)) this.faults.push(error)
      },
    )
    this.#inHand.add(doing)
    await doing
    this.#inHand.delete(doing)
  }

  /** Has a process do a row. A row whose process dies is there as before. */
  runJob(row: InterleavedJob, process: number, fate: CrashPoint | null): void {
    void this.start(process, fate, async (ports) => {
      row.attempts += 1
      const { item, attempts, isDispatched } = row
      const { kind, name, subject, companyId } = item
      if (companyId === null) throw new Error(`${name} is of no company`)
      const taken = { jobId: 0, kind, name, subject, companyId, attempts, isDispatched }
      const { signal } = new AbortController()
      const payload: unknown = row.reaction.payload.parse(item.payload)
      const asked = { ...taken, signal, payload }
      const dispatch = async () => {
        row.isDispatched = true
        return true
      }
      const own = { ...ports, jobs: { ...ports.jobs, dispatch } }
      const result = await row.reaction.perform(own, asked)
      this.stored.settle(row, result, this.now)
    })
  }

  /** Gives somebody who waits for it their turn. */
  async grantTurn(which: number): Promise<void> {
    this.#waiting.splice(which % Math.max(1, this.#waiting.length), 1)[0]?.go()
    await untilAllWaiting()
  }

  /** Gives a process its turn; false where it waits for none. */
  async grantTurnTo(process: number): Promise<boolean> {
    const which = this.#waiting.findIndex((one) => one.process === process)
    if (which >= 0) await this.grantTurn(which)
    return which >= 0
  }

  /**
   * Everybody goes on until nothing is in hand.
   *
   * @throws the first fault: a row that goes wrong is due as before, and would be done for ever
   */
  async finish(): Promise<void> {
    this.isUnblocked = true
    for (const { go } of this.#waiting.splice(0)) go()
    while (this.#inHand.size > 0) await Promise.all(this.#inHand)
    if (this.faults.length > 0) throw this.faults[0]
  }

  /** Asks the provider, which may be away, or do it and not say so. */
  protected providerTurn(turn: RunInTurn): RunInTurn {
    return (act) =>
      turn(async () => {
        if (this.provider === "unavailable") throw new ProviderUnavailable("told to be away")
        const done = await act()
        if (this.provider === "silent") throw new ProviderOutcomeUnknown("told to be silent")
        return done
      })
  }

  #turnOf(process: number, fate: CrashPoint | null): RunInTurn {
    let left = fate?.turnNumber ?? Infinity
    return async (act) => {
      if (!this.isUnblocked) await new Promise<void>((go) => this.#waiting.push({ process, go }))
      this.pacer.advance(MOMENT_MS)
      left -= 1
      if (left < 0 || (left === 0 && fate?.isEffectApplied === false)) throw new ProcessCrashed()
      const done = await act()
      if (left <= 0) throw new ProcessCrashed()
      return done
    }
  }

  #portsOf(process: number, turn: RunInTurn): Ports {
    const runner = this.runners[process] as Runner
    const own: Runner = {
      ...runner,
      execute: (...asked) => turn(() => runner.execute(...asked)),
      read: (...asked) => turn(() => runner.read(...asked)),
      readLatest: (...asked) => turn(() => runner.readLatest(...asked)),
    }
    const { store } = this.stored
    return partialFake<Ports>({
      runner: own,
      store: { ...store, head: () => turn(() => store.head()) },
      clock: this.clock,
      pacer: this.pacer,
      sealing: plainSealing,
      projector: { waitUntilWritten: () => turn(async () => true) },
      readAll: kyselyWith((query) => {
        const rows = this.queryRows(query)
        return turn(async () => rows)
      }),
      counters: { increment: () => undefined },
      log: { info: () => undefined },
      settleCharge: async (companyId: CompanyId, chargeId: ChargeId) => {
        const command = { type: "SettleCharges" as const, chargeIds: [chargeId] }
        await own.execute(ledgerStreamOf(companyId), command, causedBy("close-charges"))
      },
      storeRefusal: () => undefined,
      ...this.ownPorts(process, turn),
    })
  }
}

/** Whether an error is one that may happen, or a doubt because of one. */
function isTransient(error: unknown): boolean {
  if (!(error instanceof Error && TRANSIENT_ERRORS.has(error.name))) return false
  return error.cause === undefined || isTransient(error.cause)
}

/** Resolves once everybody has come to their next turn. */
export async function untilAllWaiting(): Promise<void> {
  await new Promise(setImmediate)
}

/** One of these words. */
export const oneOfWords = <T extends string>(...words: readonly T[]) => fc.constantFrom(...words)

/** A step of a history that comes so often. */
export const weightedStep = <T extends object>(
  weight: number,
  of: { [K in keyof T]: fc.Arbitrary<T[K]> },
) => ({ weight, arbitrary: fc.record<T>(of) })
