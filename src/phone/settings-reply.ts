/** How texting and numbers are set up, as callers see it. */
import { z } from "zod"
import type { CompanyId, SealedText } from "../../domain/kernel/ids.ts"
import { DEFAULT_RECORDING_NOTICE } from "../../domain/phone/number-settings.ts"
import type { PhoneSetup } from "../../domain/phone/phone-views.ts"
import { describedId, isoTimeSchema } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"
import { campaignInputsOf, suggestedReplies } from "../registration/campaign-inputs.ts"
import { readSavedRegistration } from "../registration/saved-registration.ts"
import { unsealTextingRules } from "./texting-rules.ts"

const TextingSettings = z
  .object({
    optOutReply: z.string().describe("What an opt-out is answered with"),
    optInReply: z.string().describe("What an opt-in is answered with"),
    helpReply: z.string().describe("What HELP is answered with"),
    suggested: z
      .object({
        optOutReply: z.string().describe("For an opt-out"),
        optInReply: z.string().describe("For an opt-in"),
        helpReply: z.string().describe("For HELP"),
      })
      .describe("Replies that carriers like to see, once business and pages are saved"),
    extraOptOutWords: z.array(z.string()).describe("Words that opt out beside STOP and its kind"),
    optOutLine: z.boolean().describe("Whether the first text to somebody tells how to stop"),
    repliesAppliedAt: isoTimeSchema
      .nullable()
      .describe("When the carrier's own replies were last made to say this; null for never"),
  })
  .meta({ id: "TextingSettings", description: "How the company's texting answers" })

const NumberSettings = z
  .object({
    id: describedId("the number"),
    number: z.string().describe("In full"),
    voice: z.boolean().describe("Whether it takes calls"),
    sms: z.boolean().describe("Whether it sends and gets texts"),
    label: z.string().nullable().describe("What the company calls it"),
    ringMode: z.enum(["all", "order"]).describe("All phones at once, or one after another"),
    ringTo: z
      .array(
        z.object({
          phone: z.string().describe("In full"),
          name: z.string().nullable().describe("Whose it is"),
        }),
      )
      .describe("Whose phones ring; none: straight to voicemail"),
    ringSeconds: z.int().describe("How long they ring, or each of them"),
    screenCalls: z.boolean().describe("Whether who answers presses 1"),
    recordCalls: z.boolean().describe("Whether calls are recorded"),
    recordingNotice: z.string().describe("What both hear before a recording"),
    voicemail: z.boolean().describe("Whether callers can leave a message"),
    voicemailGreeting: z.string().nullable().describe("What they hear before; null: usual words"),
    optOutReply: z
      .string()
      .nullable()
      .describe("What an opt-out to this number is answered with; null: as texting says"),
  })
  .meta({ id: "NumberSettings", description: "How a number is set up" })

/** All of it. */
export const PhoneSettings = z
  .object({
    texting: TextingSettings.describe("For all numbers"),
    numbers: z.array(NumberSettings).describe("Each number that the company holds"),
  })
  .meta({ id: "PhoneSettings", description: "How texting and numbers are set up" })

/** All of it, as callers see it. */
export async function phoneSettingsReply(
  ports: Pick<Ports, "baseUrl" | "runner" | "sealing">,
  companyId: CompanyId,
  { texting, repliesAppliedAt, numbers: held }: PhoneSetup,
): Promise<z.infer<typeof PhoneSettings>> {
  const rules = await unsealTextingRules(ports, companyId, texting)
  const suggested = suggestedReplies(
    campaignInputsOf(ports, await readSavedRegistration(ports, companyId)),
  )
  const numbers = await Promise.all(held.map((one) => numberSettingsReply(ports, companyId, one)))
  return {
    texting: {
      ...rules,
      extraOptOutWords: [...rules.extraOptOutWords],
      suggested,
      repliesAppliedAt: repliesAppliedAt === null ? null : new Date(repliesAppliedAt).toISOString(),
    },
    numbers: numbers.filter((one) => one !== null),
  }
}

/** How a number is set up; null where its company was erased. */
async function numberSettingsReply(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  { held, settings: set }: PhoneSetup["numbers"][number],
): Promise<z.infer<typeof NumberSettings> | null> {
  const open = async (text: SealedText | null) =>
    text === null ? null : sealing.unseal(companyId, text)
  const number = await open(held.number)
  if (number === null) return null
  const { ringMode, ringSeconds, screenCalls, recordCalls, voicemail } = set
  const [label, notice, greeting, optOutReply, ringTo] = await Promise.all([
    ...([open(set.label), open(set.recordingNotice), open(set.voicemailGreeting)] as const),
    open(set.optOutReply),
    Promise.all(
      set.ringTo.map(async ({ phone, name }) => ({
        phone: (await open(phone)) ?? "",
        name: await open(name),
      })),
    ),
  ])
  return {
    id: held.numberId,
    number,
    voice: held.voice,
    sms: held.sms,
    label,
    ringMode,
    ringTo,
    ringSeconds,
    screenCalls,
    recordCalls,
    recordingNotice: notice ?? DEFAULT_RECORDING_NOTICE,
    voicemail,
    voicemailGreeting: greeting,
    optOutReply,
  }
}
