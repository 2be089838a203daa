/** What callers and other slices read of a company's phone. */
import { destinationClass } from "../kernel/destinations.ts"
import type { NumberId } from "./ids.ts"
import type { NumberSettings } from "./number-settings.ts"
import { DEFAULT_NUMBER_SETTINGS } from "./number-settings.ts"
import type { OrderFailure, Texting, AddedNumber, PhoneFact } from "./phone-events.ts"

/** The numbers a company holds, in the order they came. */
export function heldNumbers({ numbers }: Phone): readonly HeldNumber[] {
  return [...numbers.values()]
}

/** Whether texts may go out from a number: its rent is paid. */
export function maySend({ sms, refusedSince }: HeldNumber): boolean {
  return sms && refusedSince === null
}

/** A number that the company holds, or held; null where it never did. */
export function numberOf(
  { numbers, released }: Phone,
  numberId: NumberId,
): (FormerNumber & { readonly isHeld: boolean }) | null {
  const known = numbers.get(numberId) ?? released.get(numberId)
  if (known === undefined) return null
  const { number, test } = known
  return { number, test, isHeld: numbers.has(numberId) }
}

/** How an order stands; null where none of this id is remembered. */
export function orderOf(
  { numbers, orders, failed, released }: Phone,
  numberId: NumberId,
):
  | { readonly is: "open"; readonly order: Order }
  | { readonly is: "held"; readonly number: HeldNumber }
  | { readonly is: "failed"; readonly reason: OrderFailure }
  | { readonly is: "released" }
  | null {
  const order = orders.get(numberId)
  if (order !== undefined) return { is: "open", order }
  const number = numbers.get(numberId)
  if (number !== undefined) return { is: "held", number }
  const reason = failed.get(numberId)
  if (reason !== undefined) return { is: "failed", reason }
  return released.has(numberId) ? { is: "released" } : null
}

/** Whether a company holds a number by its tag, or has it on order. */
export function holdsTag({ numbers, orders }: Phone, tag: string): boolean {
  return [...numbers.values(), ...orders.values()].some(({ numberTag }) => numberTag === tag)
}

/** How a number is set up. */
export function settingsOf({ settings }: Phone, numberId: NumberId): NumberSettings {
  return settings.get(numberId) ?? DEFAULT_NUMBER_SETTINGS
}

/** How texting is set up, and when the carrier's own replies were last made to say so. */
export function textingOf({ texting, repliesAppliedAt }: Phone): {
  readonly texting: Texting
  readonly repliesAppliedAt: number | null
} {
  return { texting, repliesAppliedAt }
}

/** Whether a country, by its two letters, can be texted and called. */
export function isDestinationOn({ switched }: Phone, country: string): boolean {
  const whose = destinationClass(country)
  if (whose === "always") return true
  return whose !== "never" && switched.get(country) === true
}

/** How many facts the phone has. */
export function phoneRevision({ facts }: Phone): number {
  return facts - 1
}

/** How all of a company's phone is set up: its texting, and each number that it holds. */
export interface SetUp extends ReturnType<typeof textingOf> {
  readonly numbers: readonly { readonly held: HeldNumber; readonly settings: NumberSettings }[]
}

/** How all of it is set up. */
export function setUpOf(state: Phone): SetUp {
  const numbers = heldNumbers(state).map((held) => {
    return { held, settings: settingsOf(state, held.numberId) }
  })
  return { ...textingOf(state), numbers }
}

/** How many orders have failed or brought a number, with those that are no longer remembered. */
export function ordersEnded({ ended }: Phone): number {
  return ended
}

/** A number as the company holds it. */
export interface HeldNumber extends AddedNumber {
  /** Since when its rent is refused; null where it is paid. */
  readonly refusedSince: number | null
}

/** A number that the company held. */
type FormerNumber = Pick<HeldNumber, "number" | "test">

/** What of an order its end needs. */
type Order = Omit<PhoneFact<"NumberOrdered">, "type">

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
