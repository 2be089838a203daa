/** Campaigns at Telnyx. Our id of a submission goes along as their reference, which they take once. */
import { onceAccepted } from "../outside.ts"
import type { Telnyx } from "../telnyx/client.ts"
import { notDone, readAs } from "../telnyx/client.ts"
import type { AskedSubmission, CampaignSubmission, Registry, SubmitAnswer } from "./port.ts"
import {
  pathOfPart,
  urlOfPart,
  Campaign,
  rowsOf,
  WAITING,
  campaignReview,
  notTaken,
} from "./telnyx-shapes.ts"
import type { RegistryPorts } from "./telnyx-brands.ts"
import { brandsOf } from "./telnyx-brands.ts"

/** Keywords as Telnyx's own replies know them. */
const KEYWORDS = {
  optinKeywords: "START,UNSTOP",
  optoutKeywords: "STOP,STOPALL,UNSUBSCRIBE,CANCEL,END,QUIT",
  helpKeywords: "HELP,INFO",
}
/** Refused ones can be looked at again. */
const APPEALED: ReadonlySet<string> = new Set(["TELNYX_FAILED", "MNO_REJECTED"])
const LINK = /https?:\/\/[^\s"'<>]*[^\s"'<>.,;:!?)]/

/** The part of the registry that is about campaigns. */
export function telnyxCampaigns(ports: RegistryPorts): {
  readonly submit: (submission: CampaignSubmission) => Promise<SubmitAnswer>
  readonly ask: Registry["ask"]
  readonly end: Registry["end"]
} {
  const { telnyx } = ports
  return {
    submit: async (submission) => {
      const { corrects } = submission
      const former = corrects === null ? null : await fetchCampaign(telnyx, corrects)
      // What has expired comes back by no correction.
      if (former === null || isOver(former)) return make(ports, submission)
      return correct(ports, submission, former)
    },
    ask: async (asked) => {
      const campaign = await findCampaign(ports, asked)
      return campaign === null ? { answer: "unknown" } : takenAs(campaign)
    },
    end: async ({ ref }) => {
      if (ref === null) return
      const ended = await telnyx.ask({ method: "DELETE", path: pathOf(ref) })
      if (ended.is === "done" || ended.status === 404) return
      // One that was ended before is refused.
      const campaign = await fetchCampaign(telnyx, ref)
      if (campaign !== null && !isOver(campaign)) throw notDone("the end of a campaign", ended)
    },
  }
}

const pathOf = (campaignId: string) => `/10dlc/campaign/${encodeURIComponent(campaignId)}`
const isOver = ({ campaignStatus, status }: Campaign) =>
  campaignStatus === "TCR_EXPIRED" || status === "EXPIRED"
const takenAs = (campaign: Campaign): SubmitAnswer => ({
  answer: "taken",
  ref: campaign.campaignId,
  review: campaignReview(campaign),
})

async function fetchCampaign(telnyx: Telnyx, campaignId: string): Promise<Campaign | null> {
  const found = await telnyx.ask({ method: "GET", path: pathOf(campaignId) })
  if (found.is === "done") return readAs(Campaign, found.value)
  if (found.status === 404) return null
  throw notDone("a look at a campaign", found)
}

async function findCampaign(
  ports: RegistryPorts,
  asked: AskedSubmission,
): Promise<Campaign | null> {
  if (asked.ref !== null) return fetchCampaign(ports.telnyx, asked.ref)
  // They are listed by brand, and of a company's brands we know the name.
  for await (const { brandId } of brandsOf(ports, asked)) {
    const campaign = await campaignOf(ports, brandId, asked)
    if (campaign !== null) return campaign
  }
  return null
}

/** The campaign of a submission among those of a brand. */
async function campaignOf(
  { telnyx, addressing }: RegistryPorts,
  brandId: string,
  submission: Pick<AskedSubmission, "submissionId" | "companyId">,
): Promise<Campaign | null> {
  const path = pathOfPart(addressing, submission)
  for await (const one of rowsOf(telnyx, "/10dlc/campaign", { brandId }, Campaign)) {
    // One that was put right keeps the reference of its first submission.
    if (one.webhookURL?.endsWith(path) === true) return one
    if (one.referenceId === submission.submissionId) return one
  }
  return null
}

async function make(ports: RegistryPorts, submission: CampaignSubmission): Promise<SubmitAnswer> {
  const body = bodyOf(ports, submission)
  const made = await ports.telnyx.ask({ method: "POST", path: "/10dlc/campaignBuilder", body })
  if (made.is === "done") return takenAs(readAs(Campaign, made.value))
  const answer = notTaken("the campaign", made)
  // It is refused too because of its reference, where it is there already.
  const known = await onceAccepted("Telnyx", () =>
    campaignOf(ports, submission.businessRef, submission),
  )
  return known === null ? answer : takenAs(known)
}

async function correct(
  { telnyx, addressing }: RegistryPorts,
  submission: CampaignSubmission,
  former: Campaign,
): Promise<SubmitAnswer> {
  const { campaignId, campaignStatus } = former
  const { helpMessage, messageFlow, samples } = submission.campaign
  const body = {
    helpMessage,
    messageFlow,
    ...numbered(samples),
    autoRenewal: true,
    webhookURL: urlOfPart(addressing, submission),
  }
  const put = await telnyx.ask({ method: "PUT", path: pathOf(campaignId), body })
  if (put.is === "refused") return notTaken("the campaign", put)
  if (!APPEALED.has(campaignStatus ?? "")) return takenAs(readAs(Campaign, put.value))
  return onceAccepted("Telnyx", async () => {
    const appealed = await telnyx.ask({
      method: "POST",
      path: `${pathOf(campaignId)}/appeal`,
      body: { appeal_reason: `The campaign was put right. ${messageFlow}` },
    })
    if (appealed.is === "done") return { answer: "taken", ref: campaignId, review: WAITING }
    const { reasons } = notTaken("another review of the campaign", appealed)
    return { answer: "taken", ref: campaignId, review: { answer: "action_needed", reasons } }
  })
}

const numbered = (samples: readonly string[]) =>
  Object.fromEntries(samples.slice(0, 5).map((sample, i) => [`sample${i + 1}`, sample]))

/** What it is for; a campaign of several purposes names them. */
function purposeOf({
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

function bodyOf({ addressing }: RegistryPorts, submission: CampaignSubmission): object {
  const { businessRef, submissionId, campaign } = submission
  const { samples, hasLinks, hasPhone, directLending, optInUrl } = campaign
  const link = samples.map((sample) => LINK.exec(sample)?.[0]).find((one) => one !== undefined)
  return {
    brandId: businessRef,
    referenceId: submissionId,
    ...purposeOf(submission),
    description: campaign.description,
    messageFlow: campaign.messageFlow,
    ...numbered(samples),
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
    webhookURL: urlOfPart(addressing, submission),
  }
}
