/** How the registration of a company's texting stands, as callers see it. */
import { z } from "zod"

const status = z.enum(["not_sent", "waiting", "action_needed", "rejected", "approved"])

/** How it stands. */
export const RegistrationStatus = z
  .object({
    testMode: z.boolean().describe("Whether registration and numbers are test ones"),
    mock: z.boolean().describe("Whether the built-in carrier serves this installation"),
    overall: status.describe("The worst of all parts"),
    parts: z
      .array(
        z.object({
          part: z.string().describe("`business`, `campaign`, or `number:` and a number's id"),
          status: status.describe("How it stands"),
          reasons: z.array(z.string()).describe("What carriers said"),
        }),
      )
      .describe("What is sent one after the other"),
    calling: status.describe("Whether a number takes calls"),
    paysByCard: z.boolean().describe("Whether the company pays by card"),
  })
  .meta({ id: "RegistrationStatus", description: "How registration of texting stands" })

/** How it stands where nothing was ever sent: the business comes first, then the campaign. */
export function unsentRegistration(standing: {
  readonly mock: boolean
  readonly paysByCard: boolean
  readonly hasVoice: boolean
}): z.infer<typeof RegistrationStatus> {
  const { mock, paysByCard, hasVoice } = standing
  return {
    ...{ testMode: true, mock, overall: "not_sent", paysByCard },
    parts: ["business", "campaign"].map((part) => ({ part, status: "not_sent", reasons: [] })),
    calling: hasVoice ? "approved" : "not_sent",
  }
}
