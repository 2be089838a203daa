/**
 * The facts about the registration of a company's texting, and the forms they are stored in.
 *
 * What a person wrote (business details, pages, campaign) is sealed as a whole under the company's key:
 * the rules look at nothing of it but what stands beside it.
 */
import type { FactOf, FormatTable, ValueOf } from "../kernel/format.ts"
import {
  codecOf,
  flag,
  int,
  list,
  oneOf,
  optional,
  plain,
  record,
  text,
  time,
} from "../kernel/format.ts"
import { id, sealed } from "../kernel/id-kinds.ts"
import { submissionId } from "./ids.ts"

/** Who did it; no key where nobody of the company's did. */
const who = { keyId: optional(id.key), personId: optional(id.person) }

const part = oneOf("business", "campaign")
/** What is sent to the carriers, one after the other. */
export type Part = ValueOf<typeof part>

/** How business brands are told apart (specification, "Phone and texts"). */
export const BRAND_TYPES = ["low_volume", "standard", "sole_proprietor"] as const
const brandType = oneOf(...BRAND_TYPES)
/** How business brands are told apart. */
export type BrandType = ValueOf<typeof brandType>

const verdict = oneOf("approved", "action_needed", "rejected")
/** What carriers say of what was sent. */
export type Verdict = ValueOf<typeof verdict>

const unreached = oneOf("rejected", "unavailable", "discarded")
/** Why carriers never had what was sent: they would not take what it says, or nobody could hand it to them. */
export type Unreached = ValueOf<typeof unreached>

/** Sentences of the carriers; they may repeat what a person wrote. */
const reasons = list(sealed)

const ofSubmission = { at: time, part, submissionId }

/** Everything that can happen to a company's registration. */
export const registrationFormats = {
  /** The business details were saved. */
  BusinessSaved: {
    version: 1,
    fields: {
      at: time,
      business: sealed,
      /** Whether it is one person: another brand, and one campaign and number. */
      isSoleProprietor: flag,
      ...who,
    },
  },
  /** The pages were chosen: they have to pass their check once more. */
  PagesSaved: {
    version: 1,
    fields: {
      at: time,
      pages: sealed,
      mode: oneOf("hosted", "own_site"),
      /** Where hosted pages are served beside their preview; null where they are not. */
      hostname: optional(plain),
      /** What the address of their preview ends in: the same for ever. */
      slug: plain,
      ...who,
    },
  },
  /** The pages were read as carriers read them. */
  PagesChecked: {
    version: 1,
    fields: {
      at: time,
      problems: list(record({ page: plain, code: plain })),
      /** What was read, by its SHA-256 in hexadecimal; null where it could not be. */
      read: list(record({ page: plain, sha256: optional(plain) })),
    },
  },
  /** The campaign was saved. */
  CampaignSaved: { version: 1, fields: { at: time, campaign: sealed, brandType, ...who } },
  /** A part was sent for review; a worker takes it from here. */
  PartSubmitted: {
    version: 1,
    fields: {
      ...ofSubmission,
      /** From 1, of its part. */
      attempt: int,
      /** Whether real carriers review it; else it is a free test. */
      live: flag,
      /** Of the business; null for a campaign. */
      brandType: optional(brandType),
      rush: flag,
      /** The open charge of its fee; null where it is free. */
      chargeId: optional(plain),
      ...who,
    },
  },
  /** The carriers have it. */
  PartReceived: { version: 1, fields: { ...ofSubmission, carrierRef: text } },
  /** The carriers never took it: it is as if it had not been sent. */
  PartUndeliverable: { version: 1, fields: { ...ofSubmission, cause: unreached, reasons } },
  /** A fee was charged for what was never sent; from now on it cannot be. */
  SubmissionAbandoned: { version: 1, fields: { at: time, submissionId } },
  /** The carriers answered; they may take an approval back months later. */
  PartReviewed: {
    version: 1,
    fields: { ...ofSubmission, verdict, reasons },
  },
  /** What carriers say of a number in an approved campaign. */
  NumberReviewed: {
    version: 1,
    fields: { at: time, numberId: plain, verdict, reasons },
  },
} satisfies FormatTable

/** Everything that can happen to a company's registration. */
export type RegistrationEvent = FactOf<typeof registrationFormats>

/** Those of its facts that are of these types. */
export type RegistrationFact<T extends RegistrationEvent["type"]> = FactOf<
  typeof registrationFormats,
  T
>

/** Writes and reads the facts about a registration. */
export const registrationCodec = codecOf(registrationFormats)
