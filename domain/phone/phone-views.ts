/** Read-only views of a company's phone. */
import { destinationClass } from "../kernel/destinations.ts"
import type { NumberId } from "./ids.ts"
import type { NumberSettings } from "./number-settings.ts"
import { DEFAULT_NUMBER_SETTINGS } from "./number-settings.ts"
import type { NumberOrderFailure, TextingSettings, AddedNumber, PhoneFact } from "./phone-events.ts"

/** Lists the company's numbers, oldest first. */
export function listHeldNumbers({ numbers }: PhoneState): readonly HeldNumber[] {
  return [...numbers.values()]
}

/** Whether a number can send texts: it is able to, and its rent is paid. */
export function canSendTexts({ sms, refusedSince }: HeldNumber): boolean {
  return sms && refusedSince === null
}

/** Finds a number that the company has or had; null if it never did. */
export function findNumber(
  { numbers, released }: PhoneState,
  numberId: NumberId,
): (FormerNumber & { readonly isHeld: boolean }) | null {
  const known = numbers.get(numberId) ?? released.get(numberId)
  if (known === undefined) return null
  const { number, test } = known
  return { number, test, isHeld: numbers.has(numberId) }
}

/** Returns the status of an order; null if it is unknown or forgotten. */
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

/** Whether the company has a number with this tag, or has ordered it. */
export function hasNumberTag({ numbers, orders }: PhoneState, tag: string): boolean {
  return [...numbers.values(), ...orders.values()].some(({ numberTag }) => numberTag === tag)
}

/** Returns the settings of a number. */
export function numberSettingsOf({ settings }: PhoneState, numberId: NumberId): NumberSettings {
  return settings.get(numberId) ?? DEFAULT_NUMBER_SETTINGS
}

/** Returns the texting settings, and when the carrier's own replies were last updated to them. */
export function textingSettingsOf({ texting, repliesAppliedAt }: PhoneState): {
  readonly texting: TextingSettings
  readonly repliesAppliedAt: number | null
} {
  return { texting, repliesAppliedAt }
}

/** Whether texts and calls to a country are enabled, by its two-letter code. */
export function isDestinationEnabled({ switched }: PhoneState, country: string): boolean {
  const destination = destinationClass(country)
  if (destination === "always") return true
  return destination !== "never" && switched.get(country) === true
}

/** Returns the revision of the phone's last event; -1 before the first. */
export function phoneRevision({ facts }: PhoneState): number {
  return facts - 1
}

/** The complete setup of a company's phone: texting and all its numbers. */
export interface PhoneSetup extends ReturnType<typeof textingSettingsOf> {
  readonly numbers: readonly { readonly held: HeldNumber; readonly settings: NumberSettings }[]
}

/** Returns the complete setup of a company's phone. */
export function phoneSetupOf(state: PhoneState): PhoneSetup {
  const numbers = listHeldNumbers(state).map((held) => {
    return { held, settings: numberSettingsOf(state, held.numberId) }
  })
  return { ...textingSettingsOf(state), numbers }
}

/** Counts the orders that succeeded or failed, including forgotten ones. */
export function countEndedOrders({ ended }: PhoneState): number {
  return ended
}

export interface HeldNumber extends AddedNumber {
  readonly refusedSince: number | null
}

type FormerNumber = Pick<HeldNumber, "number" | "test">

/** The fields of an order that are needed to end it. */
type Order = Omit<PhoneFact<"NumberOrdered">, "type">

/** The state of a company's phone. Only `phone.ts` and `phone-views.ts` access its fields. */
export interface PhoneState {
  readonly numbers: Map<NumberId, HeldNumber>
  readonly orders: Map<NumberId, Order>
  readonly failed: Map<NumberId, NumberOrderFailure>
  /** Released numbers; their texts stay readable. */
  readonly released: Map<NumberId, FormerNumber>
  /** Only for numbers whose settings were ever changed. */
  readonly settings: Map<NumberId, NumberSettings>
  texting: TextingSettings
  acknowledged: boolean
  readonly switched: Map<string, boolean>
  repliesAppliedAt: number | null
  repliesRevision: number
  /** Orders that succeeded or failed, including forgotten ones. */
  ended: number
  facts: number
}
