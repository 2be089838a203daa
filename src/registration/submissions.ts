/** What is sent for review, made of what was saved. */
import type {
  AskedSubmission,
  BusinessSubmission,
  CampaignSubmission,
  ReviewedBusiness,
  ReviewedCampaign,
} from "../../adapters/providers/registry/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { registrationOf } from "../../domain/registration/aggregates.ts"
import type { SubmissionId } from "../../domain/registration/ids.ts"
import type { Registration } from "../../domain/registration/registration-state.ts"
import { partState, submissionOf, writtenOf } from "../../domain/registration/registration-views.ts"
import type { Ports } from "../frame/ports.ts"
import type { Business } from "./business.ts"
import { brandNameOf } from "./business.ts"
import { flagsOf } from "./campaign.ts"
import type { ReadyToDraft } from "./drafts.ts"
import { readyOf, repliesOf } from "./drafts.ts"
import type { Saved } from "./saved.ts"
import { openedOf } from "./saved.ts"

type Needs = Pick<Ports, "runner" | "sealing">

/** A business as it is reviewed. */
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

/** A campaign as it is reviewed: the one that was saved, else its draft. */
export async function reviewedCampaign(
  ports: Needs,
  companyId: CompanyId,
  { pages: { pages }, addresses, draft }: ReadyToDraft,
  { campaign }: Pick<Saved, "campaign">,
): Promise<ReviewedCampaign> {
  const replies = await repliesOf(ports, companyId)
  const { description, messageFlow, samples, directLending } = campaign ?? draft
  return {
    description,
    messageFlow,
    samples,
    ...flagsOf(samples),
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

/** What of a registration a submission is made of. */
function viewOf(state: Registration, submissionId: SubmissionId) {
  return {
    submission: submissionOf(state, submissionId),
    business: partState(state, "business"),
    written: writtenOf(state),
  }
}

/** A submission as it is asked about; null where it was superseded, or its company was erased. */
export async function askedSubmission(
  ports: Needs,
  companyId: CompanyId,
  submissionId: SubmissionId,
): Promise<AskedSubmission | null> {
  const found = await foundSubmission(ports, companyId, submissionId)
  return found === null ? null : found.asked
}

/** A submission as it is sent; null where it was superseded, or its company was erased. */
export async function submissionAsSent(
  ports: Pick<Ports, "baseUrl" | "runner" | "sealing">,
  companyId: CompanyId,
  submissionId: SubmissionId,
): Promise<BusinessSubmission | CampaignSubmission | null> {
  const found = await foundSubmission(ports, companyId, submissionId)
  if (found === null) return null
  const { asked, saved, business, view } = found
  const { corrects } = found.last
  const reviewed = reviewedBusiness(business)
  const brandType = saved.brandType ?? "low_volume"
  if (asked.part === "business") {
    return { ...asked, part: "business", corrects, brandType, business: reviewed }
  }
  const ready = readyOf(ports, saved)
  const businessRef = view.business.carrierRef
  if (ready === null || businessRef === null) return null
  const campaign = await reviewedCampaign(ports, companyId, ready, saved)
  const of = { corrects, businessRef, brandType, business: reviewed, campaign }
  return { ...asked, part: "campaign", ...of }
}

async function foundSubmission(ports: Needs, companyId: CompanyId, submissionId: SubmissionId) {
  const view = await ports.runner.read(registrationOf(companyId), (state) =>
    viewOf(state, submissionId),
  )
  const saved = await openedOf(ports, companyId, view.written)
  const { submission } = view
  if (submission === null || submission.last === null || saved.business === null) return null
  const { part, live, last } = submission
  const { business } = saved
  const asked: AskedSubmission = {
    submissionId,
    companyId,
    part,
    isTest: !live,
    ref: last.carrierRef,
    brandName: brandNameOf(business),
  }
  return { asked, last, saved, business, view }
}
