/** What a slice declares about a paid route: its thing, its price, the command that records it, its answer. */
import type { Position } from "../../../adapters/eventstore/port.ts"
import type { Fact } from "../../../domain/kernel/decider.ts"
import type { ChargeId } from "../../../domain/kernel/ids.ts"
import type { Micros } from "../../../domain/kernel/money.ts"
import type { Refusal } from "../routes/answers/refusal.ts"
import type { Caller } from "../routes/declare/route.ts"
import type { Ports } from "../ports.ts"
import type { PaidThing } from "./paid-thing.ts"
import type { Price } from "./price.ts"
import type { Reaction, ReactionOf } from "./reaction.ts"

/** A request that the slice rejects; nothing is charged. */
export interface Rejection {
  readonly refusal: Refusal
}

/** A callback's result without its rejections. */
export type WithoutRejection<T> = Exclude<T, Rejection>

/** The ids of one attempt: a retry of the same attempt derives the same ids. */
export interface AttemptIds<Id extends string> {
  /** The id of the thing that is made. */
  readonly id: Id
  readonly chargeId: ChargeId
}

/** The charge that was made for an attempt. */
export interface PaidAttempt<Id extends string> extends AttemptIds<Id> {
  readonly chargedMicros: Micros
  /** The item it was charged as; null where the attempt is free and has no charge. */
  readonly item: string | null
}

/** An answer, and the position of the facts it was made from. */
export interface PaidReply<R> {
  readonly reply: R
  readonly position?: Position | null
}

/** What is known of a thing when its request is answered. */
export interface KnownThing<V, E, T = unknown> {
  readonly view: V
  /** The facts that this request recorded; empty where an earlier request recorded them. */
  readonly facts: readonly E[]
  /** What this request prepared; null where it found the thing recorded. */
  readonly prepared: T | null
}

/** What is reserved for a thing before it is charged, such as one of a company's few slots. */
export interface SlotReservation<D, Id extends string> {
  /** Reserves it; a second time for the same thing changes nothing. Null on success. */
  readonly reserve: (
    ports: Ports,
    caller: Caller,
    draft: D,
    named: AttemptIds<Id>,
  ) => Promise<Rejection | null>
  /** Frees it where the thing came to nothing. After a crash the slice frees it later. */
  readonly release: (ports: Ports, caller: Caller, draft: D, named: AttemptIds<Id>) => Promise<void>
}

/** How a request waits for what its thing comes to. */
export interface OutcomeWait<D, R, Id extends string, V, J> {
  /** The payload of the thing's first job as its fact enqueues it; the request runs that job immediately. */
  readonly payload: (id: Id, now: number) => J
  /**
   * The answer of a thing that goes on by itself after the wait, and stays charged whatever it comes to.
   * Absent: the outcome is unknown, and the caller is told to send the request again.
   */
  readonly interimReply?: (ports: Ports, draft: D, view: V) => Promise<PaidReply<R>>
  /** How long the request waits, milliseconds; default 15 seconds. */
  readonly timeoutMs?: number
}

/**
 * A paid route. `I` is the checked request, `D` the draft with its rejections, `T` what `prepare` finds,
 * `R` the answer, `J` the payload of the first job; the rest are the types of the thing.
 *
 * The callbacks run in the order in which they stand here.
 */
export interface PaidSpec<
  I,
  D,
  T,
  R,
  P extends string,
  Id extends `${P}_${string}`,
  C,
  S,
  E extends Fact,
  N extends Fact,
  V extends object,
  J extends object,
> {
  /** The kind of thing that the charge pays for. */
  readonly thing: PaidThing<P, Id, C, S, E, N, V>
  /** The name of a thing's charge where it follows from the thing; default an id derived from the request. */
  readonly chargeId?: (id: Id) => ChargeId
  /** The reason on the bill for refunding a charge whose command was rejected. */
  readonly refundReason: string
  /** What is asked for, by the request alone. */
  readonly draft: (ports: Ports, caller: Caller, input: I) => Promise<D>
  /**
   * Names the one thing that identical requests share while it is under way: they share its charge and its
   * outcome. The name changes once it has come to something. Absent: each request without an
   * `Idempotency-Key` is a thing of its own.
   */
  readonly shared?: (ports: Ports, draft: NoInfer<WithoutRejection<D>>) => Promise<string>
  /** Applies the resource's own rules, and finds what the price and the command need. */
  readonly prepare?: (ports: Ports, draft: NoInfer<WithoutRejection<D>>) => Promise<T>
  /** The price as things stand. */
  readonly price: (
    ports: Ports,
    draft: NoInfer<WithoutRejection<D>>,
    prepared: NoInfer<WithoutRejection<T>>,
  ) => Promise<Price | "free" | Rejection>
  /** What is reserved after the price is known and before the charge is made. */
  readonly slotReservation?: SlotReservation<NoInfer<WithoutRejection<D>>, Id>
  /** The resource that the charge names; begins with the thing's id, which is the default. */
  readonly resource?: (draft: NoInfer<WithoutRejection<D>>, id: Id) => string
  /** The command that records the intent in the thing's stream. */
  readonly command: (
    ports: Ports,
    caller: Caller,
    draft: NoInfer<WithoutRejection<D>>,
    paid: PaidAttempt<Id>,
    prepared: NoInfer<WithoutRejection<T>>,
  ) => Promise<NoInfer<C>>
  /**
   * The answer to a rejected command; the charge is refunded. Null where the command was for another form
   * or price of the thing: then the next attempt begins.
   */
  readonly toRefusal?: (refusal: NoInfer<N>) => Refusal | null
  /** The answer, from facts alone; null while the thing has not come to what is awaited. */
  readonly answer: (
    ports: Ports,
    draft: NoInfer<WithoutRejection<D>>,
    id: Id,
    known: KnownThing<NoInfer<V>, NoInfer<E>, NoInfer<WithoutRejection<T>>>,
  ) => Promise<PaidReply<NoInfer<R>> | Rejection | null>
  /** The answer for a thing that its stream no longer remembers. */
  readonly forgottenAnswer?: (
    ports: Ports,
    draft: NoInfer<WithoutRejection<D>>,
    id: Id,
  ) => Promise<PaidReply<NoInfer<R>>>
  /** Present where the request waits for what its thing comes to. */
  readonly outcomeWait?: OutcomeWait<
    NoInfer<WithoutRejection<D>>,
    NoInfer<R>,
    Id,
    NoInfer<V>,
    NoInfer<J>
  >
  /** The jobs that do what was paid for; the first is the one that `awaits` runs. */
  readonly jobs: readonly [ReactionOf<J>, ...Reaction[]]
}
