/** What callers of the runner see: commands in, outcomes out, and what can go wrong. */
import type { Checkpoints } from "../../adapters/checkpoints/port.ts"
import type { Clock, Pacer } from "../../adapters/clock/port.ts"
import type { EventStore, Position } from "../../adapters/eventstore/port.ts"
import type { CheckpointForm, Decider, Fact } from "../../domain/kernel/decider.ts"
import type { Codec } from "../../domain/kernel/format.ts"
import type { Cause } from "../envelope.ts"

/** A decider together with the form its facts are stored in. */
export interface Aggregate<C, S, E extends Fact, R extends Fact> {
  readonly decider: Decider<C, S, E, R>
  readonly codec: Codec<E>
  /** How its state is kept beside the stream; without it a load folds from the start. */
  readonly checkpoint?: CheckpointForm<S>
}

/** What a command came to. */
export type Outcome<E, R, V> =
  | {
      readonly accepted: true
      /** Empty where the command was already so. */
      readonly facts: readonly E[]
      readonly view: V
      /** The place of the stream's last fact; null where the stream is empty. */
      readonly position: Position | null
    }
  | { readonly accepted: false; readonly refusal: R; readonly view: V }

/** How a command is to be carried out. */
export interface Execution<S, V> {
  readonly cause: Cause
  /** How long the caller waits, milliseconds; default `DEFAULT_DEADLINE_MS`. */
  readonly deadlineMs?: number
  /** What to see of the state right after this command, before any other. */
  readonly view: (state: S, at: number) => V
}

/** How long a caller waits for an answer unless it says otherwise. */
export const DEFAULT_DEADLINE_MS = 8_000

/** Too many callers wait for this stream; nothing was decided. */
export class Overloaded extends Error {
  override readonly name = "Overloaded"
}

/** The deadline passed before anything was decided; nothing was stored. */
export class DeadlinePassed extends Error {
  override readonly name = "DeadlinePassed"
}

/** The deadline passed and nobody knows whether the facts are stored: ask again, or look them up. */
export class OutcomeUnknown extends Error {
  override readonly name = "OutcomeUnknown"
}

/** Carries out commands, one batch a stream at a time. */
export interface Runner {
  /**
   * Decides a command and stores its facts.
   *
   * @throws Overloaded, DeadlinePassed, ClockUnsure, Unavailable: nothing was stored
   * @throws OutcomeUnknown: it may have been stored
   */
  readonly execute: <C, S, E extends Fact, R extends Fact, V = undefined>(
    aggregate: Aggregate<C, S, E, R>,
    stream: string,
    command: C,
    execution: Execution<S, V>,
  ) => Promise<Outcome<E, R, V>>
  /**
   * Looks at a state as the store has it; facts that are not acknowledged yet are waited for.
   *
   * @throws Overloaded, DeadlinePassed, ClockUnsure, Unavailable
   */
  readonly look: <C, S, E extends Fact, R extends Fact, V>(
    aggregate: Aggregate<C, S, E, R>,
    stream: string,
    view: (state: S, at: number) => V,
  ) => Promise<V>
  /**
   * Looks at a state at once if it is in memory, facts not yet acknowledged included: good enough
   * to let a caller pass, never to turn one away.
   *
   * @throws Overloaded, DeadlinePassed, ClockUnsure, Unavailable
   */
  readonly glance: <C, S, E extends Fact, R extends Fact, V>(
    aggregate: Aggregate<C, S, E, R>,
    stream: string,
    view: (state: S, at: number) => V,
  ) => Promise<V>
  /** Waits for everything in flight, then keeps the checkpoints that are due. */
  readonly close: () => Promise<void>
}

/** What the runner works with. */
export interface RunnerPorts {
  readonly store: EventStore
  readonly checkpoints: Checkpoints
  readonly clock: Clock
  readonly pacer: Pacer
  /** Told of what went wrong without a caller to tell: a checkpoint that could not be kept. */
  readonly warn: (message: string, error: unknown) => void
}
