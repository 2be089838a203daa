/** A campaign as callers see it: what was saved, what a reviewer would refuse of it, and what it costs. */
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
  ready: z.literal(true).describe("What comes first was saved"),
  saved: z.boolean().describe("Whether a campaign was saved; else its fields are null"),
  brandType: z.enum(BRAND_TYPES).nullable().describe("How much is texted, or by whom"),
  setupPaid: z.boolean().describe("Whether its fee was paid, so that sending it costs nothing"),
  directLending: z.boolean().nullable().describe("Whether it is about loans the company gives"),
  description: z.string().nullable().describe("What is texted, and to whom"),
  messageFlow: z.string().nullable().describe("How people agree to it"),
  samples: z.array(z.string()).describe("Texts as they are sent"),
  hasLinks: z.boolean().describe("Whether a sample has a link, as carriers are told"),
  hasPhone: z.boolean().describe("Whether a sample has a phone number"),
  problems: z
    .array(
      z.object({
        where: z.string().describe("`pages.` and a page, or a field: `samples.0`"),
        code: z.string().describe("What is wrong, in a word"),
        message: z.string().describe("And in a sentence"),
      }),
    )
    .describe("What a reviewer would refuse; none before the pages were looked at"),
  fees: z
    .object({
      brandMicros: microsSchema.describe(
        "A review of the business; of a low-volume one if none is said",
      ),
      campaignMicros: microsSchema.describe("A review of the campaign"),
      rushMicros: microsSchema.describe("What rush costs besides"),
      dueMicros: microsSchema.describe("What sending the campaign costs now, without rush"),
    })
    .describe("What reviews cost"),
  mock: z.boolean().describe("Whether the built-in carrier serves this installation"),
  replies: z
    .object({
      optInReply: z.string().describe("To START"),
      optOutReply: z.string().describe("To STOP"),
      helpReply: z.string().describe("To HELP"),
    })
    .describe("How texting answers, as carriers are told"),
})

/** A campaign, or what comes before it. */
export const CampaignReply = z
  .discriminatedUnion("ready", [
    Ready,
    z.object({
      ready: z.literal(false).describe("Something comes first"),
      missing: z.array(z.string()).describe("What: `business`, `pages`"),
    }),
  ])
  .meta({ id: "Campaign", description: "A texting campaign, or what comes before it" })

/** The campaign as it stands. */
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
  const own =
    campaign === null
      ? []
      : campaignProblemsOf(campaign, ready.business, ready.addresses, brandType)
  const ofReplies = replyProblemsOf({ ...replies }, ready.business)
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
      ...[...own, ...ofReplies].map(fieldProblemReply),
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
  const message = PAGE_PROBLEMS[code as PageProblem] ?? "The page would be refused."
  return { where: `pages.${page}`, code, message }
}

const fieldProblemReply = ({ field, code, message }: CampaignProblem) => ({
  where: field,
  code,
  message,
})
