/**
 * The facts about a company's numbers and how its phone is set up, and the forms they are stored in.
 *
 * Whatever a person wrote is sealed under the company's own key; a keyed hash tells equal numbers apart
 * without reading them.
 */
import type { FactOf, FormatTable, ValueOf, ValuesOf } from "../kernel/format.ts"
import {
  codecOf,
  flag,
  int,
  list,
  micros,
  oneOf,
  optional,
  plain,
  record,
  text,
  time,
} from "../kernel/format.ts"
import { id, sealed } from "../kernel/id-kinds.ts"
import { numberId } from "./ids.ts"
import { numberSettings } from "./number-settings.ts"

/** Who did it; no key where nobody of the company's did. */
const who = { keyId: optional(id.key), personId: optional(id.person) }

/** A number, before anybody holds it. */
const named = {
  numberId,
  /** The number in E.164, sealed under the company's key. */
  number: sealed,
  /** Keyed hash of the number. */
  numberTag: plain,
  kind: oneOf("local", "toll_free"),
  /** Its town as the buyer wrote it, sealed; null where they did not. */
  givenLocality: optional(sealed),
  /** Two letters. */
  region: optional(plain),
  /** Rent a month. */
  monthlyMicros: micros,
}

/** What a number can do. */
const abilities = { sms: flag, mms: flag, voice: flag }

const heldNumber = {
  ...named,
  ...abilities,
  /** Its town as the carrier says it; null where it does not. */
  locality: optional(text),
  /** Rent is paid up to this instant; null for a built-in test number, which costs none. */
  paidThrough: optional(time),
  /** A built-in number of this installation, not one of a carrier. */
  test: flag,
  /** Rent is due at this time of this day of each month. */
  boughtAt: time,
  /** What the carrier calls it; null where no carrier has it. */
  carrierRef: optional(text),
}

/** A number as it came to its company. */
export type AddedNumber = ValuesOf<typeof heldNumber>

const texting = record({
  /** Each null for the usual words. */
  optOutReply: optional(sealed),
  optInReply: optional(sealed),
  helpReply: optional(sealed),
  /** Words that opt somebody out beside the usual ones, as the company wrote them. */
  extraOptOutWords: list(sealed),
  /** Whether the first text to a recipient tells how to stop. */
  optOutLine: flag,
})

/** How a company's texting is set up. */
export type Texting = ValueOf<typeof texting>

/** What can come of an order that brings no number. */
const orderFailure = oneOf("taken", "not_at_carrier", "discarded", "abandoned")

/** What came of an order that brought no number. */
export type OrderFailure = ValueOf<typeof orderFailure>

/** Everything that can happen to a company's phone. */
export const phoneFormats = {
  /** A number will be bought: its first month is charged, and a worker takes it from here. */
  NumberOrdered: {
    version: 1,
    fields: {
      at: time,
      ...named,
      /** The open charge that pays for its first month. */
      chargeId: plain,
      ...who,
    },
  },
  /** It was not got: its first month comes back. */
  NumberOrderFailed: { version: 1, fields: { at: time, numberId, reason: orderFailure } },
  /** The company holds a number. */
  NumberAdded: {
    version: 1,
    fields: { at: time, ...heldNumber },
  },
  /** Another month of it is paid for. */
  RentPaid: {
    version: 1,
    fields: {
      at: time,
      numberId,
      /** Rent is paid up to this instant. */
      through: time,
    },
  },
  /** Its rent was refused: from here it has days of grace, in which nothing goes out from it. */
  RentRefused: {
    version: 1,
    fields: {
      at: time,
      numberId,
      /** When the refused month began. */
      dueAt: time,
      /** The ledger's reason. */
      code: plain,
    },
  },
  /** It is gone for good. */
  NumberReleased: {
    version: 1,
    fields: {
      at: time,
      numberId,
      /** `erased`: with all data of its company. */
      reason: oneOf("requested", "rent", "erased"),
      /** What the carrier calls it, which is told; null where no carrier has it. */
      carrierRef: optional(text),
      ...who,
    },
  },
  /** How texting or numbers are set up changed: what changed is here as it is from now on. */
  PhoneSettingsChanged: {
    version: 1,
    fields: {
      at: time,
      /** Null where nothing of it changed. */
      texting: optional(texting),
      numbers: list(record({ numberId, settings: numberSettings })),
      ...who,
    },
  },
  /** Somebody answers for it that callers are told of recordings. Once for all numbers. */
  RecordingAcknowledged: { version: 1, fields: { at: time, ...who } },
  /** A country can be texted and called from now on, or no longer. */
  DestinationSwitched: {
    version: 1,
    fields: {
      at: time,
      /** Two letters (ISO 3166). */
      country: plain,
      on: flag,
      by: oneOf("company", "support"),
      ...who,
    },
  },
  /** The carrier's own replies to keywords say what the company's do, as they were at a revision. */
  RepliesApplied: { version: 1, fields: { at: time, revision: int } },
} satisfies FormatTable

/** Everything that can happen to a company's phone. */
export type PhoneEvent = FactOf<typeof phoneFormats>

/** Those of its facts that are of these types. */
export type PhoneFact<T extends PhoneEvent["type"]> = FactOf<typeof phoneFormats, T>

/** Writes and reads the facts about a company's phone. */
export const phoneCodec = codecOf(phoneFormats)
