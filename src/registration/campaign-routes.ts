/** `/api/v1/phone/campaign`: what is texted and how people agree to it, for carriers to review. */
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

/** How it stands. */
export const readCampaign = route({
  name: "readCampaign",
  method: "GET",
  url: URL,
  group: "phone",
  summary: "Read the campaign, and what a reviewer would refuse of it",
  operation: "phone.overview.read",
  isCounted: true,
  reply: CampaignReply,
  readStreams: [registrationStreamOf, phoneStreamOf],
  handle: async (ports, { companyId }) => ({
    ok: true,
    body: await readCampaignReply(ports, companyId),
  }),
})

/** Saves it. */
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
  specGap: "The specification does not show the verb: PUT, because all of it is sent.",
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
    description: z.string().describe("What is texted, and to whom"),
    messageFlow: z.string().describe("How people agree to it"),
    samples: z.array(z.string()).describe("Texts as they are sent"),
    hasLinks: z.boolean().describe("Whether a sample has a link"),
    hasPhone: z.boolean().describe("Whether a sample has a phone number"),
    directLending: z.boolean().describe("Whether it is about loans the company gives"),
    optInMessage: z.string().describe("What people are texted who agreed"),
    helpMessage: z.string().describe("What HELP is answered with"),
    privacyUrl: z.string().describe("What the pages say of privacy"),
    termsUrl: z.string().describe("Their terms"),
  })
  .meta({ id: "CampaignDraft", description: "A campaign that is not saved" })

/** Writes one that a reviewer would take. */
export const draftCampaign = route({
  name: "draftCampaign",
  method: "POST",
  url: `${URL}/draft`,
  group: "phone",
  summary: "Draft a campaign from what was saved, without saving it",
  example: {},
  operation: "phone.registration.prepare",
  isCounted: true,
  reply: Draft,
  refusalCodes: ["conflict"],
  refusalMessages: { conflict: MISSING_STEPS_MESSAGE },
  specGap: "The specification does not show the verb: POST, because it makes a draft.",
  readStreams: [registrationStreamOf],
  handle: async (ports, { companyId }) => {
    const saved = await readSavedRegistration(ports, companyId)
    const ready = campaignInputsOf(ports, saved)
    if (ready === null) return { ok: false, refusal: missingStepsRefusal(missingStepsIn(saved)) }
    return { ok: true, body: { ...ready.draft, samples: [...ready.draft.samples] } }
  },
})
