/**
 * Events of a company's phone and their stored formats.
 *
 * Text that a person wrote is sealed under the company's own key; a keyed hash identifies a number without
 * revealing it.
 */
import type { FactOf, EventFormats, ValueOf, ValuesOf } from "../kernel/event-format.ts"
import {
  codecOf,
  flag,
  integer,
  list,
  micros,
  enumOf,
  optional,
  asciiText,
  record,
  text,
  instant,
} from "../kernel/event-format.ts"
import { id, sealedText } from "../kernel/id-field-types.ts"
import { numberId } from "./ids.ts"
import { numberSettings } from "./number-settings.ts"

/** Who did it; both are null if it was not a caller of the company. */
const actorFields = { keyId: optional(id.key), personId: optional(id.person) }

const numberFields = {
  numberId,
  /** In E.164, sealed under the company's key. */
  number: sealedText,
  numberTag: asciiText,
  kind: enumOf("local", "toll_free"),
  /** The town as the buyer entered it, sealed; null if they did not. */
  givenLocality: optional(sealedText),
  region: optional(asciiText),
  monthlyMicros: micros,
}

const capabilityFields = { sms: flag, mms: flag, voice: flag }

const heldNumber = {
  ...numberFields,
  ...capabilityFields,
  /** The town according to the carrier; null if unknown. */
  locality: optional(text),
  /** Rent is paid up to this instant; null for a simulated test number, which costs nothing. */
  paidThrough: optional(instant),
  /** A simulated number of this installation, without a carrier. */
  test: flag,
  /** Rent is due at this time and day of each month. */
  boughtAt: instant,
  /** The carrier's id; null if no carrier has the number. */
  carrierRef: optional(text),
}

/** A number when the company got it. */
export type AddedNumber = ValuesOf<typeof heldNumber>

const texting = record({
  optOutReply: optional(sealedText),
  optInReply: optional(sealedText),
  helpReply: optional(sealedText),
  /** Additional words that opt a recipient out, as the company wrote them. */
  extraOptOutWords: list(sealedText),
  optOutLine: flag,
})

export type TextingSettings = ValueOf<typeof texting>

const orderFailure = enumOf("taken", "not_at_carrier", "discarded", "abandoned")

/** Why an order failed. */
export type NumberOrderFailure = ValueOf<typeof orderFailure>

/** The stored formats of the events of a company's phone. */
export const phoneFormats = {
  /** The first month is charged; a worker buys the number from here. */
  NumberOrdered: {
    version: 1,
    fields: {
      at: instant,
      ...numberFields,
      chargeId: asciiText,
      ...actorFields,
    },
  },
  /** The purchase failed; the charge is refunded. */
  NumberOrderFailed: { version: 1, fields: { at: instant, numberId, reason: orderFailure } },
  NumberAdded: {
    version: 1,
    fields: { at: instant, ...heldNumber },
  },
  RentPaid: {
    version: 1,
    fields: {
      at: instant,
      numberId,
      through: instant,
    },
  },
  /** The rent was refused: a grace period starts, in which the number cannot send. */
  RentRefused: {
    version: 1,
    fields: {
      at: instant,
      numberId,
      dueAt: instant,
      code: asciiText,
    },
  },
  NumberReleased: {
    version: 1,
    fields: {
      at: instant,
      numberId,
      /** `erased`: together with all data of the company. */
      reason: enumOf("requested", "rent", "erased"),
      /** The carrier's id, for its release there; null if no carrier has it. */
      carrierRef: optional(text),
      ...actorFields,
    },
  },
  /** Texting or number settings changed; the event has the complete new settings. */
  PhoneSettingsChanged: {
    version: 1,
    fields: {
      at: instant,
      /** Null if unchanged. */
      texting: optional(texting),
      numbers: list(record({ numberId, settings: numberSettings })),
      ...actorFields,
    },
  },
  /** A person confirmed that callers are informed of recordings. Once for all numbers. */
  RecordingAcknowledged: { version: 1, fields: { at: instant, ...actorFields } },
  DestinationSwitched: {
    version: 1,
    fields: {
      at: instant,
      /** ISO 3166, two letters. */
      country: asciiText,
      on: flag,
      by: enumOf("company", "support"),
      ...actorFields,
    },
  },
  /** The carrier's own replies to keywords match the company's settings of a revision. */
  RepliesApplied: { version: 1, fields: { at: instant, revision: integer } },
} satisfies EventFormats

/** Every event of a company's phone. */
export type PhoneEvent = FactOf<typeof phoneFormats>

/** An event of a company's phone of type `T`. */
export type PhoneFact<T extends PhoneEvent["type"]> = FactOf<typeof phoneFormats, T>

/** Writes and reads the events of a company's phone. */
export const phoneCodec = codecOf(phoneFormats)
