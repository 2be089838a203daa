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
    testMode: z.boolean().describe("Whether registration and numbers are in test mode"),
    mock: z.boolean().describe("Whether this installation uses the carrier simulator"),
    balanceMicros: microsSchema.describe("The funds"),
    availableMicros: microsSchema.describe(
      "What this caller may spend, within the funds and every limit",
    ),
    paysByCard: z.boolean().describe("Whether the company pays by card"),
    cardFailing: z.boolean().describe("Whether its card payments fail"),
    nextNumberMicros: microsSchema.describe("Monthly price of another local number"),
    nextTollFreeMicros: microsSchema.describe("Monthly price of another toll-free number"),
    numbers: z.array(PhoneNumber).describe("The numbers that the company holds"),
    pagesPassedAt: isoTimeSchema.nullable().describe("When its pages passed their check, or null"),
    texting: RegistrationStatus.shape.overall.describe("Status of the texting registration"),
    business: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe("The saved business details, or null"),
  })
  .meta({ id: "PhoneState", description: "An overview of the phone" })

/** Reads an overview of the phone, from streams and never from read models. */
export const readPhoneState = route({
  name: "readPhoneState",
  method: "GET",
  url: "/api/v1/phone/state",
  group: "phone",
  summary: "Read an overview of the phone",
  operation: "phone.overview.read",
  isCounted: true,
  reply: State,
  readStreams: [phoneStreamOf, ledgerStreamOf, accessStreamOf, registrationStreamOf],
  handle: async (ports, { companyId, spender }) => {
    const { runner } = ports
    const [held, funds, profile, local, tollFree, texting, saved] = await Promise.all([
      runner.read(phoneStreamOf(companyId), listHeldNumbers),
      runner.read(ledgerStreamOf(companyId), (state, at) => spendableFunds(state, spender, at)),
      runner.read(accessStreamOf(companyId), companyProfileOf),
      unitPrice(ports, "number_month_local"),
      unitPrice(ports, "number_month_toll_free"),
      readRegistrationStatus(ports, companyId),
      readSavedRegistration(ports, companyId),
    ])
    const numbers = await Promise.all(held.map((one) => phoneNumberReply(ports, companyId, one)))
    const paysByCard = profile?.pays === "card"
    const { pagesPassedAt, business } = saved
    return {
      ok: true,
      body: {
        testMode: texting.testMode,
        mock: texting.mock,
        ...funds,
        paysByCard,
        cardFailing: profile?.card?.failing === true,
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

/** The funds, and the part that this caller may spend on anything but AI. */
function spendableFunds(state: LedgerState, spender: Spender, at: number) {
  const { fundsMicros: balanceMicros, creditLineMicros, locked } = accountOf(state)
  const room = applicableLimits(state, spender, "general", at, 0).map((one) => one.remainingMicros)
  const least = Math.min(balanceMicros + creditLineMicros, ...room)
  return { balanceMicros, availableMicros: locked ? 0 : Math.max(0, least) }
}
