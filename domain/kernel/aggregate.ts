/** Aggregates: the rules, stored formats and stream names that the runner needs to write a stream. */
import type { CheckpointFormat, Decider, Fact } from "./decider.ts"
import type { Codec } from "./event-format.ts"
import type { CompanyId } from "./ids.ts"
import { parseCompanyId } from "./ids.ts"

/** A decider with its stream category, codec and checkpoint format. */
export interface Aggregate<C, S, E extends Fact, R extends Fact> {
  /** The stream's name is `<category>` or `<category>-<companyId>[-<suffix>]`. */
  readonly category: string
  readonly decider: Decider<C, S, E, R>
  readonly codec: Codec<E>
  /** Without a checkpoint format, loading a stream folds all its events. */
  readonly checkpoint?: CheckpointFormat<S>
  /** Approximate memory use of a state in bytes; must be cheap. Defaults to 1,000. */
  readonly bytesOf?: (state: S) => number
}

/**
 * Rules for small facts that are buffered in memory next to a state: they count immediately and are stored with the
 * next append. Buffered items are not part of the folded state.
 */
export interface BufferingRules<C, S, I, N> {
  /** Adds an item. Returns null on success, otherwise the reason; the state is then unchanged. */
  readonly add: (state: S, item: I, at: number) => N | null
  readonly checkAdd: (state: S, item: I, at: number) => N | null
  /** Removes the buffered items and returns the command that records them; null if there are none. */
  readonly drain: (state: S) => C | null
  /** Whether the buffer must be recorded before a command is decided at `at`. */
  readonly mustFlush: (state: S, at: number) => boolean
}

/** An aggregate that buffers items next to its state. */
export interface BufferingAggregate<C, S, E extends Fact, R extends Fact, I, N> extends Aggregate<
  C,
  S,
  E,
  R
> {
  readonly buffering: BufferingRules<C, S, I, N>
}

export interface AggregateStream<A> {
  readonly aggregate: A
  readonly stream: string
}

/** Names a company's stream; `rest` distinguishes its streams of one category. */
export function streamOf<A extends { readonly category: string }>(
  aggregate: A,
  companyId: CompanyId,
  rest?: string,
): AggregateStream<A> {
  const stream = `${aggregate.category}-${companyId}`
  return { aggregate, stream: rest === undefined ? stream : `${stream}-${rest}` }
}

/** Names the only stream of a category, which belongs to the installation. */
export function singletonStreamOf<A extends { readonly category: string }>(
  aggregate: A,
): AggregateStream<A> {
  return { aggregate, stream: aggregate.category }
}

/** Returns the category of a stream name. */
export function categoryOf(stream: string): string {
  const dash = stream.indexOf("-")
  return dash === -1 ? stream : stream.slice(0, dash)
}

/** Returns the company of a stream; null for an installation-wide stream. */
export function companyOfStream(stream: string): CompanyId | null {
  const [, company] = stream.split("-")
  return company === undefined ? null : parseCompanyId(company)
}

/** Returns the part of a stream name after its company; null if there is none. */
export function streamSuffixOf(stream: string): string | null {
  const parts = stream.split("-")
  return parts.length > 2 ? parts.slice(2).join("-") : null
}
