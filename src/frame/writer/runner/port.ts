/** The runner as its callers see it: commands, outcomes and errors. */
import type { Checkpoints } from "../../../../adapters/postgres/checkpoints/port.ts"
import type { Clock, Pacer } from "../../../../adapters/machine/clock/port.ts"
import type { Locks } from "../../../../adapters/postgres/locks/port.ts"
import type { Tracing } from "../../../../adapters/telemetry/port.ts"
import type {
  CorruptStream,
  EventStore,
  Position,
  StoredEvent,
} from "../../../../adapters/eventstore/port.ts"
import type {
  Aggregate,
  BufferingAggregate,
  AggregateStream,
} from "../../../../domain/kernel/aggregate.ts"
import type { Fact } from "../../../../domain/kernel/decider.ts"
import type { Cause } from "../../kernel/envelope.ts"
import type { CorruptList } from "../corrupt-list.ts"

/** The outcome of a command. */
export type CommandOutcome<E, R, V> =
  | {
      readonly accepted: true
      /** Empty if the command changed nothing. */
      readonly facts: readonly E[]
      readonly view: V
      /** Position of the stream's last fact; null if the stream is empty. */
      readonly position: Position | null
    }
  | { readonly accepted: false; readonly refusal: R; readonly view: V }

/** Default time that a caller waits for an answer. */
export const DEFAULT_DEADLINE_MS = 8_000

/** Too many callers wait for this stream; nothing was stored. */
export class Overloaded extends Error {
  override readonly name = "Overloaded"
}

/** The deadline passed while the command waited; nothing was stored. */
export class DeadlinePassed extends Error {
  override readonly name = "DeadlinePassed"
}

/** The deadline passed and the facts may be stored: send the command again, or read the stream. */
export class OutcomeUnknown extends Error {
  override readonly name = "OutcomeUnknown"
}

/** A stored event, by stream, revision and id. */
export type AppendedEvent = Pick<StoredEvent, "stream" | "revision" | "id">

/**
 * Executes commands, one batch per stream at a time. For a corrupt stream every method throws CorruptStream and
 * stores nothing.
 */
export interface Runner {
  /** Default of the methods' `deadlineMs`, milliseconds. */
  readonly deadlineMs: number
  /** The time that deadlines are measured in, milliseconds. */
  readonly elapsedMs: () => number
  /**
   * Decides a command and stores its facts.
   *
   * @throws Overloaded, DeadlinePassed, ClockUnsure, Unavailable: nothing was stored
   * @throws OutcomeUnknown: it may have been stored
   */
  readonly execute: <C, S, E extends Fact, R extends Fact, V = undefined>(
    to: AggregateStream<Aggregate<C, S, E, R>>,
    command: C,
    cause: Cause,
    /** Reads the state right after this command, before any other. */
    view?: (state: S, at: number) => V,
    deadlineMs?: number,
  ) => Promise<CommandOutcome<E, R, V>>
  /**
   * Reads a state that the store had at most a second ago, and waits for facts that are being stored.
   *
   * @throws Overloaded, DeadlinePassed, ClockUnsure, Unavailable
   */
  readonly read: <C, S, E extends Fact, R extends Fact, V>(
    at: AggregateStream<Aggregate<C, S, E, R>>,
    view: (state: S, at: number) => V,
    deadlineMs?: number,
  ) => Promise<V>
  /**
   * Reads a state that the store had at some moment since this call. For decisions that rest on the absence of
   * a fact, which another process may have stored just now.
   *
   * @throws Overloaded, DeadlinePassed, ClockUnsure, Unavailable
   */
  readonly readLatest: <C, S, E extends Fact, R extends Fact, V>(
    at: AggregateStream<Aggregate<C, S, E, R>>,
    view: (state: S, at: number) => V,
    deadlineMs?: number,
  ) => Promise<V>
  /**
   * Reads a state from memory without waiting, facts that are being stored included; loads it if it is not in
   * memory. Good enough to let a caller pass, never to reject one.
   *
   * @throws Overloaded, DeadlinePassed, ClockUnsure, Unavailable
   */
  readonly readCached: <C, S, E extends Fact, R extends Fact, V>(
    at: AggregateStream<Aggregate<C, S, E, R>>,
    view: (state: S, at: number) => V,
    deadlineMs?: number,
  ) => Promise<V>
  /**
   * Buffers an item. The next append to the stream stores it, within five seconds. Returns null if it was
   * buffered; otherwise the reason why the stored facts reject it.
   *
   * @throws Overloaded, DeadlinePassed, ClockUnsure, Unavailable: it was not buffered
   */
  readonly buffer: <C, S, E extends Fact, R extends Fact, I, N>(
    to: AggregateStream<BufferingAggregate<C, S, E, R, I, N>>,
    item: I,
    deadlineMs?: number,
  ) => Promise<N | null>
  /** Notifies the runner of stored events: a state that lacks one of them is updated before its next use. */
  readonly noteAppended: (events: readonly AppendedEvent[]) => void
  /** Confirms that the runner was notified of every event stored before `asOfMs` (the pacer's elapsed time). */
  readonly noteConfirmed: (asOfMs: number) => void
  /** The streams that are held back, and those that this process found corrupt and has not read intact since. */
  readonly corruptStreams: () => readonly CorruptStream[]
  /** Stores the buffered items; logs a warning for those that could not be stored. */
  readonly flush: () => Promise<void>
  /** Stores buffered items, waits for work in flight and saves checkpoints. Further calls wait for the first. */
  readonly close: () => Promise<void>
}

/** The runner's dependencies. */
export interface RunnerPorts {
  readonly store: EventStore
  /** The streams that are held back in every process and must not be loaded. Default none. */
  readonly corruptList?: Pick<CorruptList, "get" | "all">
  readonly checkpoints: Checkpoints
  /** Locks that writers of one stream in multiple processes take after conflicts. */
  readonly locks: Locks
  readonly clock: Clock
  readonly pacer: Pacer
  /** Called with faults that concern no caller, such as a checkpoint that could not be saved. */
  readonly warn: (message: string, error: unknown) => void
  /** Receives a span for each append; default none. */
  readonly tracing?: Tracing
  /** Makes UUIDs in lower case for commands and events; default random UUIDs of version 7. */
  readonly newUuid?: () => string
  /** Default time that a caller waits, milliseconds; default `DEFAULT_DEADLINE_MS`. */
  readonly deadlineMs?: number
  /** Approximate memory that all states may take, bytes; default `DEFAULT_MAX_BYTES`. */
  readonly maxBytes?: number
}

/** Approximate memory that all states may take, bytes. */
export const DEFAULT_MAX_BYTES = 256 * 1024 * 1024
