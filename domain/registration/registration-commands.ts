/** What can be asked of a registration, and what it refuses. */
import type { ChargeId, KeyId, PersonId, Sealed } from "../kernel/ids.ts"
import type { SubmissionId } from "./ids.ts"
import type {
  BrandType,
  Part,
  RegistrationFact,
  Unreached,
  Verdict,
} from "./registration-events.ts"

/** Who asks; no key where nobody of the company's does. */
interface By {
  readonly keyId: KeyId | null
  readonly personId: PersonId | null
}

/** Saves the business details. */
export interface SaveBusiness extends By {
  readonly type: "SaveBusiness"
  readonly business: Sealed
  readonly isSoleProprietor: boolean
}

/** Saves how the pages are. */
export interface SavePages extends By {
  readonly type: "SavePages"
  readonly pages: Sealed
  readonly mode: "hosted" | "own_site"
  readonly hostname: string | null
  /** Of the preview, where it has none yet. */
  readonly slug: string
}

/** Records what a look at the pages came to. Of others than those that stand saved: refused. */
export interface RecordCheck extends Pick<RegistrationFact<"PagesChecked">, "problems" | "read"> {
  readonly type: "RecordCheck"
  /** The pages that were looked at, as they were saved. */
  readonly pages: Sealed
}

/** Saves the campaign. */
export interface SaveCampaign extends By {
  readonly type: "SaveCampaign"
  readonly campaign: Sealed
  readonly brandType: BrandType
}

/** Sends a part for review. The same submission again: nothing new. */
export interface SubmitPart extends By {
  readonly type: "SubmitPart"
  readonly part: Part
  readonly submissionId: SubmissionId
  /** Of a business; null for a campaign. */
  readonly brandType: BrandType | null
  /** Whether it is to leave test mode. */
  readonly live: boolean
  readonly rush: boolean
  /** What was charged for it. */
  readonly fee: Fee
  /** The open charge of its fee; null where it is free. */
  readonly chargeId: ChargeId | null
}

/** What an attempt costs: rush alone where the review itself was paid before. */
export type Fee = "none" | "fee" | "fee_with_rush" | "rush"

/** Makes sure that what was charged and never sent cannot be sent any more. */
export interface AbandonSubmission {
  readonly type: "AbandonSubmission"
  readonly submissionId: SubmissionId
}

/** Says that the carriers have it. Of what does not wait: nothing new. */
export interface ReachPart {
  readonly type: "ReachPart"
  readonly submissionId: SubmissionId
  readonly carrierRef: string
}

/** Says that the carriers never took it. Of what they have, or does not wait: nothing new. */
export interface UnreachPart {
  readonly type: "UnreachPart"
  readonly submissionId: SubmissionId
  readonly cause: Unreached
  readonly reasons: readonly Sealed[]
}

/**
 * Says what carriers say of what they have. The same again, of a former attempt, or before they have it:
 * nothing new.
 */
export interface AnswerPart {
  readonly type: "AnswerPart"
  readonly submissionId: SubmissionId
  readonly verdict: Verdict
  readonly reasons: readonly Sealed[]
}

/** Says what carriers say of a number. Before its campaign is approved: nothing new. */
export interface AnswerNumber {
  readonly type: "AnswerNumber"
  readonly numberId: string
  readonly verdict: Verdict
  readonly reasons: readonly Sealed[]
}

/** Stands in for the carriers in test mode: what waits is approved. */
export interface ConfirmTest {
  readonly type: "ConfirmTest"
  /** The numbers that the company holds. */
  readonly numberIds: readonly string[]
}

/** Everything that can be asked of a registration. */
export type RegistrationCommand =
  | SaveBusiness
  | SavePages
  | RecordCheck
  | SaveCampaign
  | SubmitPart
  | AbandonSubmission
  | ReachPart
  | UnreachPart
  | AnswerPart
  | AnswerNumber
  | ConfirmTest

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
