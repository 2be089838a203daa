/** `GET /api/v1/phone/state`: the phone at a glance, from streams and never from read models. */
import { z } from "zod"
import { accessStreamOf } from "../../domain/access/aggregates.ts"
import { companyProfileOf } from "../../domain/access/access.ts"
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import type { LedgerState } from "../../domain/charging/ledger-state.ts"
import { accountOf, applicableLimits } from "../../domain/charging/ledger-views.ts"
import type { Spender } from "../../domain/charging/limits.ts"
import { phoneStreamOf } from "../../domain/phone/aggregates.ts"
import { listHeldNumbers } from "../../domain/phone/phone-views.ts"
import { registrationStreamOf } from "../../domain/registration/aggregates.ts"
import { route } from "../frame/routes/declare/route.ts"
import { unitPrice } from "../frame/effects/price.ts"
import { isoTimeSchema, microsSchema } from "../frame/kernel/schema.ts"
import { PhoneNumber, phoneNumberReply } from "./number-reply.ts"
import { readSavedRegistration } from "../registration/saved-registration.ts"
import { RegistrationStatus, readRegistrationStatus } from "../registration/registration-status.ts"

const State = z
  .object({
    testMode: z.boolean().describe("Whether registration and numbers are test ones"),
    mock: z.boolean().describe("Whether the built-in carrier serves this installation"),
    balanceMicros: microsSchema.describe("The funds"),
    availableMicros: microsSchema.describe(
      "What this caller may spend: funds, and room in every limit",
    ),
    paysByCard: z.boolean().describe("Whether the company pays by card"),
    cardFailing: z.boolean().describe("Whether its card was refused"),
    nextNumberMicros: microsSchema.describe("What a month of another local number costs"),
    nextTollFreeMicros: microsSchema.describe("What a month of another toll-free number costs"),
    numbers: z.array(PhoneNumber).describe("Each number that the company holds"),
    pagesPassedAt: isoTimeSchema
      .nullable()
      .describe("When its pages passed their check; null: never"),
    texting: RegistrationStatus.shape.overall.describe("How registration of texting stands"),
    business: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe("What was saved; null: nothing"),
  })
  .meta({ id: "PhoneState", description: "The phone at a glance" })

/** The route. */
export const readPhoneState = route({
  name: "readPhoneState",
  method: "GET",
  url: "/api/v1/phone/state",
  group: "phone",
  summary: "Read the phone at a glance",
  operation: "phone.overview.read",
  isCounted: true,
  reply: State,
  readStreams: [phoneStreamOf, ledgerStreamOf, accessStreamOf, registrationStreamOf],
  handle: async (ports, { companyId, spender }) => {
    const { runner } = ports
    const [held, funds, standing, local, tollFree, texting, saved] = await Promise.all([
      runner.read(phoneStreamOf(companyId), listHeldNumbers),
      runner.read(ledgerStreamOf(companyId), (state, at) => spendableFunds(state, spender, at)),
      runner.read(accessStreamOf(companyId), companyProfileOf),
      unitPrice(ports, "number_month_local"),
      unitPrice(ports, "number_month_toll_free"),
      readRegistrationStatus(ports, companyId),
      readSavedRegistration(ports, companyId),
    ])
    const numbers = await Promise.all(held.map((one) => phoneNumberReply(ports, companyId, one)))
    const paysByCard = standing?.pays === "card"
    const { pagesPassedAt, business } = saved
    return {
      ok: true,
      body: {
        testMode: texting.testMode,
        mock: texting.mock,
        ...funds,
        paysByCard,
        cardFailing: standing?.card?.failing === true,
        nextNumberMicros: local.unitPriceMicros,
        nextTollFreeMicros: tollFree.unitPriceMicros,
        numbers: numbers.filter((one) => one !== null),
        pagesPassedAt: pagesPassedAt === null ? null : new Date(pagesPassedAt).toISOString(),
        texting: texting.overall,
        business,
      },
    }
  },
})

/** The funds, and what of them this caller may spend on what is no AI. */
function spendableFunds(state: LedgerState, spender: Spender, at: number) {
  const { fundsMicros: balanceMicros, creditLineMicros, locked } = accountOf(state)
  const room = applicableLimits(state, spender, "general", at, 0).map((one) => one.remainingMicros)
  const least = Math.min(balanceMicros + creditLineMicros, ...room)
  return { balanceMicros, availableMicros: locked ? 0 : Math.max(0, least) }
}
