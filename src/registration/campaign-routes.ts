import { z } from "zod"
import { COMPANY_SUBJECT } from "../../adapters/sealing/port.ts"
import { phoneStreamOf } from "../../domain/phone/aggregates.ts"
import { registrationStreamOf } from "../../domain/registration/aggregates.ts"
import { causeOf } from "../frame/routes/api-call.ts"
import { route } from "../frame/routes/declare/route.ts"
import { CampaignReply, readCampaignReply } from "./campaign-reply.ts"
import { TextingCampaign } from "./campaign.ts"
import { missingStepsIn, campaignInputsOf } from "./campaign-inputs.ts"
import {
  MISSING_STEPS_MESSAGE,
  missingStepsRefusal,
  registrationRefusal,
} from "./registration-refusals.ts"
import { readSavedRegistration } from "./saved-registration.ts"

const URL = "/api/v1/phone/campaign"

export const readCampaign = route({
  name: "readCampaign",
  method: "GET",
  url: URL,
  group: "phone",
  summary: "Read the campaign, and the problems that a reviewer would reject",
  operation: "phone.overview.read",
  isCounted: true,
  reply: CampaignReply,
  readStreams: [registrationStreamOf, phoneStreamOf],
  handle: async (ports, { companyId }) => ({
    ok: true,
    body: await readCampaignReply(ports, companyId),
  }),
})

export const saveCampaign = route({
  name: "saveCampaign",
  method: "PUT",
  url: URL,
  group: "phone",
  summary: "Save the campaign",
  example: {
    body: {
      brandType: "low_volume",
      description: "Acme Bakery texts customers who agreed to it about their orders.",
      messageFlow:
        "People agree at https://texts.acme.example/texts by ticking an empty, optional box.",
      samples: [
        "Acme Bakery: Your order is ready for pick-up. Reply STOP to opt out, HELP for help.",
        "Acme Bakery: We open at 7 tomorrow. Reply STOP to opt out.",
      ],
      directLending: false,
    },
  },
  operation: "phone.registration.prepare",
  isCounted: true,
  body: TextingCampaign,
  reply: CampaignReply,
  refusalCodes: ["conflict"],
  refusalMessages: { conflict: MISSING_STEPS_MESSAGE },
  specGap:
    "The specification does not show the method: PUT, because it replaces the complete campaign.",
  handle: async (ports, caller, { body }) => {
    const { companyId } = caller
    const { keyId, personId } = caller.spender
    const campaign = await ports.sealing.seal(companyId, COMPANY_SUBJECT, JSON.stringify(body))
    const saved = await ports.runner.execute(
      registrationStreamOf(companyId),
      { type: "SaveCampaign", campaign, brandType: body.brandType, keyId, personId },
      causeOf(caller),
    )
    if (!saved.accepted) return { ok: false, refusal: registrationRefusal(saved.refusal) }
    const answer = await readCampaignReply(ports, companyId)
    return { ok: true, body: answer, position: saved.position }
  },
})

const Draft = z
  .object({
    description: z.string().describe("The purpose and the audience of the texts"),
    messageFlow: z.string().describe("How people opt in"),
    samples: z.array(z.string()).describe("Sample texts"),
    hasLinks: z.boolean().describe("Whether a sample has a link"),
    hasPhone: z.boolean().describe("Whether a sample has a phone number"),
    directLending: z.boolean().describe("Whether it is about loans that the company offers"),
    optInMessage: z.string().describe("The text that confirms an opt-in"),
    helpMessage: z.string().describe("The reply to HELP"),
    privacyUrl: z.string().describe("The privacy policy"),
    termsUrl: z.string().describe("The terms"),
  })
  .meta({ id: "CampaignDraft", description: "An unsaved draft of a campaign" })

/** Drafts a campaign that a reviewer would accept. */
export const draftCampaign = route({
  name: "draftCampaign",
  method: "POST",
  url: `${URL}/draft`,
  group: "phone",
  summary: "Draft a campaign from the saved details, without saving it",
  example: {},
  operation: "phone.registration.prepare",
  isCounted: true,
  reply: Draft,
  refusalCodes: ["conflict"],
  refusalMessages: { conflict: MISSING_STEPS_MESSAGE },
  specGap: "The specification does not show the method: POST, because it creates a draft.",
  readStreams: [registrationStreamOf],
  handle: async (ports, { companyId }) => {
    const saved = await readSavedRegistration(ports, companyId)
    const ready = campaignInputsOf(ports, saved)
    if (ready === null) return { ok: false, refusal: missingStepsRefusal(missingStepsIn(saved)) }
    return { ok: true, body: { ...ready.draft, samples: [...ready.draft.samples] } }
  },
})
