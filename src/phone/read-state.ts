/** `GET /api/v1/phone/state`: the phone at a glance, from streams and never from read models. */
import { z } from "zod"
import { accessOf } from "../../domain/access/aggregates.ts"
import { companyStanding } from "../../domain/access/access.ts"
import { ledgerOf } from "../../domain/charging/aggregates.ts"
import type { Ledger } from "../../domain/charging/ledger-state.ts"
import { accountOf, limitsFor } from "../../domain/charging/ledger-views.ts"
import type { Spender } from "../../domain/charging/limits.ts"
import { phoneOf } from "../../domain/phone/aggregates.ts"
import { heldNumbers } from "../../domain/phone/phone-views.ts"
import { registrationOf } from "../../domain/registration/aggregates.ts"
import { route } from "../frame/routes/declare/route.ts"
import { priceOfOne } from "../frame/effects/price.ts"
import { isoTime, micros } from "../frame/kernel/schema.ts"
import { PhoneNumber, numberAnswer } from "./number-record.ts"
import { savedOf } from "../registration/saved.ts"
import { RegistrationStatus, registrationStatus } from "../registration/status.ts"

const State = z
  .object({
    testMode: z.boolean().describe("Whether registration and numbers are test ones"),
    mock: z.boolean().describe("Whether the built-in carrier serves this installation"),
    balanceMicros: micros.describe("The funds"),
    availableMicros: micros.describe("What this caller may spend: funds, and room in every limit"),
    paysByCard: z.boolean().describe("Whether the company pays by card"),
    cardFailing: z.boolean().describe("Whether its card was refused"),
    nextNumberMicros: micros.describe("What a month of another local number costs"),
    nextTollFreeMicros: micros.describe("What a month of another toll-free number costs"),
    numbers: z.array(PhoneNumber).describe("Each number that the company holds"),
    pagesPassedAt: isoTime.nullable().describe("When its pages passed their check; null: never"),
    texting: RegistrationStatus.shape.overall.describe("How registration of texting stands"),
    business: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe("What was saved; null: nothing"),
  })
  .meta({ id: "PhoneState", description: "The phone at a glance" })

/** The route. */
export const readState = route({
  name: "readPhoneState",
  method: "GET",
  url: "/api/v1/phone/state",
  group: "phone",
  summary: "Read the phone at a glance",
  operation: "phone.overview.read",
  counted: true,
  reply: State,
  looks: [phoneOf, ledgerOf, accessOf, registrationOf],
  handle: async (ports, { companyId, spender }) => {
    const { runner } = ports
    const [held, funds, standing, local, tollFree, texting, saved] = await Promise.all([
      runner.read(phoneOf(companyId), heldNumbers),
      runner.read(ledgerOf(companyId), (state, at) => spendable(state, spender, at)),
      runner.read(accessOf(companyId), companyStanding),
      priceOfOne(ports, "number_month_local"),
      priceOfOne(ports, "number_month_toll_free"),
      registrationStatus(ports, companyId),
      savedOf(ports, companyId),
    ])
    const numbers = await Promise.all(held.map((one) => numberAnswer(ports, companyId, one)))
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
function spendable(state: Ledger, spender: Spender, at: number) {
  const { fundsMicros: balanceMicros, creditLineMicros, locked } = accountOf(state)
  const room = limitsFor(state, spender, "general", at, 0).map((one) => one.remainingMicros)
  const least = Math.min(balanceMicros + creditLineMicros, ...room)
  return { balanceMicros, availableMicros: locked ? 0 : Math.max(0, least) }
}
