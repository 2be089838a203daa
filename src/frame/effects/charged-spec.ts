/** What a slice says of something that is charged: its price, its intent, its answer. */
import type { Position } from "../../../adapters/eventstore/port.ts"
import type { NewWork } from "../../../adapters/postgres/jobs/port.ts"
import type { SpendingClass } from "../../../domain/charging/limits.ts"
import type { ChargeId } from "../../../domain/kernel/ids.ts"
import type { Micros } from "../../../domain/kernel/money.ts"
import type { Refusal } from "../routes/answers/refusal.ts"
import type { Caller } from "../routes/declare/route.ts"
import type { Ports } from "../ports.ts"

/** What something costs, and for what. */
export interface Price {
  readonly item: string
  readonly quantity: number
  readonly unitPriceMicros: Micros
  readonly priceVersion: number
  readonly amountMicros: Micros
  readonly class?: SpendingClass
}

/** The ids of one attempt: the same for the same request and attempt. */
export interface Named<P extends string> {
  /** Of the thing that is made, with the prefix of its kind. */
  readonly id: `${P}_${string}`
  readonly chargeId: ChargeId
}

/** What is charged already, for recording the intent. */
export interface Paid<P extends string> extends Named<P> {
  readonly chargedMicros: Micros
  /** What it was charged as; null where it costs nothing as things stand: then there is no charge of its name. */
  readonly item: string | null
}

/** An answer made from facts, and where they stand. */
export interface Told<R> {
  readonly reply: R
  readonly position: Position | null
}

/**
 * What recording the intent came to: found, where it was recorded before; again, where the price was for
 * another form of it.
 */
export type Intended<R> = Told<R> | { readonly refusal: Refusal } | "found" | "again"

/** How an intent stands by its own stream. */
export type Begun = "no" | "yes" | "undone"

/** What is held for a thing from before it is charged, such as one of few places. */
export interface Holds<D, T, P extends string> {
  /** Takes it; again for the same thing: it is taken. Null where it is, else why not. */
  readonly take: (
    ports: Ports,
    caller: Caller,
    draft: D,
    prepared: T,
    named: Named<P>,
  ) => Promise<{ readonly refusal: Refusal } | null>
  /**
   * Frees it where nothing came of the thing. Whoever dies before that leaves it taken: its slice frees
   * it later.
   */
  readonly free: (ports: Ports, caller: Caller, draft: D, named: Named<P>) => Promise<void>
}

/**
 * Something that is charged: `I` is the checked request, `D` what is asked for, `T` what is known of it
 * before it is paid.
 */
export interface ChargedSpec<I, D, T, R, P extends string> {
  /** What the ids of its things begin with, and so what a charge for one names. */
  readonly prefix: P
  /** What its charge is called, where that follows from the thing; default a name of its own. */
  readonly chargeId?: (id: Named<P>["id"]) => ChargeId
  /**
   * Names the one thing that identical requests mean while it is under way, where there can be only one:
   * they share its charge and get its outcome. The name is another one once it has come to something.
   * Absent: each request without an `Idempotency-Key` means a thing of its own.
   */
  readonly one?: (ports: Ports, draft: D) => Promise<string>
  /** Why a charge was given back whose intent could not be recorded, for the bill's reader. */
  readonly undone: string
  /** What is asked for, by the request alone. */
  readonly draft: (ports: Ports, caller: Caller, input: I) => Promise<D | { refusal: Refusal }>
  /** What has to be known before it is paid: the resource's own rules speak here. */
  readonly prepare: (ports: Ports, draft: D) => Promise<T | { refusal: Refusal }>
  /** What it costs as things stand, or why it may not be. */
  readonly price: (
    ports: Ports,
    draft: D,
    prepared: T,
  ) => Promise<Price | "free" | { refusal: Refusal }>
  /** What is held from behind its price on. */
  readonly holds?: Holds<D, T, P>
  /** What the charge says it is for; begins with the thing's id. */
  readonly resource: (draft: D, id: Named<P>["id"]) => string
  /** Records the intent in the resource's own stream. */
  readonly intend: (
    ports: Ports,
    caller: Caller,
    draft: D,
    prepared: T,
    paid: Paid<P>,
  ) => Promise<Intended<R>>
  /** Whether the intent was recorded, and stands. */
  readonly begun: (ports: Ports, draft: D, id: Named<P>["id"]) => Promise<Begun>
  /** The answer, from facts alone; of what is awaited the one that is given where it is found done. */
  readonly reply: (ports: Ports, draft: D, id: Named<P>["id"]) => Promise<Told<R>>
  /** Where the call waits for what its intent comes to: then that is the answer. */
  readonly awaits?: Awaits<D, R, P>
}

/** What an intent came to: its answer, or why it was refused. What it cost was then given back. */
export type Outcome<R> = Told<R> | { readonly refusal: Refusal }

/** What is awaited, as data. */
export interface Awaits<D, R, P extends string> {
  /** The row of the intent, as it would follow from its fact. */
  readonly work: (ports: Ports, caller: Caller, draft: D, named: Named<P>) => NewWork
  /** What it came to, by what is recorded; null where it has not come to anything yet. */
  readonly outcome: (
    ports: Ports,
    caller: Caller,
    draft: D,
    named: Named<P>,
  ) => Promise<Outcome<R> | null>
  /**
   * What is answered where it has not come to anything in time, for what goes on by itself and is charged
   * whatever it comes to. Absent: the call is in doubt.
   */
  readonly soFar?: (ports: Ports, caller: Caller, draft: D, named: Named<P>) => Promise<Told<R>>
  /** How long a call waits, milliseconds; default 15 seconds. */
  readonly withinMs?: number
}
