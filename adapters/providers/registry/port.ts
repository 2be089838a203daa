/**
 * The registry has businesses, campaigns and numbers reviewed, so that carriers deliver their
 * texts.
 *
 * Everything is submitted under our own submission id, by which its status is checked later.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { CarrierWebhookRequest } from "../carrier/port.ts"

/** A business for review. Missing values are null. */
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

export interface ReviewedCampaign {
  readonly description: string
  readonly messageFlow: string
  readonly samples: readonly string[]
  readonly hasLinks: boolean
  readonly hasPhone: boolean
  readonly directLending: boolean
  /** Whether the company texts offers in addition to requested messages. */
  readonly offers: boolean
  /** Maximum number of texts per person and month. */
  readonly mostMonthly: number
  readonly optInMessage: string
  readonly optOutMessage: string
  readonly helpMessage: string
  /** The page on which people agree. */
  readonly optInUrl: string
  readonly privacyUrl: string
  readonly termsUrl: string
}

/** The registry's brand types. */
type BrandType = "low_volume" | "standard" | "sole_proprietor"

export interface SubmissionReference {
  /** Our own id: `reg_…`. */
  readonly submissionId: string
  readonly companyId: CompanyId
  readonly part: "business" | "campaign"
  /** Whether it is a free test without a review. */
  readonly isTest: boolean
  /** The registry's id; null while it is unknown. */
  readonly ref: string | null
  /** The public name of the business. */
  readonly brandName: string
}

export interface BusinessSubmission extends SubmissionReference {
  readonly part: "business"
  /** The registry's id of an earlier attempt that this one corrects; null for a new one. */
  readonly correctedRef: string | null
  readonly brandType: BrandType
  readonly business: ReviewedBusiness
}

export interface CampaignSubmission extends SubmissionReference {
  readonly part: "campaign"
  readonly correctedRef: string | null
  /** The registry's id of the business. */
  readonly businessRef: string
  readonly brandType: BrandType
  readonly business: ReviewedBusiness
  readonly campaign: ReviewedCampaign
}

/** The state of a review. Reasons are sentences for the company's people. */
export type Review =
  | { readonly answer: "waiting" }
  | {
      readonly answer: "approved" | "action_needed" | "rejected"
      readonly reasons: readonly string[]
    }

/** The result of submitting: accepted for review, or rejected because of its content. */
export type SubmitAnswer =
  | { readonly answer: "taken"; readonly ref: string; readonly review: Review }
  | { readonly answer: "not_taken"; readonly reasons: readonly string[] }

export interface NumberRegistration {
  readonly numberId: string
  readonly companyId: CompanyId
  /** E.164. */
  readonly number: string
  readonly kind: "local" | "toll_free"
  readonly isTest: boolean
  /** The registry's id of the campaign. */
  readonly campaignRef: string
  readonly business: ReviewedBusiness
  readonly campaign: ReviewedCampaign
}

/** An event that something changed; its status has to be checked. */
export type RegistryEvent =
  | { readonly type: "part_news"; readonly companyId: string; readonly submissionId: string }
  | { readonly type: "numbers_news"; readonly companyId: string }

export interface RegistryWebhookEvents {
  /** UTC milliseconds, by the registry's clock. */
  readonly signedAt: number
  /** Each with the registry's event id. */
  readonly events: readonly { readonly id: string; readonly event: RegistryEvent }[]
}

/** A registry. Its calls throw ProviderUnavailable and ProviderOutcomeUnknown. */
export interface Registry {
  /** Whether this is the simulator, which reviews nothing. */
  readonly isSimulator: boolean
  /** Whether the same submission twice is one submission. */
  readonly isIdempotent: boolean
  /**
   * A submission that the registry does not know after this time was never received, milliseconds.
   */
  readonly notReceivedAfterMs: number
  /** Submits a business or a campaign. */
  readonly submit: (submission: BusinessSubmission | CampaignSubmission) => Promise<SubmitAnswer>
  readonly checkStatus: (
    submission: SubmissionReference,
  ) => Promise<SubmitAnswer | { readonly answer: "unknown" }>
  /** Registers a number; idempotent. Returns the state of its review. */
  readonly registerNumber: (registration: NumberRegistration) => Promise<Review>
  /** Verifies the code that was texted to a sole proprietor; returns whether it was right. */
  readonly verifyCode: (businessRef: string, code: string) => Promise<boolean>
  /** Ends a campaign because its company is erased; idempotent. */
  readonly endCampaign: (
    submission: Pick<SubmissionReference, "companyId" | "isTest" | "ref">,
  ) => Promise<void>
  /** The events of a webhook; pure. `forged`: the signature is invalid or for another address. */
  readonly readWebhook: (
    call: CarrierWebhookRequest,
    now: number,
  ) => RegistryWebhookEvents | "forged"
}
