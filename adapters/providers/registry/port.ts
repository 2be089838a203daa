/**
 * The registry: has businesses, campaigns and numbers reviewed, so that carriers take their texts, and says
 * what came of it.
 *
 * Everything is sent under a name of ours, the submission, by which it is asked about later.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { CarrierWebhookRequest } from "../carrier/port.ts"

/** A business, as it is reviewed. What was not said is null. */
export interface ReviewedBusiness {
  readonly legalName: string
  readonly brandName: string
  readonly entityType:
    "llc" | "corporation" | "partnership" | "cooperative" | "nonprofit" | "sole_proprietor"
  /** Nine digits. */
  readonly ein: string | null
  readonly industry: string
  readonly website: string | null
  readonly street: string
  readonly street2: string | null
  readonly city: string
  readonly region: string
  readonly postalCode: string
  /** Two letters. */
  readonly country: string
  readonly repFirstName: string
  readonly repLastName: string
  readonly repEmail: string
  /** E.164. */
  readonly repPhone: string
  readonly repTitle: string | null
  readonly repPosition: string | null
  readonly stockExchange: string | null
  readonly stockTicker: string | null
}

/** A campaign, as it is reviewed. */
export interface ReviewedCampaign {
  readonly description: string
  readonly messageFlow: string
  readonly samples: readonly string[]
  readonly hasLinks: boolean
  readonly hasPhone: boolean
  readonly directLending: boolean
  /** Whether offers are texted, beside what people asked for. */
  readonly offers: boolean
  /** At most so many texts a month. */
  readonly mostMonthly: number
  readonly optInMessage: string
  readonly optOutMessage: string
  readonly helpMessage: string
  /** The page on which people agree. */
  readonly optInUrl: string
  readonly privacyUrl: string
  readonly termsUrl: string
}

/** How business brands are told apart. */
type BrandType = "low_volume" | "standard" | "sole_proprietor"

/** Something that was sent, as it is asked about. */
export interface SubmissionReference {
  /** Our own name for it: `reg_…`. */
  readonly submissionId: string
  readonly companyId: CompanyId
  readonly part: "business" | "campaign"
  /** Whether it is a free test, which nobody reviews. */
  readonly isTest: boolean
  /** What the registry calls it; null before that is known. */
  readonly ref: string | null
  /** What people know the business by. */
  readonly brandName: string
}

/** A business for review. */
export interface BusinessSubmission extends SubmissionReference {
  readonly part: "business"
  /** What the registry calls a former attempt that is to be put right by this one; null: it is new. */
  readonly correctedRef: string | null
  readonly brandType: BrandType
  readonly business: ReviewedBusiness
}

/** A campaign for review. */
export interface CampaignSubmission extends SubmissionReference {
  readonly part: "campaign"
  readonly correctedRef: string | null
  /** What the registry calls the business. */
  readonly businessRef: string
  readonly brandType: BrandType
  readonly business: ReviewedBusiness
  readonly campaign: ReviewedCampaign
}

/** How something stands that is reviewed. Reasons are sentences for the company's people. */
export type Review =
  | { readonly answer: "waiting" }
  | {
      readonly answer: "approved" | "action_needed" | "rejected"
      readonly reasons: readonly string[]
    }

/** What came of sending: it is there, or was not taken because of what it says. */
export type SubmitAnswer =
  | { readonly answer: "taken"; readonly ref: string; readonly review: Review }
  | { readonly answer: "not_taken"; readonly reasons: readonly string[] }

/** A number that is to be able to text. */
export interface NumberRegistration {
  readonly numberId: string
  readonly companyId: CompanyId
  /** E.164. */
  readonly number: string
  readonly kind: "local" | "toll_free"
  readonly isTest: boolean
  /** What the registry calls the campaign. */
  readonly campaignRef: string
  readonly business: ReviewedBusiness
  readonly campaign: ReviewedCampaign
}

/** Something is new: it is asked about. */
export type RegistryEvent =
  | { readonly type: "part_news"; readonly companyId: string; readonly submissionId: string }
  | { readonly type: "numbers_news"; readonly companyId: string }

/** What a signature of the registry vouches for. */
export interface RegistryWebhookEvents {
  /** UTC milliseconds, by its clock. */
  readonly signedAt: number
  /** Each by the registry's own id of it. */
  readonly events: readonly { readonly id: string; readonly event: RegistryEvent }[]
}

/** A registry. What it does throws ProviderUnavailable and ProviderOutcomeUnknown. */
export interface Registry {
  /** Whether it is the built-in one, which nobody reviews anything for. */
  readonly isSimulator: boolean
  /** Whether the same submission again is one thing. */
  readonly isIdempotent: boolean
  /** What it does not know so long after it was sent it never got, milliseconds. */
  readonly notReceivedAfterMs: number
  /** Sends a business or a campaign. */
  readonly submit: (submission: BusinessSubmission | CampaignSubmission) => Promise<SubmitAnswer>
  /** Asks how something stands that was sent. */
  readonly checkStatus: (
    asked: SubmissionReference,
  ) => Promise<SubmitAnswer | { readonly answer: "unknown" }>
  /** Has a number registered, once, and says how that stands. */
  readonly registerNumber: (registration: NumberRegistration) => Promise<Review>
  /** Gives back the code that was texted to a sole proprietor; whether it was right. */
  readonly verifyCode: (businessRef: string, code: string) => Promise<boolean>
  /** Ends a campaign, because its company is erased; one that it does not have: nothing. */
  readonly endCampaign: (
    asked: Pick<SubmissionReference, "companyId" | "isTest" | "ref">,
  ) => Promise<void>
  /** What was called back; pure. `forged`: the registry did not sign it, or not for this address. */
  readonly readWebhook: (
    call: CarrierWebhookRequest,
    now: number,
  ) => RegistryWebhookEvents | "forged"
}
