/** All requests to the runners of a run, and their responses, for the audit to compare with the store. */
import type { ProposedEvent } from "../../adapters/eventstore/port.ts"
import type { ServedApiCall } from "../../domain/charging/api-calls.ts"
import type { LedgerState } from "../../domain/charging/ledger-state.ts"
import { accountOf, ledgerRevision } from "../../domain/charging/ledger-views.ts"
import type { LimitReading } from "../../domain/charging/limits.ts"
import type { Fact } from "../../domain/kernel/decider.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import { categoryOf } from "../../domain/kernel/aggregate.ts"
import type { CommandOutcome, Runner } from "../../src/frame/writer/runner.ts"
import type { TaskOwner, Schedule } from "./schedule.ts"

interface Growth {
  readonly at: number
  readonly length: number
}

/** Which events were stored when, and by which process. */
export class StoreTimeline {
  readonly #growth = new Map<string, Growth[]>()
  readonly #writers = new Map<string, string>()

  /** Records the events that a process has stored, unless they are already recorded. */
  recordAppend(
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

  lengthOf(stream: string): number {
    return this.#growth.get(stream)?.at(-1)?.length ?? 0
  }

  /** The number of events in a stream before a moment. */
  lengthBefore(stream: string, at: number): number {
    return this.#growth.get(stream)?.findLast((one) => one.at < at)?.length ?? 0
  }

  /** The process that stored an event; undefined if none did. */
  writerOf(eventId: string): string | undefined {
    return this.#writers.get(eventId)
  }
}

/** The length of a stream at a request and at its response. */
interface RequestSpan {
  readonly process: string
  readonly stream: string
  /** The stream's number of events one second before the request. */
  readonly lengthBefore: number
  readonly lengthAtRequest: number
}

export interface CommandRecord extends RequestSpan {
  readonly command: object
  /** The unique name of its cause. */
  readonly cause: string
  outcome: CommandOutcome<Fact, Fact, unknown> | null
  error: Error | null
  lengthAtResponse: number
  /** Milliseconds between the caller's deadline and the response; null if no caller was left. */
  lateMs: number | null
}

/** A read of a ledger, and the state it returned. */
export interface ReadRecord extends RequestSpan {
  readonly isLatest: boolean
  readonly revision: number
  readonly fundsMicros: Micros
  /** The stream's number of events one second before the read. */
  readonly lengthOneSecondBefore: number
}

export interface BufferedCallRecord extends RequestSpan {
  readonly call: ServedApiCall
  answer: "gathered" | LimitReading | Error | null
  lengthAtResponse: number
  lateMs: number | null
}

interface WarningRecord {
  readonly process: string
  readonly message: string
  readonly error: unknown
}

/** All requests and responses of a run. */
export class RunRecords {
  readonly commands: CommandRecord[] = []
  readonly reads: ReadRecord[] = []
  readonly bufferedCalls: BufferedCallRecord[] = []
  readonly warnings: WarningRecord[] = []
  /** The names of the processes that were shut down. */
  readonly stoppedProcesses = new Set<string>()
  readonly #schedule: Schedule
  readonly #timeline: StoreTimeline

  constructor(schedule: Schedule, timeline: StoreTimeline) {
    this.#schedule = schedule
    this.#timeline = timeline
  }

  /** A process's runner that records every request and response. */
  recordingRunner(owner: TaskOwner, runner: Runner): Runner {
    return {
      ...runner,
      execute: async (to, command, cause, view, deadlineMs) => {
        const { stream } = to
        const name = `${cause.command}#${this.#next()}`
        const one: CommandRecord = {
          ...this.#span(owner, stream),
          command: command as object,
          cause: name,
          outcome: null,
          error: null,
          lengthAtResponse: 0,
          lateMs: null,
        }
        const deadline = this.#schedule.now + (deadlineMs ?? runner.deadlineMs)
        this.commands.push(one)
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
          one.lengthAtResponse = this.#timeline.lengthOf(stream)
        }
      },
      read: (at, view) =>
        this.#read(owner, at.stream, false, view, (record) => runner.read(at, record)),
      readLatest: (at, view) =>
        this.#read(owner, at.stream, true, view, (record) => runner.readLatest(at, record)),
      buffer: async (target, item) => {
        const { stream } = target
        const call = item as ServedApiCall
        const nothing = { answer: null, lengthAtResponse: 0, lateMs: null }
        const one: BufferedCallRecord = { ...this.#span(owner, stream), call, ...nothing }
        const deadline = this.#schedule.now + runner.deadlineMs
        this.bufferedCalls.push(one)
        try {
          const fault = await runner.buffer(target, item)
          one.answer = fault === null ? "gathered" : (fault as LimitReading)
          return fault
        } catch (error) {
          one.answer = error as Error
          throw error
        } finally {
          one.lateMs = this.#schedule.now - deadline
          one.lengthAtResponse = this.#timeline.lengthOf(stream)
        }
      },
    }
  }

  #next(): number {
    return this.commands.length
  }

  #span(owner: TaskOwner, stream: string): RequestSpan {
    return {
      process: owner.name,
      stream,
      lengthBefore: this.#timeline.lengthBefore(stream, this.#schedule.now - 1_000),
      lengthAtRequest: this.#timeline.lengthOf(stream),
    }
  }

  async #read<S, V>(
    owner: TaskOwner,
    stream: string,
    isLatest: boolean,
    view: (state: S, at: number) => V,
    read: (record: (state: S, at: number) => V) => Promise<V>,
  ): Promise<V> {
    if (categoryOf(stream) !== "ledger") return read(view)
    const span = this.#span(owner, stream)
    let record: ReadRecord | null = null
    const answer = await read((state, at) => {
      // If a state was not stored, the read runs again; the last result counts.
      record = {
        ...span,
        isLatest,
        revision: ledgerRevision(state as LedgerState),
        fundsMicros: accountOf(state as LedgerState).fundsMicros,
        lengthOneSecondBefore: this.#timeline.lengthBefore(stream, this.#schedule.now - 1_000),
      }
      return view(state, at)
    })
    if (record !== null) this.reads.push(record)
    return answer
  }
}
