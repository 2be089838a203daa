/**
 * Deciders: commands in, events out.
 *
 * A decider is pure, so that an auditor can replay every decision. Ids and prices come with the command; the time
 * comes with the stamp.
 */

/** An event of the domain. `at` is UTC milliseconds since 1970. */
export interface Fact {
  readonly type: string
  readonly at: number
}

/**
 * Time and predecessor of a decision. It is separate from the command, so that an event that copies a command's
 * fields does not store it.
 */
export interface DecisionStamp {
  /** The later of the clock and the stream's last event, UTC milliseconds since 1970. */
  readonly at: number
  /** Hash of the stream's last event, for events that repeat it; absent before the first. */
  readonly headHash?: string
}

/**
 * The rules of one aggregate. `decide` returns events (none if nothing changes) or a refusal; `evolve` may change
 * the state in place, because its caller owns it.
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

/** Whether `decide` returned a refusal. */
export function isRefusal<E extends Fact, R extends Fact>(answer: readonly E[] | R): answer is R {
  return !Array.isArray(answer)
}

/** Marks a branch that no value can reach, so that a missing case does not compile. @throws Error if reached */
export function unreachable(value: never): never {
  throw new Error(`no such case: ${JSON.stringify(value)}`)
}

/**
 * Saves and loads an aggregate's state, so that loading a stream need not fold all events. A checkpoint is a cache:
 * deleting it costs only time.
 */
export interface CheckpointFormat<State> {
  /** Raise it whenever the saved format changes: checkpoints of another version are ignored. */
  readonly version: number
  readonly save: (state: State) => unknown
  readonly load: (saved: unknown) => State
}
