/** What can be asked of a company's phone, and what it refuses. */
import type { ChargeId, KeyId, PersonId, SealedText } from "../kernel/ids.ts"
import type { NumberId } from "./ids.ts"
import type { NumberSettings } from "./number-settings.ts"
import type { AddedNumber, NumberOrderFailure, PhoneFact, TextingSettings } from "./phone-events.ts"

/** Who asks; no key where nobody of the company's does. */
interface Actor {
  readonly keyId: KeyId | null
  readonly personId: PersonId | null
}

/** Gives the company a number that nobody charges for. The same id or number again: nothing new. */
export interface AddNumber extends Omit<AddedNumber, "boughtAt" | "carrierRef" | "givenLocality"> {
  readonly type: "AddNumber"
}

/** Says that a number will be bought. The same id again: nothing new. */
export interface OrderNumber extends Omit<PhoneFact<"NumberOrdered">, "type" | "at"> {
  readonly type: "OrderNumber"
  readonly chargeId: ChargeId
}

/** What the carrier says of a number that it gave. */
export interface PurchasedNumber {
  readonly carrierRef: string
  readonly locality: string | null
  /** Null: as the order says. */
  readonly region: string | null
  readonly sms: boolean
  readonly mms: boolean
  readonly voice: boolean
}

/** Says that an ordered number came. One that is not on order: nothing new. */
export interface CompleteNumberOrder extends PurchasedNumber {
  readonly type: "CompleteNumberOrder"
  readonly numberId: NumberId
}

/**
 * Says that an order brings no number; of one that was never ordered, that it cannot be any more. One
 * that came to something: nothing new.
 */
export interface FailNumberOrder {
  readonly type: "FailNumberOrder"
  readonly numberId: NumberId
  readonly reason: NumberOrderFailure
}

/** Says that the month from `dueAt` on is paid, or was refused. A number that owes no such month: nothing new. */
export interface PayRent {
  readonly type: "PayRent"
  readonly numberId: NumberId
  readonly dueAt: number
}

/** Says that the month from `dueAt` on was refused. One that owes no such month: nothing new. */
export interface RefuseRent {
  readonly type: "RefuseRent"
  readonly numberId: NumberId
  readonly dueAt: number
  readonly code: string
}

/** Lets a number go for good; for its rent only where its days of grace are over. */
export interface ReleaseNumber extends Actor {
  readonly type: "ReleaseNumber"
  readonly numberId: NumberId
  readonly reason: PhoneFact<"NumberReleased">["reason"]
}

/** What changes of a number's settings. */
export interface NumberSettingsChange {
  readonly numberId: NumberId
  readonly settings: Partial<NumberSettings>
}

/** Changes how texting and numbers are set up: all of it, or nothing. */
export interface ChangePhoneSettings extends Actor {
  readonly type: "ChangePhoneSettings"
  readonly texting: Partial<TextingSettings>
  readonly numbers: readonly NumberSettingsChange[]
  /** Whether somebody answers for it that callers are told of recordings. */
  readonly acknowledgesRecording: boolean
}

/** Switches a country. As it is: nothing new. */
export interface SwitchDestination extends Actor {
  readonly type: "SwitchDestination"
  /** Two letters. */
  readonly country: string
  readonly on: boolean
  readonly by: "company" | "support"
}

/** Says that the carrier's own replies are those of a revision of the phone. An older one: nothing new. */
export interface ApplyReplies {
  readonly type: "ApplyReplies"
  readonly revision: number
}

/** Everything that can be asked of a company's phone. */
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

/** A command was refused. */
export interface PhoneRefused {
  readonly type: "PhoneRefused"
  readonly at: number
  readonly code: PhoneRefusalCode
  /** Which number it is about; null for none. */
  readonly numberId: NumberId | null
}

/** The words of a company's texting, each null where it is the usual one. */
export const DEFAULT_TEXTING_SETTINGS: TextingSettings = {
  optOutReply: null,
  optInReply: null,
  helpReply: null,
  extraOptOutWords: [] as readonly SealedText[],
  optOutLine: true,
}
