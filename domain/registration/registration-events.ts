/**
 * Events of a company's texting registration and their stored formats.
 *
 * Text that a person wrote (business details, pages, campaign) is sealed as a whole under the company's key; the
 * rules only use the fields outside of it.
 */
import type { FactOf, EventFormats, ValueOf } from "../kernel/event-format.ts"
import {
  codecOf,
  flag,
  integer,
  list,
  enumOf,
  optional,
  asciiText,
  record,
  text,
  instant,
} from "../kernel/event-format.ts"
import { id, sealedText } from "../kernel/id-field-types.ts"
import { submissionId } from "./ids.ts"

/** Who did it; both are null if it was not a caller of the company. */
const actorFields = { keyId: optional(id.key), personId: optional(id.person) }

const part = enumOf("business", "campaign")
/** The parts that are submitted to the carriers, one after the other. */
export type RegistrationPart = ValueOf<typeof part>

/** The types of business brands (specification, "Phone and texts"). */
export const BRAND_TYPES = ["low_volume", "standard", "sole_proprietor"] as const
const brandType = enumOf(...BRAND_TYPES)
export type BrandType = ValueOf<typeof brandType>

const verdict = enumOf("approved", "action_needed", "rejected")
/** The carriers' verdict on a submission. */
export type ReviewVerdict = ValueOf<typeof verdict>

const deliveryFailure = enumOf("rejected", "unavailable", "discarded")
/** Why the carriers never received a submission: they rejected its content, or delivery failed. */
export type DeliveryFailure = ValueOf<typeof deliveryFailure>

/** Sentences of the carriers, which may quote text that a person wrote. */
const reasons = list(sealedText)

const submissionFields = { at: instant, part, submissionId }

/** The stored formats of a registration's events. */
export const registrationFormats = {
  BusinessSaved: {
    version: 1,
    fields: {
      at: instant,
      business: sealedText,
      /** Whether it is a sole proprietor, who has another brand type, one campaign and one number. */
      isSoleProprietor: flag,
      ...actorFields,
    },
  },
  /** The pages were chosen; they must be checked again. */
  PagesSaved: {
    version: 1,
    fields: {
      at: instant,
      pages: sealedText,
      mode: enumOf("hosted", "own_site"),
      /** Host name of hosted pages in addition to their preview; null if there is none. */
      hostname: optional(asciiText),
      /** Suffix of the preview's address; it never changes. */
      slug: asciiText,
      ...actorFields,
    },
  },
  /** The pages were read like carriers read them. */
  PagesChecked: {
    version: 1,
    fields: {
      at: instant,
      problems: list(record({ page: asciiText, code: asciiText })),
      /** SHA-256 of the content in hexadecimal; null if it could not be read. */
      read: list(record({ page: asciiText, sha256: optional(asciiText) })),
    },
  },
  CampaignSaved: {
    version: 1,
    fields: { at: instant, campaign: sealedText, brandType, ...actorFields },
  },
  /** A worker delivers the part to the carriers from here. */
  PartSubmitted: {
    version: 1,
    fields: {
      ...submissionFields,
      /** Attempt of the part, from 1. */
      attempt: integer,
      /** Whether real carriers review it; otherwise it is a free test. */
      live: flag,
      /** For the business; null for a campaign. */
      brandType: optional(brandType),
      rush: flag,
      /** The pending charge of the fee; null if it is free. */
      chargeId: optional(asciiText),
      ...actorFields,
    },
  },
  PartReceived: { version: 1, fields: { ...submissionFields, carrierRef: text } },
  /** The part could not be delivered: it counts as not submitted. */
  PartUndeliverable: {
    version: 1,
    fields: { ...submissionFields, cause: deliveryFailure, reasons },
  },
  /** A fee was charged for a submission that was never sent; it can no longer be. */
  SubmissionAbandoned: { version: 1, fields: { at: instant, submissionId } },
  /** The carriers answered; they can revoke an approval months later. */
  PartReviewed: {
    version: 1,
    fields: { ...submissionFields, verdict, reasons },
  },
  /** The carriers' verdict on a number of an approved campaign. */
  NumberReviewed: {
    version: 1,
    fields: { at: instant, numberId: asciiText, verdict, reasons },
  },
} satisfies EventFormats

export type RegistrationEvent = FactOf<typeof registrationFormats>

/** An event of a registration of type `T`. */
export type RegistrationFact<T extends RegistrationEvent["type"]> = FactOf<
  typeof registrationFormats,
  T
>

export const registrationCodec = codecOf(registrationFormats)
