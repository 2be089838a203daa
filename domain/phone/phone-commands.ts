/** The commands of a company's phone and their refusals. */
import type { ChargeId, KeyId, PersonId, SealedText } from "../kernel/ids.ts"
import type { NumberId } from "./ids.ts"
import type { NumberSettings } from "./number-settings.ts"
import type { AddedNumber, NumberOrderFailure, PhoneFact, TextingSettings } from "./phone-events.ts"

/** Who sent the command; both are null if it was not a caller of the company. */
interface Actor {
  readonly keyId: KeyId | null
  readonly personId: PersonId | null
}

/** Adds a number that costs nothing. Idempotent for the same id or number. */
export interface AddNumber extends Omit<AddedNumber, "boughtAt" | "carrierRef" | "givenLocality"> {
  readonly type: "AddNumber"
}

/** Records that a number will be bought. Idempotent for the same id. */
export interface OrderNumber extends Omit<PhoneFact<"NumberOrdered">, "type" | "at"> {
  readonly type: "OrderNumber"
  readonly chargeId: ChargeId
}

export interface PurchasedNumber {
  readonly carrierRef: string
  readonly locality: string | null
  /** Null to use the order's. */
  readonly region: string | null
  readonly sms: boolean
  readonly mms: boolean
  readonly voice: boolean
}

/** Records that an ordered number was bought. Records nothing if it is not on order. */
export interface CompleteNumberOrder extends PurchasedNumber {
  readonly type: "CompleteNumberOrder"
  readonly numberId: NumberId
}

/**
 * Records that an order failed, or makes sure that a number that was not ordered never is. Records nothing if the
 * order has an outcome.
 */
export interface FailNumberOrder {
  readonly type: "FailNumberOrder"
  readonly numberId: NumberId
  readonly reason: NumberOrderFailure
}

/** Records that the month from `dueAt` is paid. Records nothing if the number does not owe it. */
export interface PayRent {
  readonly type: "PayRent"
  readonly numberId: NumberId
  readonly dueAt: number
}

/** Records that the rent of the month from `dueAt` was refused. Records nothing if the number does not owe it. */
export interface RefuseRent {
  readonly type: "RefuseRent"
  readonly numberId: NumberId
  readonly dueAt: number
  readonly code: string
}

/** Releases a number permanently; because of its rent only after the grace period. */
export interface ReleaseNumber extends Actor {
  readonly type: "ReleaseNumber"
  readonly numberId: NumberId
  readonly reason: PhoneFact<"NumberReleased">["reason"]
}

export interface NumberSettingsChange {
  readonly numberId: NumberId
  readonly settings: Partial<NumberSettings>
}

/** Changes texting and number settings, either all of them or none. */
export interface ChangePhoneSettings extends Actor {
  readonly type: "ChangePhoneSettings"
  readonly texting: Partial<TextingSettings>
  readonly numbers: readonly NumberSettingsChange[]
  /** Whether the person confirms that callers are informed of recordings. */
  readonly acknowledgesRecording: boolean
}

/** Enables or disables a country. Idempotent. */
export interface SwitchDestination extends Actor {
  readonly type: "SwitchDestination"
  readonly country: string
  readonly on: boolean
  readonly by: "company" | "support"
}

/** Records that the carrier's own replies match a revision of the phone. Records nothing for an older one. */
export interface ApplyReplies {
  readonly type: "ApplyReplies"
  readonly revision: number
}

/** Every command of a company's phone. */
export type PhoneCommand =
  | AddNumber
  | OrderNumber
  | CompleteNumberOrder
  | FailNumberOrder
  | PayRent
  | RefuseRent
  | ReleaseNumber
  | ChangePhoneSettings
  | SwitchDestination
  | ApplyReplies

/** Why a command was refused. */
export type PhoneRefusalCode =
  | "number_taken"
  | "order_failed"
  | "no_such_number"
  | "not_acknowledged"
  | "in_grace"
  | "always_on"
  | "contact_support"
  | "never_on"

export interface PhoneRefused {
  readonly type: "PhoneRefused"
  readonly at: number
  readonly code: PhoneRefusalCode
  /** The number that caused the refusal; null for none. */
  readonly numberId: NumberId | null
}

/** The default texting settings; null stands for the default text. */
export const DEFAULT_TEXTING_SETTINGS: TextingSettings = {
  optOutReply: null,
  optInReply: null,
  helpReply: null,
  extraOptOutWords: [] as readonly SealedText[],
  optOutLine: true,
}
