import { z } from "zod"
import { BRAND_TYPES } from "../../domain/registration/registration-events.ts"
import { registrationStreamOf } from "../../domain/registration/aggregates.ts"
import type { RegistrationState } from "../../domain/registration/registration-state.ts"
import {
  submissionFeeOf,
  partStateOf,
  registrationDraftOf,
} from "../../domain/registration/registration-views.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { microsSchema } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"
import type { CampaignProblem } from "./campaign.ts"
import { sampleFlagsOf, campaignProblemsOf, replyProblemsOf } from "./campaign.ts"
import { missingStepsIn, campaignInputsOf, readTextingReplies } from "./campaign-inputs.ts"
import { findTooLongFields } from "./campaign-length-faults.ts"
import { businessFee, campaignFee } from "./submit-registration.ts"
import { PAGE_PROBLEMS } from "./page-problem-messages.ts"
import type { PageProblem } from "./page-problem-messages.ts"
import { unsealRegistration } from "./saved-registration.ts"

const Ready = z.object({
  ready: z.literal(true).describe("All earlier steps are saved"),
  saved: z.boolean().describe("Whether a campaign was saved; otherwise its fields are null"),
  brandType: z.enum(BRAND_TYPES).nullable().describe("The volume of texts, or the kind of sender"),
  setupPaid: z.boolean().describe("Whether its fee is paid, so that sending it is free"),
  directLending: z
    .boolean()
    .nullable()
    .describe("Whether it is about loans that the company offers"),
  description: z.string().nullable().describe("The purpose and the audience of the texts"),
  messageFlow: z.string().nullable().describe("How people opt in"),
  samples: z.array(z.string()).describe("Sample texts"),
  hasLinks: z.boolean().describe("Whether a sample has a link"),
  hasPhone: z.boolean().describe("Whether a sample has a phone number"),
  problems: z
    .array(
      z.object({
        where: z.string().describe("`pages.` and a page, or a field such as `samples.0`"),
        code: z.string().describe("Code of the problem"),
        message: z.string().describe("Description of the problem"),
      }),
    )
    .describe("Problems that a reviewer would reject; empty before the pages were checked"),
  fees: z
    .object({
      brandMicros: microsSchema.describe(
        "Review of the business; low-volume if no brand type is saved",
      ),
      campaignMicros: microsSchema.describe("Review of the campaign"),
      rushMicros: microsSchema.describe("Additional fee for rush"),
      dueMicros: microsSchema.describe("Price of sending the campaign now, without rush"),
    })
    .describe("The fees of reviews"),
  mock: z.boolean().describe("Whether this installation uses the carrier simulator"),
  replies: z
    .object({
      optInReply: z.string().describe("To START"),
      optOutReply: z.string().describe("To STOP"),
      helpReply: z.string().describe("To HELP"),
    })
    .describe("The replies to keywords"),
})

/** The schema of a campaign, or of the steps that are missing before it. */
export const CampaignReply = z
  .discriminatedUnion("ready", [
    Ready,
    z.object({
      ready: z.literal(false).describe("Earlier steps are missing"),
      missing: z.array(z.string()).describe("The missing steps: `business`, `pages`"),
    }),
  ])
  .meta({
    id: "Campaign",
    description: "A texting campaign, or the steps that are missing before it",
  })

/** Builds the reply for a company's campaign. */
export async function readCampaignReply(
  ports: Pick<Ports, "baseUrl" | "carrier" | "runner" | "sealing">,
  companyId: CompanyId,
): Promise<z.infer<typeof CampaignReply>> {
  const { written, isPaid, isFree } = await ports.runner.read(
    registrationStreamOf(companyId),
    viewOf,
  )
  const saved = await unsealRegistration(ports, companyId, written)
  const ready = campaignInputsOf(ports, saved)
  if (ready === null) return { ready: false, missing: missingStepsIn(saved) }
  const { campaign, brandType } = saved
  const chosen = campaign?.brandType ?? null
  const [brand, fee, rush, replies] = await Promise.all([
    businessFee(ports, brandType ?? chosen ?? "low_volume"),
    ...([campaignFee(ports, "fee"), campaignFee(ports, "rush")] as const),
    readTextingReplies(ports, companyId),
  ])
  const samples = campaign?.samples ?? []
  const campaignProblems =
    campaign === null
      ? []
      : campaignProblemsOf(campaign, ready.business, ready.addresses, brandType)
  const replyProblems = replyProblemsOf({ ...replies }, ready.business)
  const tooLong =
    campaign === null ? [] : await findTooLongFields(ports, companyId, campaign, replies.helpReply)
  return {
    ready: true,
    saved: campaign !== null,
    brandType: chosen,
    setupPaid: isPaid,
    directLending: campaign?.directLending ?? null,
    description: campaign?.description ?? null,
    messageFlow: campaign?.messageFlow ?? null,
    samples: [...samples],
    ...sampleFlagsOf(samples),
    problems: [
      ...written.pageProblems.map(pageProblemReply),
      ...[...campaignProblems, ...replyProblems].map(fieldProblemReply),
      ...tooLong.map((fault) => fieldProblemReply({ ...fault, code: "too_long" })),
    ],
    fees: {
      brandMicros: brand.amountMicros,
      campaignMicros: fee.amountMicros,
      rushMicros: rush.amountMicros,
      dueMicros: isFree ? 0 : fee.amountMicros,
    },
    mock: ports.carrier.isSimulator,
    replies,
  }
}

function viewOf(state: RegistrationState) {
  const { status } = partStateOf(state, "campaign")
  const unrushed = { part: "campaign", live: false, brandType: null, rush: false } as const
  const isFree =
    status === "waiting" || status === "approved" || submissionFeeOf(state, unrushed) === "none"
  const isSent = status === "waiting" || status === "approved" || status === "action_needed"
  return {
    written: registrationDraftOf(state),
    isFree,
    isPaid: isSent && !state.testMode,
  }
}

function pageProblemReply({ page, code }: { readonly page: string; readonly code: string }) {
  const message = PAGE_PROBLEMS[code as PageProblem] ?? "Carriers would reject the page."
  return { where: `pages.${page}`, code, message }
}

const fieldProblemReply = ({ field, code, message }: CampaignProblem) => ({
  where: field,
  code,
  message,
})
