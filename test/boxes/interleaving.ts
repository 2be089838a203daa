/**
 * Processes on one store in memory, with its jobs and charges. A process waits for a turn before each call to a
 * port, so that a test decides which process continues, which one crashes, and what happens in between.
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

/** Start of every history. */
export const NOON = Date.UTC(2026, 10, 23, 12)

export interface InterleavedJob {
  readonly key: string
  readonly item: JobToEnqueue
  readonly reaction: Reaction
  dueAt: number
  attempts: number
  isDispatched: boolean
}

/** The stored facts, with their jobs and charges. */
export class InterleavedStore {
  readonly store: EventStore
  readonly facts: ProjectedFact[] = []
  readonly jobs = new Map<string, InterleavedJob>()
  readonly charges = new Map<string, ChargeRow>()
  readonly #reactions: readonly Reaction[]

  /** @param reactions enqueue the jobs */
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
          // A repeated append counts once.
          const key = `${stream}/${revision}`
          if (!seen.has(key))
            this.#take({ ...event, stream, revision, position: appended.position })
          seen.add(key)
        }
        return appended
      },
    }
  }

  settle(row: InterleavedJob, result: JobResult, now: number): void {
    // Another process may have settled it, or a fact ended it.
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

/** Where a process crashes: at which turn, and whether the call of that turn still takes effect. */
export interface CrashPoint {
  readonly turnNumber: number
  readonly isEffectApplied: boolean
}

/** Each turn takes a moment, so that no two happen at the same time. */
const MOMENT_MS = 0.001

/** Ends a process: nothing of it continues. */
class ProcessCrashed extends Error {
  override readonly name = "ProcessCrashed"
}

/** Errors that a real process can get, and after which its caller or job retries. */
const TRANSIENT_ERRORS = new Set([
  "ProcessCrashed",
  "OutcomeUnknown",
  "Unavailable",
  "DeadlinePassed",
])

/** Runs a call of a process once it has its turn. */
export type RunInTurn = <T>(act: () => Promise<T>) => Promise<T>

export type ProviderBehavior = "ok" | "unavailable" | "silent"

/** The processes of a history. */
export abstract class InterleavedProcesses {
  readonly stored: InterleavedStore
  readonly runners: readonly Runner[]
  /** Errors that no history may cause. */
  readonly faults: unknown[] = []
  now = NOON
  provider: ProviderBehavior = "ok"
  /** Whether processes continue without turns. */
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

  /** The ports that the slice of the history needs in addition. */
  protected abstract ownPorts(process: number, turn: RunInTurn): object

  /** The rows that read models return; by default the queried charge. */
  protected queryRows(query: CompiledQuery): readonly object[] {
    if (!isChargesQuery(query)) throw new Error(`this query is not supported: ${query.sql}`)
    const row = this.stored.charges.get(String(query.parameters[1]))
    return row === undefined ? [] : [row]
  }

  /** Advances the clocks of the ledger and the machines. */
  advance(ms: number): void {
    this.now += ms
    this.pacer.advance(ms)
  }

  /** Runs an action in a process, which continues as it gets turns. Resolves when the action has ended. */
  async start(
    process: number,
    fate: CrashPoint | null,
    act: (ports: Ports) => Promise<unknown>,
  ): Promise<void> {
    const action = act(this.#portsOf(process, this.#turnOf(process, fate))).then(
      () => undefined,
      (error: unknown) => {
        if (!isTransient(error)) this.faults.push(error)
      },
    )
    this.#inHand.add(action)
    await action
    this.#inHand.delete(action)
  }

  /** Runs a job in a process. If the process crashes, the job stays. */
  runJob(row: InterleavedJob, process: number, fate: CrashPoint | null): void {
    void this.start(process, fate, async (ports) => {
      row.attempts += 1
      const { item, attempts, isDispatched } = row
      const { kind, name, subject, companyId } = item
      if (companyId === null) throw new Error(`${name} has no company`)
      const claimed = { jobId: 0, kind, name, subject, companyId, attempts, isDispatched }
      const { signal } = new AbortController()
      const payload: unknown = row.reaction.payload.parse(item.payload)
      const job = { ...claimed, signal, payload }
      const dispatch = async () => {
        row.isDispatched = true
        return true
      }
      const jobPorts = { ...ports, jobs: { ...ports.jobs, dispatch } }
      const result = await row.reaction.perform(jobPorts, job)
      this.stored.settle(row, result, this.now)
    })
  }

  async grantTurn(which: number): Promise<void> {
    this.#waiting.splice(which % Math.max(1, this.#waiting.length), 1)[0]?.go()
    await untilAllWaiting()
  }

  /** Grants a turn to a process; false if it does not wait for one. */
  async grantTurnTo(process: number): Promise<boolean> {
    const which = this.#waiting.findIndex((one) => one.process === process)
    if (which >= 0) await this.grantTurn(which)
    return which >= 0
  }

  /**
   * Lets all processes continue until every action has ended.
   *
   * @throws the first fault: a failing job stays due, and would run forever
   */
  async finish(): Promise<void> {
    this.isUnblocked = true
    for (const { go } of this.#waiting.splice(0)) go()
    while (this.#inHand.size > 0) await Promise.all(this.#inHand)
    if (this.faults.length > 0) throw this.faults[0]
  }

  /** Calls the provider, which may be unavailable, or may act without answering. */
  protected providerTurn(turn: RunInTurn): RunInTurn {
    return (act) =>
      turn(async () => {
        if (this.provider === "unavailable") throw new ProviderUnavailable("set to be unavailable")
        const done = await act()
        if (this.provider === "silent") throw new ProviderOutcomeUnknown("set to be silent")
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

/** Whether an error is transient, and so are all of its causes. */
function isTransient(error: unknown): boolean {
  if (!(error instanceof Error && TRANSIENT_ERRORS.has(error.name))) return false
  return error.cause === undefined || isTransient(error.cause)
}

/** Resolves once all processes wait for a turn or have ended. */
export async function untilAllWaiting(): Promise<void> {
  await new Promise(setImmediate)
}

/** An arbitrary of words. */
export const oneOfWords = <T extends string>(...words: readonly T[]) => fc.constantFrom(...words)

/** A kind of step with its weight. */
export const weightedStep = <T extends object>(
  weight: number,
  of: { [K in keyof T]: fc.Arbitrary<T[K]> },
) => ({ weight, arbitrary: fc.record<T>(of) })
