import { z } from "zod"
import { companyProfileOf } from "../../domain/access/access.ts"
import { accessStreamOf } from "../../domain/access/aggregates.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { phoneStreamOf } from "../../domain/phone/aggregates.ts"
import type { HeldNumber } from "../../domain/phone/phone-views.ts"
import { listHeldNumbers } from "../../domain/phone/phone-views.ts"
import { registrationStreamOf } from "../../domain/registration/aggregates.ts"
import { summarizeRegistration } from "../../domain/registration/registration-views.ts"
import { route } from "../frame/routes/declare/route.ts"
import type { Ports } from "../frame/ports.ts"
import { unsealReasons } from "./review-reasons.ts"

const status = z.enum(["not_sent", "waiting", "action_needed", "rejected", "approved"])

export const RegistrationStatus = z
  .object({
    testMode: z.boolean().describe("Whether registration and numbers are in test mode"),
    mock: z.boolean().describe("Whether this installation uses the carrier simulator"),
    overall: status.describe("The worst status of all parts that can be sent"),
    parts: z
      .array(
        z.object({
          part: z.string().describe("`business`, `campaign`, or `number:` and a number's id"),
          status: status.describe("Status of the part"),
          reasons: z.array(z.string()).describe("The carriers' reasons"),
        }),
      )
      .describe("The parts, in the order of sending"),
    calling: status.describe("`approved` if a number takes calls"),
    paysByCard: z.boolean().describe("Whether the company pays by card"),
  })
  .meta({ id: "RegistrationStatus", description: "The status of the texting registration" })

export type RegistrationStatus = z.infer<typeof RegistrationStatus>

/** The numbers that are part of a registration: those that text, without test numbers in live mode. */
export function numbersToRegister(
  held: readonly HeldNumber[],
  { testMode }: { readonly testMode: boolean },
): readonly HeldNumber[] {
  return held.filter(({ sms, test }) => sms && (testMode || !test))
}

/** Reads the registration status from the streams. */
export async function readRegistrationStatus(
  ports: Pick<Ports, "carrier" | "runner" | "sealing">,
  companyId: CompanyId,
): Promise<RegistrationStatus> {
  const { runner, carrier } = ports
  const [held, access] = await Promise.all([
    runner.read(phoneStreamOf(companyId), listHeldNumbers),
    runner.read(accessStreamOf(companyId), companyProfileOf),
  ])
  const { testMode, overall, parts } = await runner.read(
    registrationStreamOf(companyId),
    (state) => {
      const numbers = numbersToRegister(held, state)
      return summarizeRegistration(
        state,
        numbers.map(({ numberId }) => numberId),
      )
    },
  )
  const shown = parts.map(async ({ reasons, ...part }) => {
    return { ...part, reasons: [...(await unsealReasons(ports, companyId, reasons))] }
  })
  return {
    testMode,
    mock: carrier.isSimulator,
    overall,
    parts: await Promise.all(shown),
    calling: held.some(({ voice }) => voice) ? "approved" : "not_sent",
    paysByCard: access?.pays === "card",
  }
}

export const readRegistration = route({
  name: "readRegistration",
  method: "GET",
  url: "/api/v1/phone/registration",
  group: "phone",
  summary: "Read the status of the texting registration",
  operation: "phone.overview.read",
  isCounted: true,
  reply: RegistrationStatus,
  readStreams: [registrationStreamOf, phoneStreamOf, accessStreamOf],
  handle: async (ports, { companyId }) => ({
    ok: true,
    body: await readRegistrationStatus(ports, companyId),
  }),
})
