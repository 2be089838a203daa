/** How a run begins: prices, and companies with a number, funds and limits. */
import { PRICES, ledgerOf } from "../../domain/charging/aggregates.ts"
import { accessOf } from "../../domain/access/aggregates.ts"
import { phoneOf } from "../../domain/phone/aggregates.ts"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import { DEFAULT_BOOK } from "../../domain/charging/price-book.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import type { Ports } from "../../src/frame/ports.ts"
import type { Chance } from "./chance.ts"
import { drawLimit } from "./errands.ts"
import type { Fleet } from "./fleet.ts"
import { plainSealing } from "./sealing.ts"
import type { World } from "./world.ts"

const COMPANIES: readonly CompanyId[] = ["co_aaaaaa", "co_bbbbbb"]
const NUMBER = "+12015550000"
const CALL_MICROS = 700

/** Sets up prices and companies while nothing goes wrong; answers the companies. */
export async function setUp(world: World, fleet: Fleet): Promise<readonly CompanyId[]> {
  const { chance } = world
  const companies = COMPANIES.slice(0, chance.between(1, COMPANIES.length))
  const cause = causedBy("set up")
  await fleet.ask(async ({ ports }) => {
    const prices = DEFAULT_BOOK.map((one) => {
      return one.item === "api_call" ? { ...one, unitPriceMicros: CALL_MICROS } : one
    })
    const open = { type: "OpenPriceBook" as const, prices }
    await ports.runner.execute(PRICES, open, cause)
    for (const companyId of companies) {
      await openAccess(ports, companyId)
      await addNumber(ports, companyId)
      for (const command of beginnings(chance)) {
        await ports.runner.execute(ledgerOf(companyId), command, cause)
      }
    }
  })
  return companies
}

async function openAccess({ runner }: Ports, companyId: CompanyId): Promise<void> {
  const name = await plainSealing.seal(companyId, "company", companyId)
  const opening = { type: "OpenCompany", companyId, name, plan: "payg", pays: "card" } as const
  await runner.execute(accessOf(companyId), opening, causedBy("set up"))
}

async function addNumber({ runner }: Ports, companyId: CompanyId): Promise<void> {
  const number = await plainSealing.seal(companyId, "company", NUMBER)
  const numberTag = await plainSealing.tag(companyId, NUMBER)
  const means = { sms: true, mms: true, voice: true, monthlyMicros: 0, paidThrough: null }
  const place = { kind: "local", locality: null, region: null, test: true } as const
  const held = { numberId: "num_1", number, numberTag, ...means, ...place } as const
  await runner.execute(phoneOf(companyId), { type: "AddNumber", ...held }, causedBy("set up"))
}

function beginnings(chance: Chance): readonly LedgerCommand[] {
  const creditLineMicros = chance.pick([0, 0, 50_000])
  const fundsMicros = chance.pick([40_000, 300_000, 5_000_000])
  const limits = Array.from({ length: chance.between(0, 4) }, () => drawLimit(chance))
  return [
    { type: "OpenLedger", prepaidOnly: chance.happens(0.3), creditLineMicros },
    { type: "AddFunds", amountMicros: fundsMicros, reference: "the first" },
    ...(["key_a1", "key_app"] as const).map((keyId) => ({
      type: "SetPurchaseTerms" as const,
      keyId,
      mode: "on" as const,
      perPurchaseMicros: 5_000_000,
      perMonthMicros: 10_000_000,
    })),
    ...limits.map((limit) => ({ type: "SetLimit" as const, ...limit })),
  ]
}
