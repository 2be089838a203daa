/** Facts and commands of a company's phone, with defaults for tests. */
import { type NumberSettings, DEFAULT_NUMBER_SETTINGS } from "../../domain/phone/number-settings.ts"
import type { OrderNumber } from "../../domain/phone/phone-commands.ts"
import type { DecisionStamp } from "../../domain/kernel/decider.ts"
import type { PhoneFact } from "../../domain/phone/phone-events.ts"
import { withUsualFields } from "../support/decider-spec.ts"

/** Default time of all facts and commands. */
export const NOW = Date.parse("2026-03-02T10:00:00.000Z")
/** When the first rent of a number bought at `NOW` is due. */
export const MONTH_LATER = Date.parse("2026-04-02T10:00:00.000Z")
/** Neither a key nor a person. */
export const NO_ACTOR = { keyId: null, personId: null } as const

const numberFields = {
  numberId: "num_1",
  number: "s1.co_1.bnVtYmVy",
  numberTag: "ab12",
  kind: "local",
  givenLocality: null,
  region: "NC",
} as const
const capabilities = { sms: true, mms: true, voice: true } as const

/** Orders a number. */
export const orderNumberCommand = withUsualFields<OrderNumber & DecisionStamp>({
  type: "OrderNumber",
  at: NOW,
  ...numberFields,
  monthlyMicros: 1_500_000,
  chargeId: "chg_1",
  keyId: "key_1",
  personId: "per_1",
})

/** A number was ordered. */
export const numberOrdered = withUsualFields<PhoneFact<"NumberOrdered">>({
  ...orderNumberCommand(),
  type: "NumberOrdered",
})

export const numberAdded = withUsualFields<PhoneFact<"NumberAdded">>({
  type: "NumberAdded",
  at: NOW,
  ...numberFields,
  ...capabilities,
  monthlyMicros: 1_500_000,
  paidThrough: MONTH_LATER,
  test: false,
  boughtAt: NOW,
  carrierRef: "ref_1",
  locality: null,
})

/** A free number that came with the company. */
export const includedNumberAdded = withUsualFields<PhoneFact<"NumberAdded">>(
  numberAdded({ monthlyMicros: 0, paidThrough: null, test: true, carrierRef: null }),
)

/** Rent was refused. */
export const rentRefused = (at: number, dueAt = MONTH_LATER): PhoneFact<"RentRefused"> => ({
  type: "RentRefused",
  at,
  numberId: "num_1",
  dueAt,
  code: "payment_required",
})

/** Settings were changed. */
export const phoneSettingsChanged = (
  settings: Partial<NumberSettings>,
  texting: PhoneFact<"PhoneSettingsChanged">["texting"] = null,
): PhoneFact<"PhoneSettingsChanged"> => ({
  type: "PhoneSettingsChanged",
  at: NOW,
  texting,
  ...NO_ACTOR,
  numbers: [{ numberId: "num_1", settings: { ...DEFAULT_NUMBER_SETTINGS, ...settings } }],
})
