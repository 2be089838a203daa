/** A slice's declaration of a paid route: its resource, price, command and answer. */
import type { Position } from "../../../adapters/eventstore/port.ts"
import type { Fact } from "../../../domain/kernel/decider.ts"
import type { ChargeId } from "../../../domain/kernel/ids.ts"
import type { Micros } from "../../../domain/kernel/money.ts"
import type { Refusal } from "../routes/answers/refusal.ts"
import type { Caller } from "../routes/declare/route.ts"
import type { Ports } from "../ports.ts"
import type { PaidResource } from "./paid-resource.ts"
import type { Price } from "./price.ts"
import type { Reaction, ReactionOf } from "./reaction.ts"

/** A rejected request; nothing is charged. */
export interface Rejection {
  readonly refusal: Refusal
}

/** A callback's result without its rejections. */
export type WithoutRejection<T> = Exclude<T, Rejection>

/** The ids of one attempt; a retry of the same attempt derives the same ids. */
export interface AttemptIds<Id extends string> {
  /** Id of the resource to create. */
  readonly id: Id
  readonly chargeId: ChargeId
}

export interface PaidAttempt<Id extends string> extends AttemptIds<Id> {
  readonly chargedMicros: Micros
  /** The charged item; null if the attempt is free and has no charge. */
  readonly item: string | null
}

/** An answer, and the position of the facts it was made from. */
export interface PaidReply<R> {
  readonly reply: R
  readonly position?: Position | null
}

/** The state of a resource when its request is answered. */
export interface KnownResource<V, E, T = unknown> {
  readonly view: V
  /** The facts that this request recorded; empty if an earlier request did. */
  readonly facts: readonly E[]
  /** The result of `prepare`; null if this request found the resource already recorded. */
  readonly prepared: T | null
}

/** A reservation made before the charge, such as one of a company's few slots. */
export interface SlotReservation<D, Id extends string> {
  /** Reserves the slot; repeating it for the same resource changes nothing. Null on success. */
  readonly reserve: (
    ports: Ports,
    caller: Caller,
    draft: D,
    named: AttemptIds<Id>,
  ) => Promise<Rejection | null>
  /** Releases the slot if the resource failed. After a crash the slice releases it later. */
  readonly release: (ports: Ports, caller: Caller, draft: D, named: AttemptIds<Id>) => Promise<void>
}

/** How a request waits for the outcome of its resource. */
export interface OutcomeWait<D, R, Id extends string, V, J> {
  /** Payload of the resource's first job, equal to the one its fact enqueues; the request runs that job. */
  readonly payload: (id: Id, now: number) => J
  /**
   * Answer for a resource that continues after the wait and stays charged whatever its outcome. Absent: the
   * outcome is unknown, and the caller is asked to send the request again.
   */
  readonly interimReply?: (ports: Ports, draft: D, view: V) => Promise<PaidReply<R>>
  /** Maximum wait, milliseconds; default 15 seconds. */
  readonly timeoutMs?: number
}

/**
 * A paid route. `I` is the checked request, `D` the draft with its rejections, `T` the result of `prepare`,
 * `R` the answer, `J` the payload of the first job; the rest are the types of the resource.
 *
 * The callbacks run in the order of declaration.
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
  /** The kind of resource that the charge pays for. */
  readonly paidResource: PaidResource<P, Id, C, S, E, N, V>
  /** Id of a resource's charge if it follows from the resource; default an id derived from the request. */
  readonly chargeId?: (id: Id) => ChargeId
  /** The reason on the bill for refunding a charge whose command was rejected. */
  readonly refundReason: string
  /** Builds the draft from the request alone. */
  readonly draft: (ports: Ports, caller: Caller, input: I) => Promise<D>
  /**
   * Names the resource that identical requests share, with its charge and outcome, while it is in progress; the
   * name changes after its outcome. Absent: each request without an `Idempotency-Key` is a separate resource.
   */
  readonly shared?: (ports: Ports, draft: NoInfer<WithoutRejection<D>>) => Promise<string>
  /** Applies the resource's own rules, and loads what the price and the command need. */
  readonly prepare?: (ports: Ports, draft: NoInfer<WithoutRejection<D>>) => Promise<T>
  readonly price: (
    ports: Ports,
    draft: NoInfer<WithoutRejection<D>>,
    prepared: NoInfer<WithoutRejection<T>>,
  ) => Promise<Price | "free" | Rejection>
  /** Reservation between the price and the charge. */
  readonly slotReservation?: SlotReservation<NoInfer<WithoutRejection<D>>, Id>
  /** The `resource` of the charge: the resource's id, with its location if the id alone does not find it. Default: the id. */
  readonly chargeResource?: (draft: NoInfer<WithoutRejection<D>>, id: Id) => string
  /** Builds the command that records the intent in the resource's stream. */
  readonly command: (
    ports: Ports,
    caller: Caller,
    draft: NoInfer<WithoutRejection<D>>,
    paid: PaidAttempt<Id>,
    prepared: NoInfer<WithoutRejection<T>>,
  ) => Promise<NoInfer<C>>
  /**
   * Answers a rejected command, whose charge is refunded. Null if the command was for another variant or
   * price of the resource: then the next attempt begins.
   */
  readonly toRefusal?: (refusal: NoInfer<N>) => Refusal | null
  /** Answers from facts alone; null while the awaited outcome is not recorded. */
  readonly answer: (
    ports: Ports,
    draft: NoInfer<WithoutRejection<D>>,
    id: Id,
    known: KnownResource<NoInfer<V>, NoInfer<E>, NoInfer<WithoutRejection<T>>>,
  ) => Promise<PaidReply<NoInfer<R>> | Rejection | null>
  /** Answers for a resource that its stream has forgotten. */
  readonly forgottenAnswer?: (
    ports: Ports,
    draft: NoInfer<WithoutRejection<D>>,
    id: Id,
  ) => Promise<PaidReply<NoInfer<R>>>
  /** Present if the request waits for the outcome. */
  readonly outcomeWait?: OutcomeWait<
    NoInfer<WithoutRejection<D>>,
    NoInfer<R>,
    Id,
    NoInfer<V>,
    NoInfer<J>
  >
  /** The jobs that do the paid work; the first is the one that `outcomeWait` runs. */
  readonly jobs: readonly [ReactionOf<J>, ...Reaction[]]
}
