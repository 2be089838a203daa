/** What a company's phone carries from fact to fact. */
import type { NumberId } from "./ids.ts"
import type { NumberSettings } from "./number-settings.ts"
import type { AddedNumber, OrderFailure, PhoneFact, Texting } from "./phone-events.ts"

/** A number as the company holds it. */
export interface HeldNumber extends AddedNumber {
  /** Since when its rent is refused; null where it is paid. */
  readonly refusedSince: number | null
}

/** A number that the company held. */
export type FormerNumber = Pick<HeldNumber, "number" | "test">

/** What of an order its end needs. */
export type Order = Omit<PhoneFact<"NumberOrdered">, "type">

/** A company's phone. Only `phone.ts` and `phone-views.ts` look inside. */
export interface Phone {
  readonly numbers: Map<NumberId, HeldNumber>
  readonly orders: Map<NumberId, Order>
  readonly failed: Map<NumberId, OrderFailure>
  /** The numbers of those that were released: their texts stay readable. */
  readonly released: Map<NumberId, FormerNumber>
  /** Of numbers whose settings were ever changed. */
  readonly settings: Map<NumberId, NumberSettings>
  texting: Texting
  acknowledged: boolean
  readonly switched: Map<string, boolean>
  repliesAppliedAt: number | null
  repliesRevision: number
  /** Orders that failed or brought a number, with those that are no longer remembered. */
  ended: number
  /** Facts folded so far. */
  facts: number
}
