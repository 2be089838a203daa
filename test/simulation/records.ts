/** What was asked of the runners of a run, and what they told: the audit holds it against the store. */
import type { ProposedEvent } from "../../adapters/eventstore/port.ts"
import type { ServedCall } from "../../domain/charging/calls.ts"
import type { Ledger } from "../../domain/charging/ledger-state.ts"
import { accountOf, ledgerRevision } from "../../domain/charging/ledger-views.ts"
import type { LimitReading } from "../../domain/charging/limits.ts"
import type { Fact } from "../../domain/kernel/decider.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import { categoryOf } from "../../domain/kernel/aggregate.ts"
import type { Outcome, Runner } from "../../src/frame/writer/run.ts"
import type { Owner, Schedule } from "./schedule.ts"

interface Growth {
  readonly at: number
  readonly length: number
}

/** What was stored when. */
export class Truth {
  readonly #growth = new Map<string, Growth[]>()
  readonly #writers = new Map<string, string>()

  /** Takes note of what a process has just stored, as far as it is new. */
  note(
    at: number,
    process: string,
    stream: string,
    length: number,
    events: readonly ProposedEvent[],
  ) {
    const growth = this.#growth.get(stream) ?? []
    this.#growth.set(stream, growth)
    if (length <= (growth.at(-1)?.length ?? 0)) return
    growth.push({ at, length })
    for (const { id } of events) this.#writers.set(id, process)
  }

  /** How many events a stream has. */
  lengthOf(stream: string): number {
    return this.#growth.get(stream)?.at(-1)?.length ?? 0
  }

  /** How many events a stream had before a moment. */
  lengthBefore(stream: string, at: number): number {
    return this.#growth.get(stream)?.findLast((one) => one.at < at)?.length ?? 0
  }

  /** The process that stored an event; undefined for none. */
  writerOf(eventId: string): string | undefined {
    return this.#writers.get(eventId)
  }
}

/** How long a stream was when something was asked, and when it was told. */
interface Span {
  readonly process: string
  readonly stream: string
  /** The stream's events a second before it was asked, and when it was asked. */
  readonly lengthBefore: number
  readonly lengthAsked: number
}

/** A command, and what it came to. */
export interface Commanded extends Span {
  readonly command: object
  /** The name of its cause, which no other command has. */
  readonly cause: string
  outcome: Outcome<Fact, Fact, unknown> | null
  error: Error | null
  lengthTold: number
  /** How long after its caller's deadline it was told; null where nobody was there to be told. */
  lateMs: number | null
}

/** A look at a ledger, as it was seen. */
export interface Looked extends Span {
  readonly isLatest: boolean
  readonly revision: number
  readonly fundsMicros: Micros
  /** The stream's events a second before the moment of the look. */
  readonly lengthSecondAgo: number
}

/** A call that was to be gathered. */
export interface Gathered extends Span {
  readonly call: ServedCall
  answer: "gathered" | LimitReading | Error | null
  lengthTold: number
  lateMs: number | null
}

/** A warning of a process. */
interface Warned {
  readonly process: string
  readonly message: string
  readonly error: unknown
}

/** Everything that was asked and told. */
export class Records {
  readonly commanded: Commanded[] = []
  readonly looked: Looked[] = []
  readonly gathered: Gathered[] = []
  readonly warned: Warned[] = []
  /** The names of the processes that were stopped in order. */
  readonly closed = new Set<string>()
  readonly #schedule: Schedule
  readonly #truth: Truth

  constructor(schedule: Schedule, truth: Truth) {
    this.#schedule = schedule
    this.#truth = truth
  }

  /** The runner of a process, of which everything is recorded. */
  recorded(owner: Owner, runner: Runner): Runner {
    return {
      ...runner,
      execute: async (to, command, cause, view, deadlineMs) => {
        const { stream } = to
        const name = `${cause.command}#${this.#next()}`
        const one: Commanded = {
          ...this.#span(owner, stream),
          command: command as object,
          cause: name,
          outcome: null,
          error: null,
          lengthTold: 0,
          lateMs: null,
        }
        const deadline = this.#schedule.now + (deadlineMs ?? runner.deadlineMs)
        this.commanded.push(one)
        try {
          const own = { ...cause, command: name }
          const outcome = await runner.execute(to, command, own, view, deadlineMs)
          one.outcome = outcome
          return outcome
        } catch (error) {
          one.error = error as Error
          throw error
        } finally {
          one.lateMs = this.#schedule.now - deadline
          one.lengthTold = this.#truth.lengthOf(stream)
        }
      },
      read: (at, view) =>
        this.#look(owner, at.stream, false, view, (seen) => runner.read(at, seen)),
      readLatest: (at, view) =>
        this.#look(owner, at.stream, true, view, (seen) => runner.readLatest(at, seen)),
      gather: async (beside, item) => {
        const { stream } = beside
        const call = item as ServedCall
        const nothing = { answer: null, lengthTold: 0, lateMs: null }
        const one: Gathered = { ...this.#span(owner, stream), call, ...nothing }
        const deadline = this.#schedule.now + runner.deadlineMs
        this.gathered.push(one)
        try {
          const fault = await runner.gather(beside, item)
          one.answer = fault === null ? "gathered" : (fault as LimitReading)
          return fault
        } catch (error) {
          one.answer = error as Error
          throw error
        } finally {
          one.lateMs = this.#schedule.now - deadline
          one.lengthTold = this.#truth.lengthOf(stream)
        }
      },
    }
  }

  #next(): number {
    return this.commanded.length
  }

  #span(owner: Owner, stream: string): Span {
    return {
      process: owner.name,
      stream,
      lengthBefore: this.#truth.lengthBefore(stream, this.#schedule.now - 1_000),
      lengthAsked: this.#truth.lengthOf(stream),
    }
  }

  async #look<S, V>(
    owner: Owner,
    stream: string,
    isLatest: boolean,
    view: (state: S, at: number) => V,
    look: (seen: (state: S, at: number) => V) => Promise<V>,
  ): Promise<V> {
    if (categoryOf(stream) !== "ledger") return look(view)
    const span = this.#span(owner, stream)
    let seen: Looked | null = null
    const answer = await look((state, at) => {
      // What is looked at again, because it was not stored, is seen as it was the last time.
      seen = {
        ...span,
        isLatest,
        revision: ledgerRevision(state as Ledger),
        fundsMicros: accountOf(state as Ledger).fundsMicros,
        lengthSecondAgo: this.#truth.lengthBefore(stream, this.#schedule.now - 1_000),
      }
      return view(state, at)
    })
    if (seen !== null) this.looked.push(seen)
    return answer
  }
}
