/** The commands of a registration and its refusals. */
import type { ChargeId, KeyId, PersonId, SealedText } from "../kernel/ids.ts"
import type { SubmissionId } from "./ids.ts"
import type {
  BrandType,
  RegistrationPart,
  RegistrationFact,
  DeliveryFailure,
  ReviewVerdict,
} from "./registration-events.ts"

interface Actor {
  readonly keyId: KeyId | null
  readonly personId: PersonId | null
}

export interface SaveBusiness extends Actor {
  readonly type: "SaveBusiness"
  readonly business: SealedText
  readonly isSoleProprietor: boolean
}

export interface SavePages extends Actor {
  readonly type: "SavePages"
  readonly pages: SealedText
  readonly mode: "hosted" | "own_site"
  readonly hostname: string | null
  /** Suffix of the preview's address, if it has none yet. */
  readonly slug: string
}

/** Records the result of a check of the pages. Refused if the saved pages changed meanwhile. */
export interface RecordPagesCheck extends Pick<
  RegistrationFact<"PagesChecked">,
  "problems" | "read"
> {
  readonly type: "RecordPagesCheck"
  /** The checked pages, as saved. */
  readonly pages: SealedText
}

export interface SaveCampaign extends Actor {
  readonly type: "SaveCampaign"
  readonly campaign: SealedText
  readonly brandType: BrandType
}

/** Submits a part for review. Idempotent for the same submission. */
export interface SubmitPart extends Actor {
  readonly type: "SubmitPart"
  readonly part: RegistrationPart
  readonly submissionId: SubmissionId
  /** For a business; null for a campaign. */
  readonly brandType: BrandType | null
  /** Whether to leave test mode. */
  readonly live: boolean
  readonly rush: boolean
  readonly fee: SubmissionFee
  readonly chargeId: ChargeId | null
}

/** The fee of an attempt; only rush if the review itself was already paid. */
export type SubmissionFee = "none" | "fee" | "fee_with_rush" | "rush"

/** Makes sure that a submission that was charged and never sent cannot be sent. */
export interface AbandonSubmission {
  readonly type: "AbandonSubmission"
  readonly submissionId: SubmissionId
}

/** Records that the carriers received a submission. Records nothing if it does not wait for that. */
export interface MarkPartReceived {
  readonly type: "MarkPartReceived"
  readonly submissionId: SubmissionId
  readonly carrierRef: string
}

/**
 * Records that a submission could not be delivered to the carriers. Records nothing if it does not wait for that.
 */
export interface MarkPartUndeliverable {
  readonly type: "MarkPartUndeliverable"
  readonly submissionId: SubmissionId
  readonly cause: DeliveryFailure
  readonly reasons: readonly SealedText[]
}

/**
 * Records the carriers' verdict. Records nothing if it is unchanged, of an earlier attempt, or before the carriers
 * received the part.
 */
export interface ReviewPart {
  readonly type: "ReviewPart"
  readonly submissionId: SubmissionId
  readonly verdict: ReviewVerdict
  readonly reasons: readonly SealedText[]
}

/** Records the carriers' verdict on a number. Records nothing before its campaign is approved. */
export interface ReviewNumber {
  readonly type: "ReviewNumber"
  readonly numberId: string
  readonly verdict: ReviewVerdict
  readonly reasons: readonly SealedText[]
}

/** Approves everything that waits in test mode, as a simulation of the carriers. */
export interface ApproveTestSubmissions {
  readonly type: "ApproveTestSubmissions"
  readonly numberIds: readonly string[]
}

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

export interface RegistrationRefused {
  readonly type: "RegistrationRefused"
  readonly at: number
  readonly code: RegistrationRefusalCode
  /** Prerequisites: `business`, `pages`, `pages_check`, `campaign`, `business_review`. */
  readonly missing: readonly string[]
}
