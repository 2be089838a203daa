import type {
  SubmissionReference,
  BusinessSubmission,
  CampaignSubmission,
  ReviewedBusiness,
  ReviewedCampaign,
} from "../../adapters/providers/registry/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { registrationStreamOf } from "../../domain/registration/aggregates.ts"
import type { SubmissionId } from "../../domain/registration/ids.ts"
import type { RegistrationState } from "../../domain/registration/registration-state.ts"
import {
  partStateOf,
  submissionOf,
  registrationDraftOf,
} from "../../domain/registration/registration-views.ts"
import type { Ports } from "../frame/ports.ts"
import type { Business } from "./business.ts"
import { brandNameOf } from "./business.ts"
import { sampleFlagsOf } from "./campaign.ts"
import type { CampaignInputs } from "./campaign-inputs.ts"
import { campaignInputsOf, readTextingReplies } from "./campaign-inputs.ts"
import type { SavedRegistration } from "./saved-registration.ts"
import { unsealRegistration } from "./saved-registration.ts"

type SubmissionPorts = Pick<Ports, "runner" | "sealing">

/** Converts a business to the form that is reviewed. */
export function reviewedBusiness(business: Business): ReviewedBusiness {
  const { ein, website, street2, repTitle, repPosition, stockExchange, stockTicker } = business
  return {
    ...business,
    brandName: brandNameOf(business),
    ein: ein ?? null,
    website: website ?? null,
    street2: street2 ?? null,
    repTitle: repTitle ?? null,
    repPosition: repPosition ?? null,
    stockExchange: stockExchange ?? null,
    stockTicker: stockTicker ?? null,
  }
}

/** Converts a campaign to the form that is reviewed: the saved one, else its draft. */
export async function reviewedCampaign(
  ports: SubmissionPorts,
  companyId: CompanyId,
  { pages: { pages }, addresses, draft }: CampaignInputs,
  { campaign }: Pick<SavedRegistration, "campaign">,
): Promise<ReviewedCampaign> {
  const replies = await readTextingReplies(ports, companyId)
  const { description, messageFlow, samples, directLending } = campaign ?? draft
  return {
    description,
    messageFlow,
    samples,
    ...sampleFlagsOf(samples),
    directLending,
    offers: pages.offers,
    mostMonthly: pages.offersPerMonth,
    optInMessage: draft.optInMessage,
    optOutMessage: replies.optOutReply,
    helpMessage: replies.helpReply,
    optInUrl: addresses.texts,
    privacyUrl: addresses.privacy,
    termsUrl: addresses.terms,
  }
}

function viewOf(state: RegistrationState, submissionId: SubmissionId) {
  return {
    submission: submissionOf(state, submissionId),
    business: partStateOf(state, "business"),
    written: registrationDraftOf(state),
  }
}

/** A submission for a status check; null if it was superseded or its company was erased. */
export async function findSubmissionToCheck(
  ports: SubmissionPorts,
  companyId: CompanyId,
  submissionId: SubmissionId,
): Promise<SubmissionReference | null> {
  const found = await findSubmission(ports, companyId, submissionId)
  return found === null ? null : found.reference
}

/** A submission with its content; null if it was superseded or its company was erased. */
export async function findSubmissionToSend(
  ports: Pick<Ports, "baseUrl" | "runner" | "sealing">,
  companyId: CompanyId,
  submissionId: SubmissionId,
): Promise<BusinessSubmission | CampaignSubmission | null> {
  const found = await findSubmission(ports, companyId, submissionId)
  if (found === null) return null
  const { reference, saved, business, view } = found
  const { corrects: correctedRef } = found.last
  const reviewed = reviewedBusiness(business)
  const brandType = saved.brandType ?? "low_volume"
  if (reference.part === "business") {
    return { ...reference, part: "business", correctedRef, brandType, business: reviewed }
  }
  const ready = campaignInputsOf(ports, saved)
  const businessRef = view.business.carrierRef
  if (ready === null || businessRef === null) return null
  const campaign = await reviewedCampaign(ports, companyId, ready, saved)
  const of = { correctedRef, businessRef, brandType, business: reviewed, campaign }
  return { ...reference, part: "campaign", ...of }
}

async function findSubmission(
  ports: SubmissionPorts,
  companyId: CompanyId,
  submissionId: SubmissionId,
) {
  const view = await ports.runner.read(registrationStreamOf(companyId), (state) =>
    viewOf(state, submissionId),
  )
  const saved = await unsealRegistration(ports, companyId, view.written)
  const { submission } = view
  if (submission === null || submission.last === null || saved.business === null) return null
  const { part, live, last } = submission
  const { business } = saved
  const reference: SubmissionReference = {
    submissionId,
    companyId,
    part,
    isTest: !live,
    ref: last.carrierRef,
    brandName: brandNameOf(business),
  }
  return { reference, last, saved, business, view }
}
