/** Campaigns at Telnyx. Our submission id is sent as the reference, which Telnyx accepts once. */
import { withUnknownOutcome } from "../provider-errors.ts"
import type { TelnyxClient } from "../telnyx/client.ts"
import { telnyxUnavailable, parseTelnyxAnswer } from "../telnyx/client.ts"
import type { SubmissionReference, CampaignSubmission, Registry, SubmitAnswer } from "./port.ts"
import {
  submissionWebhookPath,
  submissionWebhookUrl,
  TelnyxCampaign,
  listTelnyxRows,
  WAITING_REVIEW,
  campaignReview,
  rejectedSubmission,
} from "./telnyx-schemas.ts"
import type { TelnyxRegistryPorts } from "./telnyx-brands.ts"
import { listBrands } from "./telnyx-brands.ts"

/** The keywords of Telnyx's automatic replies. */
const KEYWORDS = {
  optinKeywords: "START,UNSTOP",
  optoutKeywords: "STOP,STOPALL,UNSUBSCRIBE,CANCEL,END,QUIT",
  helpKeywords: "HELP,INFO",
}
/** Statuses of refused campaigns that can be reviewed again. */
const APPEALABLE_STATUSES: ReadonlySet<string> = new Set(["TELNYX_FAILED", "MNO_REJECTED"])
const LINK = /https?:\/\/[^\s"'<>]*[^\s"'<>.,;:!?)]/

/** The campaign part of the registry. */
export function telnyxCampaigns(ports: TelnyxRegistryPorts): {
  readonly submit: (submission: CampaignSubmission) => Promise<SubmitAnswer>
  readonly checkStatus: Registry["checkStatus"]
  readonly endCampaign: Registry["endCampaign"]
} {
  const { telnyx } = ports
  return {
    submit: async (submission) => {
      const { correctedRef } = submission
      const existing = correctedRef === null ? null : await fetchCampaign(telnyx, correctedRef)
      // An expired campaign cannot be corrected.
      if (existing === null || isExpired(existing)) return createCampaign(ports, submission)
      return correctCampaign(ports, submission, existing)
    },
    checkStatus: async (submission) => {
      const campaign = await findCampaign(ports, submission)
      return campaign === null ? { answer: "unknown" } : takenAnswer(campaign)
    },
    endCampaign: async ({ ref }) => {
      if (ref === null) return
      const ended = await telnyx.request({ method: "DELETE", path: campaignPath(ref) })
      if (ended.outcome === "done" || ended.status === 404) return
      // Telnyx refuses to end a campaign that has already ended.
      const campaign = await fetchCampaign(telnyx, ref)
      if (campaign !== null && !isExpired(campaign))
        throw telnyxUnavailable("the end of a campaign", ended)
    },
  }
}

const campaignPath = (campaignId: string) => `/10dlc/campaign/${encodeURIComponent(campaignId)}`
const isExpired = ({ campaignStatus, status }: TelnyxCampaign) =>
  campaignStatus === "TCR_EXPIRED" || status === "EXPIRED"
const takenAnswer = (campaign: TelnyxCampaign): SubmitAnswer => ({
  answer: "taken",
  ref: campaign.campaignId,
  review: campaignReview(campaign),
})

async function fetchCampaign(
  telnyx: TelnyxClient,
  campaignId: string,
): Promise<TelnyxCampaign | null> {
  const found = await telnyx.request({ method: "GET", path: campaignPath(campaignId) })
  if (found.outcome === "done") return parseTelnyxAnswer(TelnyxCampaign, found.value)
  if (found.status === 404) return null
  throw telnyxUnavailable("the request for a campaign", found)
}

async function findCampaign(
  ports: TelnyxRegistryPorts,
  submission: SubmissionReference,
): Promise<TelnyxCampaign | null> {
  if (submission.ref !== null) return fetchCampaign(ports.telnyx, submission.ref)
  // Campaigns are listed by brand, and a company's brands are found by name.
  for await (const { brandId } of listBrands(ports, submission)) {
    const campaign = await findBrandCampaign(ports, brandId, submission)
    if (campaign !== null) return campaign
  }
  return null
}

/** Finds the campaign of a submission among those of a brand. */
async function findBrandCampaign(
  { telnyx, addressing }: TelnyxRegistryPorts,
  brandId: string,
  submission: Pick<SubmissionReference, "submissionId" | "companyId">,
): Promise<TelnyxCampaign | null> {
  const path = submissionWebhookPath(addressing, submission)
  for await (const one of listTelnyxRows(telnyx, "/10dlc/campaign", { brandId }, TelnyxCampaign)) {
    // A corrected campaign keeps the reference of its first submission.
    if (one.webhookURL?.endsWith(path) === true) return one
    if (one.referenceId === submission.submissionId) return one
  }
  return null
}

async function createCampaign(
  ports: TelnyxRegistryPorts,
  submission: CampaignSubmission,
): Promise<SubmitAnswer> {
  const body = campaignBody(ports, submission)
  const created = await ports.telnyx.request({
    method: "POST",
    path: "/10dlc/campaignBuilder",
    body,
  })
  if (created.outcome === "done")
    return takenAnswer(parseTelnyxAnswer(TelnyxCampaign, created.value))
  const answer = rejectedSubmission("the campaign", created)
  // Telnyx also refuses a reference that exists: then the campaign is there.
  const known = await withUnknownOutcome("Telnyx", () =>
    findBrandCampaign(ports, submission.businessRef, submission),
  )
  return known === null ? answer : takenAnswer(known)
}

async function correctCampaign(
  { telnyx, addressing }: TelnyxRegistryPorts,
  submission: CampaignSubmission,
  existing: TelnyxCampaign,
): Promise<SubmitAnswer> {
  const { campaignId, campaignStatus } = existing
  const { helpMessage, messageFlow, samples } = submission.campaign
  const body = {
    helpMessage,
    messageFlow,
    ...sampleFields(samples),
    autoRenewal: true,
    webhookURL: submissionWebhookUrl(addressing, submission),
  }
  const put = await telnyx.request({ method: "PUT", path: campaignPath(campaignId), body })
  if (put.outcome === "refused") return rejectedSubmission("the campaign", put)
  if (!APPEALABLE_STATUSES.has(campaignStatus ?? ""))
    return takenAnswer(parseTelnyxAnswer(TelnyxCampaign, put.value))
  return withUnknownOutcome("Telnyx", async () => {
    const appealed = await telnyx.request({
      method: "POST",
      path: `${campaignPath(campaignId)}/appeal`,
      body: { appeal_reason: `The campaign was corrected. ${messageFlow}` },
    })
    if (appealed.outcome === "done")
      return { answer: "taken", ref: campaignId, review: WAITING_REVIEW }
    const { reasons } = rejectedSubmission("another review of the campaign", appealed)
    return { answer: "taken", ref: campaignId, review: { answer: "action_needed", reasons } }
  })
}

const sampleFields = (samples: readonly string[]) =>
  Object.fromEntries(samples.slice(0, 5).map((sample, i) => [`sample${i + 1}`, sample]))

/** The use case of a campaign; a mixed one lists its uses. */
function useCaseFields({
  brandType,
  campaign: { offers },
}: Pick<CampaignSubmission, "brandType" | "campaign">): object {
  const subUsecases = ["ACCOUNT_NOTIFICATION", offers ? "MARKETING" : "CUSTOMER_CARE"]
  switch (brandType) {
    case "sole_proprietor":
      return { usecase: "SOLE_PROPRIETOR" }
    case "low_volume":
      return { usecase: "LOW_VOLUME", subUsecases }
    case "standard":
      return offers ? { usecase: "MIXED", subUsecases } : { usecase: "ACCOUNT_NOTIFICATION" }
  }
}

function campaignBody({ addressing }: TelnyxRegistryPorts, submission: CampaignSubmission): object {
  const { businessRef, submissionId, campaign } = submission
  const { samples, hasLinks, hasPhone, directLending, optInUrl } = campaign
  const link = samples.map((sample) => LINK.exec(sample)?.[0]).find((one) => one !== undefined)
  return {
    brandId: businessRef,
    referenceId: submissionId,
    ...useCaseFields(submission),
    description: campaign.description,
    messageFlow: campaign.messageFlow,
    ...sampleFields(samples),
    embeddedLink: hasLinks,
    embeddedPhone: hasPhone,
    directLending,
    ...(hasLinks ? { embeddedLinkSample: link ?? optInUrl } : {}),
    ageGated: false,
    numberPool: false,
    autoRenewal: true,
    termsAndConditions: true,
    subscriberOptin: true,
    subscriberOptout: true,
    subscriberHelp: true,
    ...KEYWORDS,
    optinMessage: campaign.optInMessage,
    optoutMessage: campaign.optOutMessage,
    helpMessage: campaign.helpMessage,
    privacyPolicyLink: campaign.privacyUrl,
    termsAndConditionsLink: campaign.termsUrl,
    webhookURL: submissionWebhookUrl(addressing, submission),
  }
}
