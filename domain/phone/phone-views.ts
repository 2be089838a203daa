/** What callers and other slices read of a company's phone. */
import { destinationClass } from "../kernel/destinations.ts"
import type { NumberId } from "./ids.ts"
import type { NumberSettings } from "./number-settings.ts"
import { DEFAULT_NUMBER_SETTINGS } from "./number-settings.ts"
import type { NumberOrderFailure, TextingSettings, AddedNumber, PhoneFact } from "./phone-events.ts"

/** The numbers a company holds, in the order they came. */
export function listHeldNumbers({ numbers }: PhoneState): readonly HeldNumber[] {
  return [...numbers.values()]
}

/** Whether texts may go out from a number: its rent is paid. */
export function canSendTexts({ sms, refusedSince }: HeldNumber): boolean {
  return sms && refusedSince === null
}

/** A number that the company holds, or held; null where it never did. */
export function findNumber(
  { numbers, released }: PhoneState,
  numberId: NumberId,
): (FormerNumber & { readonly isHeld: boolean }) | null {
  const known = numbers.get(numberId) ?? released.get(numberId)
  if (known === undefined) return null
  const { number, test } = known
  return { number, test, isHeld: numbers.has(numberId) }
}

/** How an order stands; null where none of this id is remembered. */
export function numberOrderOf(
  { numbers, orders, failed, released }: PhoneState,
  numberId: NumberId,
):
  | { readonly status: "open"; readonly order: Order }
  | { readonly status: "held"; readonly number: HeldNumber }
  | { readonly status: "failed"; readonly reason: NumberOrderFailure }
  | { readonly status: "released" }
  | null {
  const order = orders.get(numberId)
  if (order !== undefined) return { status: "open", order }
  const number = numbers.get(numberId)
  if (number !== undefined) return { status: "held", number }
  const reason = failed.get(numberId)
  if (reason !== undefined) return { status: "failed", reason }
  return released.has(numberId) ? { status: "released" } : null
}

/** Whether a company holds a number by its tag, or has it on order. */
export function hasNumberTag({ numbers, orders }: PhoneState, tag: string): boolean {
  return [...numbers.values(), ...orders.values()].some(({ numberTag }) => numberTag === tag)
}

/** How a number is set up. */
export function numberSettingsOf({ settings }: PhoneState, numberId: NumberId): NumberSettings {
  return settings.get(numberId) ?? DEFAULT_NUMBER_SETTINGS
}

/** How texting is set up, and when the carrier's own replies were last made to say so. */
export function textingSettingsOf({ texting, repliesAppliedAt }: PhoneState): {
  readonly texting: TextingSettings
  readonly repliesAppliedAt: number | null
} {
  return { texting, repliesAppliedAt }
}

/** Whether a country, by its two letters, can be texted and called. */
export function isDestinationEnabled({ switched }: PhoneState, country: string): boolean {
  const whose = destinationClass(country)
  if (whose === "always") return true
  return whose !== "never" && switched.get(country) === true
}

/** How many facts the phone has. */
export function phoneRevision({ facts }: PhoneState): number {
  return facts - 1
}

/** How all of a company's phone is set up: its texting, and each number that it holds. */
export interface PhoneSetup extends ReturnType<typeof textingSettingsOf> {
  readonly numbers: readonly { readonly held: HeldNumber; readonly settings: NumberSettings }[]
}

/** How all of it is set up. */
export function phoneSetupOf(state: PhoneState): PhoneSetup {
  const numbers = listHeldNumbers(state).map((held) => {
    return { held, settings: numberSettingsOf(state, held.numberId) }
  })
  return { ...textingSettingsOf(state), numbers }
}

/** How many orders have failed or brought a number, with those that are no longer remembered. */
export function countEndedOrders({ ended }: PhoneState): number {
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
export interface PhoneState {
  readonly numbers: Map<NumberId, HeldNumber>
  readonly orders: Map<NumberId, Order>
  readonly failed: Map<NumberId, NumberOrderFailure>
  /** The numbers of those that were released: their texts stay readable. */
  readonly released: Map<NumberId, FormerNumber>
  /** Of numbers whose settings were ever changed. */
  readonly settings: Map<NumberId, NumberSettings>
  texting: TextingSettings
  acknowledged: boolean
  readonly switched: Map<string, boolean>
  repliesAppliedAt: number | null
  repliesRevision: number
  /** Orders that failed or brought a number, with those that are no longer remembered. */
  ended: number
  /** Facts folded so far. */
  facts: number
}
