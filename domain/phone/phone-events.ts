/**
 * The facts about a company's numbers and how its phone is set up, and the forms they are stored in.
 *
 * Whatever a person wrote is sealed under the company's own key; a keyed hash tells equal numbers apart
 * without reading them.
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

/** Who did it; no key where nobody of the company's did. */
const actorFields = { keyId: optional(id.key), personId: optional(id.person) }

/** A number, before anybody holds it. */
const numberFields = {
  numberId,
  /** The number in E.164, sealed under the company's key. */
  number: sealedText,
  /** Keyed hash of the number. */
  numberTag: asciiText,
  kind: enumOf("local", "toll_free"),
  /** Its town as the buyer wrote it, sealed; null where they did not. */
  givenLocality: optional(sealedText),
  /** Two letters. */
  region: optional(asciiText),
  /** Rent a month. */
  monthlyMicros: micros,
}

/** What a number can do. */
const capabilityFields = { sms: flag, mms: flag, voice: flag }

const heldNumber = {
  ...numberFields,
  ...capabilityFields,
  /** Its town as the carrier says it; null where it does not. */
  locality: optional(text),
  /** Rent is paid up to this instant; null for a built-in test number, which costs none. */
  paidThrough: optional(instant),
  /** A built-in number of this installation, not one of a carrier. */
  test: flag,
  /** Rent is due at this time of this day of each month. */
  boughtAt: instant,
  /** What the carrier calls it; null where no carrier has it. */
  carrierRef: optional(text),
}

/** A number as it came to its company. */
export type AddedNumber = ValuesOf<typeof heldNumber>

const texting = record({
  /** Each null for the usual words. */
  optOutReply: optional(sealedText),
  optInReply: optional(sealedText),
  helpReply: optional(sealedText),
  /** Words that opt somebody out beside the usual ones, as the company wrote them. */
  extraOptOutWords: list(sealedText),
  /** Whether the first text to a recipient tells how to stop. */
  optOutLine: flag,
})

/** How a company's texting is set up. */
export type TextingSettings = ValueOf<typeof texting>

/** What can come of an order that brings no number. */
const orderFailure = enumOf("taken", "not_at_carrier", "discarded", "abandoned")

/** What came of an order that brought no number. */
export type NumberOrderFailure = ValueOf<typeof orderFailure>

/** Everything that can happen to a company's phone. */
export const phoneFormats = {
  /** A number will be bought: its first month is charged, and a worker takes it from here. */
  NumberOrdered: {
    version: 1,
    fields: {
      at: instant,
      ...numberFields,
      /** The open charge that pays for its first month. */
      chargeId: asciiText,
      ...actorFields,
    },
  },
  /** It was not got: its first month comes back. */
  NumberOrderFailed: { version: 1, fields: { at: instant, numberId, reason: orderFailure } },
  /** The company holds a number. */
  NumberAdded: {
    version: 1,
    fields: { at: instant, ...heldNumber },
  },
  /** Another month of it is paid for. */
  RentPaid: {
    version: 1,
    fields: {
      at: instant,
      numberId,
      /** Rent is paid up to this instant. */
      through: instant,
    },
  },
  /** Its rent was refused: from here it has days of grace, in which nothing goes out from it. */
  RentRefused: {
    version: 1,
    fields: {
      at: instant,
      numberId,
      /** When the refused month began. */
      dueAt: instant,
      /** The ledger's reason. */
      code: asciiText,
    },
  },
  /** It is gone for good. */
  NumberReleased: {
    version: 1,
    fields: {
      at: instant,
      numberId,
      /** `erased`: with all data of its company. */
      reason: enumOf("requested", "rent", "erased"),
      /** What the carrier calls it, which is told; null where no carrier has it. */
      carrierRef: optional(text),
      ...actorFields,
    },
  },
  /** How texting or numbers are set up changed: what changed is here as it is from now on. */
  PhoneSettingsChanged: {
    version: 1,
    fields: {
      at: instant,
      /** Null where nothing of it changed. */
      texting: optional(texting),
      numbers: list(record({ numberId, settings: numberSettings })),
      ...actorFields,
    },
  },
  /** Somebody answers for it that callers are told of recordings. Once for all numbers. */
  RecordingAcknowledged: { version: 1, fields: { at: instant, ...actorFields } },
  /** A country can be texted and called from now on, or no longer. */
  DestinationSwitched: {
    version: 1,
    fields: {
      at: instant,
      /** Two letters (ISO 3166). */
      country: asciiText,
      on: flag,
      by: enumOf("company", "support"),
      ...actorFields,
    },
  },
  /** The carrier's own replies to keywords say what the company's do, as they were at a revision. */
  RepliesApplied: { version: 1, fields: { at: instant, revision: integer } },
} satisfies EventFormats

/** Everything that can happen to a company's phone. */
export type PhoneEvent = FactOf<typeof phoneFormats>

/** Those of its facts that are of these types. */
export type PhoneFact<T extends PhoneEvent["type"]> = FactOf<typeof phoneFormats, T>

/** Writes and reads the facts about a company's phone. */
export const phoneCodec = codecOf(phoneFormats)
