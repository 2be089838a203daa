/**
 * The facts about the registration of a company's texting, and the forms they are stored in.
 *
 * What a person wrote (business details, pages, campaign) is sealed as a whole under the company's key:
 * the rules look at nothing of it but what stands beside it.
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

/** Who did it; no key where nobody of the company's did. */
const actorFields = { keyId: optional(id.key), personId: optional(id.person) }

const part = enumOf("business", "campaign")
/** What is sent to the carriers, one after the other. */
export type RegistrationPart = ValueOf<typeof part>

/** How business brands are told apart (specification, "Phone and texts"). */
export const BRAND_TYPES = ["low_volume", "standard", "sole_proprietor"] as const
const brandType = enumOf(...BRAND_TYPES)
/** How business brands are told apart. */
export type BrandType = ValueOf<typeof brandType>

const verdict = enumOf("approved", "action_needed", "rejected")
/** What carriers say of what was sent. */
export type ReviewVerdict = ValueOf<typeof verdict>

const deliveryFailure = enumOf("rejected", "unavailable", "discarded")
/** Why carriers never had what was sent: they would not take what it says, or nobody could hand it to them. */
export type DeliveryFailure = ValueOf<typeof deliveryFailure>

/** Sentences of the carriers; they may repeat what a person wrote. */
const reasons = list(sealedText)

const submissionFields = { at: instant, part, submissionId }

/** Everything that can happen to a company's registration. */
export const registrationFormats = {
  /** The business details were saved. */
  BusinessSaved: {
    version: 1,
    fields: {
      at: instant,
      business: sealedText,
      /** Whether it is one person: another brand, and one campaign and number. */
      isSoleProprietor: flag,
      ...actorFields,
    },
  },
  /** The pages were chosen: they have to pass their check once more. */
  PagesSaved: {
    version: 1,
    fields: {
      at: instant,
      pages: sealedText,
      mode: enumOf("hosted", "own_site"),
      /** Where hosted pages are served beside their preview; null where they are not. */
      hostname: optional(asciiText),
      /** What the address of their preview ends in: the same for ever. */
      slug: asciiText,
      ...actorFields,
    },
  },
  /** The pages were read as carriers read them. */
  PagesChecked: {
    version: 1,
    fields: {
      at: instant,
      problems: list(record({ page: asciiText, code: asciiText })),
      /** What was read, by its SHA-256 in hexadecimal; null where it could not be. */
      read: list(record({ page: asciiText, sha256: optional(asciiText) })),
    },
  },
  /** The campaign was saved. */
  CampaignSaved: {
    version: 1,
    fields: { at: instant, campaign: sealedText, brandType, ...actorFields },
  },
  /** A part was sent for review; a worker takes it from here. */
  PartSubmitted: {
    version: 1,
    fields: {
      ...submissionFields,
      /** From 1, of its part. */
      attempt: integer,
      /** Whether real carriers review it; else it is a free test. */
      live: flag,
      /** Of the business; null for a campaign. */
      brandType: optional(brandType),
      rush: flag,
      /** The open charge of its fee; null where it is free. */
      chargeId: optional(asciiText),
      ...actorFields,
    },
  },
  /** The carriers have it. */
  PartReceived: { version: 1, fields: { ...submissionFields, carrierRef: text } },
  /** The carriers never took it: it is as if it had not been sent. */
  PartUndeliverable: {
    version: 1,
    fields: { ...submissionFields, cause: deliveryFailure, reasons },
  },
  /** A fee was charged for what was never sent; from now on it cannot be. */
  SubmissionAbandoned: { version: 1, fields: { at: instant, submissionId } },
  /** The carriers answered; they may take an approval back months later. */
  PartReviewed: {
    version: 1,
    fields: { ...submissionFields, verdict, reasons },
  },
  /** What carriers say of a number in an approved campaign. */
  NumberReviewed: {
    version: 1,
    fields: { at: instant, numberId: asciiText, verdict, reasons },
  },
} satisfies EventFormats

/** Everything that can happen to a company's registration. */
export type RegistrationEvent = FactOf<typeof registrationFormats>

/** Those of its facts that are of these types. */
export type RegistrationFact<T extends RegistrationEvent["type"]> = FactOf<
  typeof registrationFormats,
  T
>

/** Writes and reads the facts about a registration. */
export const registrationCodec = codecOf(registrationFormats)
