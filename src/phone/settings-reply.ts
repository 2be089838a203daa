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
    optOutReply: z.string().describe("Reply to an opt-out"),
    optInReply: z.string().describe("Reply to an opt-in"),
    helpReply: z.string().describe("Reply to HELP"),
    suggested: z
      .object({
        optOutReply: z.string().describe("For an opt-out"),
        optInReply: z.string().describe("For an opt-in"),
        helpReply: z.string().describe("For HELP"),
      })
      .describe("Replies that carriers expect, once business and pages are saved"),
    extraOptOutWords: z
      .array(z.string())
      .describe("Opt-out words in addition to STOP and its variants"),
    optOutLine: z.boolean().describe("Whether the first text to a person explains how to stop"),
    repliesAppliedAt: isoTimeSchema
      .nullable()
      .describe("When the carrier last confirmed these replies, or null"),
  })
  .meta({ id: "TextingSettings", description: "The company's texting settings" })

const NumberSettings = z
  .object({
    id: describedId("the number"),
    number: z.string().describe("E.164"),
    voice: z.boolean().describe("Whether it takes calls"),
    sms: z.boolean().describe("Whether it sends and receives texts"),
    label: z.string().nullable().describe("The company's name for it"),
    ringMode: z
      .enum(["all", "order"])
      .describe("`all`: all phones concurrently; `order`: one after another"),
    ringTo: z
      .array(
        z.object({
          phone: z.string().describe("E.164"),
          name: z.string().nullable().describe("Name of the person"),
        }),
      )
      .describe("The phones that ring; if empty, calls go to voicemail"),
    ringSeconds: z.int().describe("How long they ring; with `order`, how long each rings"),
    screenCalls: z.boolean().describe("Whether the person who answers must press 1"),
    recordCalls: z.boolean().describe("Whether calls are recorded"),
    recordingNotice: z.string().describe("Spoken to both sides before a recording"),
    voicemail: z.boolean().describe("Whether callers can leave a message"),
    voicemailGreeting: z
      .string()
      .nullable()
      .describe("Spoken before a voicemail; null: the default greeting"),
    optOutReply: z
      .string()
      .nullable()
      .describe("Reply to an opt-out sent to this number; null: the reply for all numbers"),
  })
  .meta({ id: "NumberSettings", description: "The settings of a number" })

export const PhoneSettings = z
  .object({
    texting: TextingSettings.describe("Settings for all numbers"),
    numbers: z.array(NumberSettings).describe("The numbers that the company holds"),
  })
  .meta({ id: "PhoneSettings", description: "The settings of texting and numbers" })

/** Builds the reply of the phone settings. */
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

/** The settings of a number; null if its company was erased. */
async function numberSettingsReply(
  { sealing }: Pick<Ports, "sealing">,
  companyId: CompanyId,
  { held, settings }: PhoneSetup["numbers"][number],
): Promise<z.infer<typeof NumberSettings> | null> {
  const unsealOrNull = async (text: SealedText | null) =>
    text === null ? null : sealing.unseal(companyId, text)
  const number = await unsealOrNull(held.number)
  if (number === null) return null
  const { ringMode, ringSeconds, screenCalls, recordCalls, voicemail } = settings
  const [label, notice, greeting, optOutReply, ringTo] = await Promise.all([
    ...([
      unsealOrNull(settings.label),
      unsealOrNull(settings.recordingNotice),
      unsealOrNull(settings.voicemailGreeting),
    ] as const),
    unsealOrNull(settings.optOutReply),
    Promise.all(
      settings.ringTo.map(async ({ phone, name }) => ({
        phone: (await unsealOrNull(phone)) ?? "",
        name: await unsealOrNull(name),
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
