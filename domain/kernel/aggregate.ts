/**
 * What the writer needs to know of a kind of stream: the rules by which its commands are decided, and
 * the forms in which its facts and its state are kept.
 */
import type { CheckpointFormat, Decider, Fact } from "./decider.ts"
import type { Codec } from "./event-format.ts"
import type { CompanyId } from "./ids.ts"
import { parseCompanyId } from "./ids.ts"

/** A decider together with the names of its streams and the form its facts are stored in. */
export interface Aggregate<C, S, E extends Fact, R extends Fact> {
  /** What the names of its streams begin with: `<category>`, `<category>-<companyId>[-<rest>]`. */
  readonly category: string
  readonly decider: Decider<C, S, E, R>
  readonly codec: Codec<E>
  /** How its state is kept beside the stream; without it a load folds from the start. */
  readonly checkpoint?: CheckpointFormat<S>
  /** What a state takes of the memory, in bytes, about; cheap to say. Without it: a thousand. */
  readonly bytesOf?: (state: S) => number
}

/**
 * Small facts that gather in the writer's memory beside a state: they weigh there at once, and lead
 * the next append. What is gathered is no part of what facts fold to.
 */
export interface BufferingRules<C, S, I, N> {
  /** Adds an item; null where it was added, else why not, and nothing changed. */
  readonly add: (state: S, item: I, at: number) => N | null
  /** What `add` would say. Changes nothing. */
  readonly checkAdd: (state: S, item: I, at: number) => N | null
  /** Takes out what is gathered, as the command that records it; null where nothing is. */
  readonly drain: (state: S) => C | null
  /** Whether it must be recorded before anything is decided at `at`. */
  readonly mustFlush: (state: S, at: number) => boolean
}

/** A decider beside whose state something gathers. */
export interface BufferingAggregate<C, S, E extends Fact, R extends Fact, I, N> extends Aggregate<
  C,
  S,
  E,
  R
> {
  readonly buffering: BufferingRules<C, S, I, N>
}

/** One stream, and the rules by which it is written. */
export interface AggregateStream<A> {
  readonly aggregate: A
  readonly stream: string
}

/** A stream of a company; `rest` tells its streams of one category apart. */
export function streamOf<A extends { readonly category: string }>(
  aggregate: A,
  companyId: CompanyId,
  rest?: string,
): AggregateStream<A> {
  const stream = `${aggregate.category}-${companyId}`
  return { aggregate, stream: rest === undefined ? stream : `${stream}-${rest}` }
}

/** The one stream of its category, which belongs to the installation and to no company. */
export function singletonStreamOf<A extends { readonly category: string }>(
  aggregate: A,
): AggregateStream<A> {
  return { aggregate, stream: aggregate.category }
}

/** The part of a stream's name that says which decider it belongs to. */
export function categoryOf(stream: string): string {
  const dash = stream.indexOf("-")
  return dash === -1 ? stream : stream.slice(0, dash)
}

/** The company a stream belongs to; null for streams of the whole installation. */
export function companyOfStream(stream: string): CompanyId | null {
  const [, company] = stream.split("-")
  return company === undefined ? null : parseCompanyId(company)
}

/** The part of a stream's name after its company; null where it has none. */
export function streamSuffixOf(stream: string): string | null {
  const parts = stream.split("-")
  return parts.length > 2 ? parts.slice(2).join("-") : null
}
