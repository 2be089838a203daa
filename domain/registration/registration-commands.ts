/** What can be asked of a registration, and what it refuses. */
import type { ChargeId, KeyId, PersonId, SealedText } from "../kernel/ids.ts"
import type { SubmissionId } from "./ids.ts"
import type {
  BrandType,
  RegistrationPart,
  RegistrationFact,
  DeliveryFailure,
  ReviewVerdict,
} from "./registration-events.ts"

/** Who asks; no key where nobody of the company's does. */
interface Actor {
  readonly keyId: KeyId | null
  readonly personId: PersonId | null
}

/** Saves the business details. */
export interface SaveBusiness extends Actor {
  readonly type: "SaveBusiness"
  readonly business: SealedText
  readonly isSoleProprietor: boolean
}

/** Saves how the pages are. */
export interface SavePages extends Actor {
  readonly type: "SavePages"
  readonly pages: SealedText
  readonly mode: "hosted" | "own_site"
  readonly hostname: string | null
  /** Of the preview, where it has none yet. */
  readonly slug: string
}

/** Records what a look at the pages came to. Of others than those that stand saved: refused. */
export interface RecordPagesCheck extends Pick<
  RegistrationFact<"PagesChecked">,
  "problems" | "read"
> {
  readonly type: "RecordPagesCheck"
  /** The pages that were looked at, as they were saved. */
  readonly pages: SealedText
}

/** Saves the campaign. */
export interface SaveCampaign extends Actor {
  readonly type: "SaveCampaign"
  readonly campaign: SealedText
  readonly brandType: BrandType
}

/** Sends a part for review. The same submission again: nothing new. */
export interface SubmitPart extends Actor {
  readonly type: "SubmitPart"
  readonly part: RegistrationPart
  readonly submissionId: SubmissionId
  /** Of a business; null for a campaign. */
  readonly brandType: BrandType | null
  /** Whether it is to leave test mode. */
  readonly live: boolean
  readonly rush: boolean
  /** What was charged for it. */
  readonly fee: SubmissionFee
  /** The open charge of its fee; null where it is free. */
  readonly chargeId: ChargeId | null
}

/** What an attempt costs: rush alone where the review itself was paid before. */
export type SubmissionFee = "none" | "fee" | "fee_with_rush" | "rush"

/** Makes sure that what was charged and never sent cannot be sent any more. */
export interface AbandonSubmission {
  readonly type: "AbandonSubmission"
  readonly submissionId: SubmissionId
}

/** Says that the carriers have it. Of what does not wait: nothing new. */
export interface MarkPartReceived {
  readonly type: "MarkPartReceived"
  readonly submissionId: SubmissionId
  readonly carrierRef: string
}

/** Says that the carriers never took it. Of what they have, or does not wait: nothing new. */
export interface MarkPartUndeliverable {
  readonly type: "MarkPartUndeliverable"
  readonly submissionId: SubmissionId
  readonly cause: DeliveryFailure
  readonly reasons: readonly SealedText[]
}

/**
 * Says what carriers say of what they have. The same again, of a former attempt, or before they have it:
 * nothing new.
 */
export interface ReviewPart {
  readonly type: "ReviewPart"
  readonly submissionId: SubmissionId
  readonly verdict: ReviewVerdict
  readonly reasons: readonly SealedText[]
}

/** Says what carriers say of a number. Before its campaign is approved: nothing new. */
export interface ReviewNumber {
  readonly type: "ReviewNumber"
  readonly numberId: string
  readonly verdict: ReviewVerdict
  readonly reasons: readonly SealedText[]
}

/** Stands in for the carriers in test mode: what waits is approved. */
export interface ApproveTestSubmissions {
  readonly type: "ApproveTestSubmissions"
  /** The numbers that the company holds. */
  readonly numberIds: readonly string[]
}

/** Everything that can be asked of a registration. */
export type RegistrationCommand =
  | SaveBusiness
  | SavePages
  | RecordPagesCheck
  | SaveCampaign
  | SubmitPart
  | AbandonSubmission
  | MarkPartReceived
  | MarkPartUndeliverable
  | ReviewPart
  | ReviewNumber
  | ApproveTestSubmissions

/** Why a command was refused. */
export type RegistrationRefusalCode =
  | "missing"
  | "changed"
  | "waiting"
  | "approved"
  | "brand_type"
  | "fee"
  | "abandoned"
  | "live"
  | "nothing_waits"

/** A command was refused. */
export interface RegistrationRefused {
  readonly type: "RegistrationRefused"
  readonly at: number
  readonly code: RegistrationRefusalCode
  /** What has to be there before: `business`, `pages`, `pages_check`, `campaign`, `business_review`. */
  readonly missing: readonly string[]
}
