/**
 * The shape of every decision in the house: commands in, facts out, nothing else.
 *
 * A decider is pure: the same command on the same state gives the same answer for ever, which is
 * what lets an auditor replay it. Ids and prices come in with the command, and the time beside it.
 */

/** Something that was decided or happened. `at` is UTC milliseconds since 1970. */
export interface Fact {
  readonly type: string
  readonly at: number
}

/**
 * What the writer says beside every command: when it is decided, and after what. It is no part of the
 * command, so that none becomes a part of a fact by copying a command.
 */
export interface DecisionStamp {
  /** max(clock, the stream's last), UTC milliseconds since 1970. */
  readonly at: number
  /** The hash of the stream's last fact, for facts that repeat it; absent before the first. */
  readonly headHash?: string
}

/**
 * One aggregate's rules. `decide` answers a list of facts (empty: already so, nothing new) or a
 * refusal; `evolve` may change the state in place, because whoever folds it owns it.
 */
export interface Decider<Command, State, Event extends Fact, Refusal extends Fact = never> {
  readonly initial: () => State
  readonly decide: (
    command: Command,
    state: State,
    stamp: DecisionStamp,
  ) => readonly Event[] | Refusal
  readonly evolve: (state: State, event: Event) => State
}

/** True where `decide` said no. */
export function isRefusal<E extends Fact, R extends Fact>(answer: readonly E[] | R): answer is R {
  return !Array.isArray(answer)
}

/** Marks a branch no value can reach: a forgotten case does not compile. @throws Error if reached */
export function unreachable(value: never): never {
  throw new Error(`no such case: ${JSON.stringify(value)}`)
}

/**
 * How a state is kept beside its stream so that loading need not fold from the start. A checkpoint
 * is a cache: throwing it away changes nothing but time, so its shape is no stored format.
 */
export interface CheckpointFormat<State> {
  /** Raised whenever the saved shape changes: a checkpoint of another shape is not read. */
  readonly version: number
  /** The state as data that JSON can hold. */
  readonly save: (state: State) => unknown
  /** The state that `save` saved. */
  readonly load: (saved: unknown) => State
}
