/** How a run begins: prices, and companies with a number, funds and limits. */
import { accessStream } from "../../domain/access/access.ts"
import { ledgerStream } from "../../domain/charging/ledger.ts"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import { DEFAULT_BOOK, PRICES_STREAM } from "../../domain/charging/price-book.ts"
import { phoneStream } from "../../domain/phone/phone.ts"
import { ACCESS, LEDGER, PHONE, PRICES } from "../../src/frame/writer/aggregates.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import type { Ports } from "../../src/frame/ports.ts"
import type { Chance } from "./chance.ts"
import { drawLimit } from "./errands.ts"
import type { Fleet } from "./fleet.ts"
import { plainSealing } from "./sealing.ts"
import type { World } from "./world.ts"

const COMPANIES = ["co_aaaaaa", "co_bbbbbb"]
const NUMBER = "+12015550000"
const CALL_MICROS = 700

/** Sets up prices and companies while nothing goes wrong; answers the companies. */
export async function setUp(world: World, fleet: Fleet): Promise<readonly string[]> {
  const { chance } = world
  const companies = COMPANIES.slice(0, chance.between(1, COMPANIES.length))
  const execution = { cause: causedBy("set up"), view: () => undefined }
  await fleet.ask(async ({ ports }) => {
    const prices = DEFAULT_BOOK.map((one) => {
      return one.item === "api_call" ? { ...one, unitPriceMicros: CALL_MICROS } : one
    })
    const open = { type: "OpenPriceBook" as const, prices }
    await ports.runner.execute(PRICES, PRICES_STREAM, open, execution)
    for (const companyId of companies) {
      await openAccess(ports, companyId)
      await addNumber(ports, companyId)
      for (const command of beginnings(chance)) {
        await ports.runner.execute(LEDGER, ledgerStream(companyId), command, execution)
      }
    }
  })
  return companies
}

async function openAccess({ runner }: Ports, companyId: string): Promise<void> {
  const name = await plainSealing.seal(companyId, "company", companyId)
  const execution = { cause: causedBy("set up"), view: () => undefined }
  const opening = { type: "OpenCompany", companyId, name, plan: "payg", pays: "card" } as const
  await runner.execute(ACCESS, accessStream(companyId), opening, execution)
}

async function addNumber({ runner }: Ports, companyId: string): Promise<void> {
  const number = await plainSealing.seal(companyId, "company", NUMBER)
  const numberTag = await plainSealing.tag(companyId, NUMBER)
  const means = { sms: true, mms: true, voice: true, monthlyMicros: 0, paidThrough: null }
  const place = { kind: "local", locality: null, region: null, test: true } as const
  const held = { numberId: "num_1", number, numberTag, ...means, ...place }
  const execution = { cause: causedBy("set up"), view: () => undefined }
  await runner.execute(PHONE, phoneStream(companyId), { type: "AddNumber", ...held }, execution)
}

function beginnings(chance: Chance): readonly LedgerCommand[] {
  const creditLineMicros = chance.pick([0, 0, 50_000])
  const fundsMicros = chance.pick([40_000, 300_000, 5_000_000])
  const limits = Array.from({ length: chance.between(0, 4) }, () => drawLimit(chance))
  return [
    { type: "OpenLedger", prepaidOnly: chance.happens(0.3), creditLineMicros },
    { type: "AddFunds", amountMicros: fundsMicros, reference: "the first" },
    ...["key_a1", "key_app"].map((keyId) => ({
      type: "SetPurchaseTerms" as const,
      keyId,
      mode: "on" as const,
      perPurchaseMicros: 5_000_000,
      perMonthMicros: 10_000_000,
    })),
    ...limits.map((limit) => ({ type: "SetLimit" as const, ...limit })),
  ]
}
