/** What callers of the runner see: commands in, outcomes out, and what can go wrong. */
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

/** What a command came to. */
export type CommandOutcome<E, R, V> =
  | {
      readonly accepted: true
      /** Empty where the command was already so. */
      readonly facts: readonly E[]
      readonly view: V
      /** The place of the stream's last fact; null where the stream is empty. */
      readonly position: Position | null
    }
  | { readonly accepted: false; readonly refusal: R; readonly view: V }

/** How long a caller waits for an answer unless it says otherwise. */
export const DEFAULT_DEADLINE_MS = 8_000

/** Too many callers wait for this stream; nothing was decided. */
export class Overloaded extends Error {
  override readonly name = "Overloaded"
}

/** The deadline passed while the command waited for its turn; nothing was stored of it. */
export class DeadlinePassed extends Error {
  override readonly name = "DeadlinePassed"
}

/** The deadline passed and nobody knows whether the facts are stored: ask again, or look them up. */
export class OutcomeUnknown extends Error {
  override readonly name = "OutcomeUnknown"
}

/** Which event was stored, and where. */
export type AppendedEvent = Pick<StoredEvent, "stream" | "revision" | "id">

/**
 * Carries out commands, one batch a stream at a time. Where somebody may say how long they wait and
 * does not, it is `deadlineMs`. A stream that is not whole takes no command and shows no state: all of
 * these throw CorruptStream of it, and nothing is stored.
 */
export interface Runner {
  /** How long a caller waits who says nothing of it, milliseconds. */
  readonly deadlineMs: number
  /** The time by which deadlines pass. */
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
    /** What to see of the state right after this command, before any other. */
    view?: (state: S, at: number) => V,
    /** How long the caller waits, milliseconds; default the runner's own. */
    deadlineMs?: number,
  ) => Promise<CommandOutcome<E, R, V>>
  /**
   * Looks at a state as the store had it at most a second ago; facts that are not acknowledged yet
   * are waited for.
   *
   * @throws Overloaded, DeadlinePassed, ClockUnsure, Unavailable
   */
  readonly read: <C, S, E extends Fact, R extends Fact, V>(
    at: AggregateStream<Aggregate<C, S, E, R>>,
    view: (state: S, at: number) => V,
    deadlineMs?: number,
  ) => Promise<V>
  /**
   * The same, at a state that was the store's at some moment since this call: for what follows from
   * something that is not there, and may have been stored by another process just now.
   *
   * @throws Overloaded, DeadlinePassed, ClockUnsure, Unavailable
   */
  readonly readLatest: <C, S, E extends Fact, R extends Fact, V>(
    at: AggregateStream<Aggregate<C, S, E, R>>,
    view: (state: S, at: number) => V,
    deadlineMs?: number,
  ) => Promise<V>
  /**
   * Looks at a state at once if it is in memory, facts not yet acknowledged included: good enough
   * to let a caller pass, never to turn one away.
   *
   * @throws Overloaded, DeadlinePassed, ClockUnsure, Unavailable
   */
  readonly readCached: <C, S, E extends Fact, R extends Fact, V>(
    at: AggregateStream<Aggregate<C, S, E, R>>,
    view: (state: S, at: number) => V,
    deadlineMs?: number,
  ) => Promise<V>
  /**
   * Gathers an item, which is recorded by the next append to the stream or after a few seconds. Null
   * where it was gathered, else why it was not, by what is stored.
   *
   * @throws Overloaded, DeadlinePassed, ClockUnsure, Unavailable: it was not gathered
   */
  readonly buffer: <C, S, E extends Fact, R extends Fact, I, N>(
    beside: AggregateStream<BufferingAggregate<C, S, E, R, I, N>>,
    item: I,
    deadlineMs?: number,
  ) => Promise<N | null>
  /** Takes note of stored events: a state that lacks one of them is brought up before it is used. */
  readonly noteAppended: (events: readonly AppendedEvent[]) => void
  /** Takes note that everything stored at a moment was heard: `asOfMs` by the pacer's elapsed time. */
  readonly noteConfirmed: (asOfMs: number) => void
  /** The streams that are held back, and those that this process found corrupt and not whole since. */
  readonly corruptStreams: () => readonly CorruptStream[]
  /** Resolves once everything that is gathered was recorded, or could not be and was told of. */
  readonly flush: () => Promise<void>
  /**
   * Records what is gathered, waits for all in flight, and keeps the checkpoints that are due. Further calls
   * wait for the first.
   */
  readonly close: () => Promise<void>
}

/** What the runner works with. */
export interface RunnerPorts {
  readonly store: EventStore
  /** The streams that are held back in every process: none of them is loaded. Default none. */
  readonly corruptList?: Pick<CorruptList, "get" | "all">
  readonly checkpoints: Checkpoints
  /** Writers of one stream in several processes take turns by these, once they were in each other's way. */
  readonly locks: Locks
  readonly clock: Clock
  readonly pacer: Pacer
  /** Told of what went wrong without a caller to tell: a checkpoint that could not be kept. */
  readonly warn: (message: string, error: unknown) => void
  /** Tells whoever collects traces of what is stored; default nobody. */
  readonly tracing?: Tracing
  /** Makes UUIDs in lower case, which name what is written; default random ones of version 7. */
  readonly newUuid?: () => string
  /** How long a caller waits who says nothing of it, milliseconds; default `DEFAULT_DEADLINE_MS`. */
  readonly deadlineMs?: number
  /** How much memory the states may take, in bytes, about; default `DEFAULT_MAX_BYTES`. */
  readonly maxBytes?: number
}

/** How much memory the states of all streams may take together, unless said otherwise. */
export const DEFAULT_MAX_BYTES = 256 * 1024 * 1024
