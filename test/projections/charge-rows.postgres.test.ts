import { beforeEach, describe, expect, it } from "vitest"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import { dayStart, monthEnd } from "../../domain/kernel/window.ts"
import type { CompanyId, PurchaseId } from "../../domain/kernel/ids.ts"
import type { ChargeRow } from "../../projections/charging/charges.ts"
import {
  companiesOfCharge,
  findCharge,
  listPendingCharges,
  refundableChargeOf,
  selectChargeRows,
} from "../../projections/charging/charges.ts"
import { type Company, makeCompany, sharedWorld } from "../support/world.ts"
import { executeCommands, callsCommandFor } from "./ledger-requests.ts"
import { chargeCommandFor } from "./every-fact.ts"
import { findAccountTerms, listAccounts } from "../../projections/charging/accounts.ts"
import { listApiCallCounters } from "../../projections/charging/api-calls.ts"
import { findPurchase } from "../../projections/charging/purchases.ts"

const world = await sharedWorld({ rateLimits: "off", calls: "free", clock: "forward" })
const db = world.ports.readAll
let company: Company

beforeEach(async () => {
  company = await makeCompany(world)
})

const run = (...commands: readonly LedgerCommand[]) => executeCommands(world, company, ...commands)
const now = () => world.ports.clock.now()

/** The company's newest rows, in decision order. */
async function rowsOf(limit: number): Promise<readonly ChargeRow[]> {
  const rows = selectChargeRows(db).where("company_id", "=", company.companyId)
  return rows.orderBy("revision").limit(limit).execute()
}

/** The bill's lines after the opening funds, without empty fields. */
async function lines() {
  const rows = await rowsOf(1_000)
  return rows
    .slice(1)
    .map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)))
}

describe("charges", () => {
  it("have a line with its own kind for each change of the funds", async () => {
    const { keyId, ownerId } = company
    const mode = { mode: "on", perPurchaseMicros: 9_000_000, perMonthMicros: 9_000_000 } as const
    const purchaseId = "pur_1"
    const purchase = { purchaseId, keyId, personId: ownerId, amountMicros: 5_000_000 } as const
    await run(
      { type: "CorrectFunds", amountMicros: -7, reason: "counted twice" },
      { type: "SetPurchaseTerms", keyId, ...mode },
      { type: "StartPurchase", ...purchase },
    )
    expect(await lines()).toHaveLength(1)
    const rent = { item: "number_month_local", unitPriceMicros: 1, amountMicros: 1 }
    await run(
      { type: "PayPurchase", purchaseId: "pur_1", paymentId: "pay_1" },
      chargeCommandFor({
        chargeId: "num_1:2026-12",
        via: "company",
        keyId: null,
        personId: null,
        ...rent,
      }),
      { type: "AddFunds", amountMicros: 3, reference: "invoice 7" },
      chargeCommandFor({ chargeId: "chg_x", item: "api_call" }),
    )
    expect(await lines()).toMatchObject([
      { kind: "funds_corrected", amount_micros: -7, note: "counted twice" },
      {
        kind: "purchase",
        amount_micros: 5_000_000,
        key_id: keyId,
        person_id: ownerId,
        resource: "pur_1",
        note: "pay_1",
      },
      { kind: "rent", charge_id: "num_1:2026-12", amount_micros: -1, state: "final" },
      { kind: "funds_added", amount_micros: 3, note: "invoice 7" },
      // A charge with this id was not made by counting calls: it is an ordinary charge.
      { kind: "charge", charge_id: "chg_x", item: "api_call", state: "final" },
    ])
  })

  it("record when calls were served, so that a refund counts in the same window", async () => {
    const { companyId, keyId, ownerId } = company
    const day = dayStart(now())
    await run(callsCommandFor(company, 4, day))
    await world.operate("clock advance", { duration: "2d" })
    const chargeId = `${keyId}:${ownerId}:${new Date(day).toISOString().slice(0, 10)}`
    const row = await findCharge(db, companyId, chargeId)
    if (row === null) throw new Error("the calls were not charged")
    expect(row).toMatchObject({
      kind: "api_calls",
      item: "api_call",
      quantity: 4,
      unit_price_micros: 100,
      amount_micros: -400,
      state: "final",
      served_from: new Date(day),
    })
    expect(refundableChargeOf(row)).toEqual({
      charge: {
        chargeId,
        amountMicros: 400,
        countedAt: day,
        via: "own_key",
        keyId,
        personId: ownerId,
        class: "general",
        item: "api_call",
        resource: null,
      },
      refundableMicros: 400,
    })
  })

  it("that are pending are listed for one company or for all, oldest first", async () => {
    const first = company
    await run(chargeCommandFor({ chargeId: "chg_one", isPending: true, resource: "msg_1" }))
    await world.operate("clock advance", { duration: "1m" })
    company = await makeCompany(world)
    await run(
      chargeCommandFor({ chargeId: "chg_two", isPending: true }),
      chargeCommandFor({ chargeId: "chg_three", isPending: true }),
      chargeCommandFor({ chargeId: "chg_final" }),
      { type: "SettleCharges", chargeIds: ["chg_two"] },
    )
    const open = async (companyId: CompanyId | null) =>
      (await listPendingCharges(db, companyId)).map((row) => row.charge_id)
    expect(await open(first.companyId)).toEqual(["chg_one"])
    expect(await open(company.companyId)).toEqual(["chg_three"])
    expect((await open(null)).slice(-2)).toEqual(["chg_one", "chg_three"])
    expect((await listPendingCharges(db, first.companyId))[0]).toMatchObject({
      at: new Date(now() - 60_000),
      item: "text_segment",
      resource: "msg_1",
      amount_micros: -9_000,
    })
    expect(await companiesOfCharge(db, "chg_one")).toEqual([first.companyId])
    expect(await companiesOfCharge(db, "chg_none")).toEqual([])
  })

  it("give no refund data for a row that is not a charge", async () => {
    const [funds] = await rowsOf(1)
    if (funds === undefined) throw new Error("the opening funds are not shown")
    expect(() => refundableChargeOf(funds)).toThrow(RangeError)
  })
})

const DAY = 86_400_000

// The middle of a month, so that the next day is in the same month.
const midMonth = monthEnd(world.ports.clock.now()) + 9.5 * DAY
await world.operate("clock set", { to: new Date(midMonth).toISOString() })
const days = async (input: object = {}) =>
  world.operate("charge days", { company: company.companyId, ...input })

const nameOf = (at: number) => new Date(at).toISOString().slice(0, 10)

describe("charge days", () => {
  it("are the charges of each UTC day and item, minus refunds", async () => {
    const day = nameOf(world.ports.clock.now())
    const month = day.slice(0, 7)
    expect(await days()).toEqual({
      month,
      days: [],
      chargedMicros: 0,
      refundedMicros: 0,
      netMicros: 0,
      charges: 0,
    })
    const { companyId } = company
    const spent = { company: companyId, class: "ai", item: "chat" }
    await world.operate("charge", { ...spent, dollars: "0.5", id: "first" })
    await world.operate("charge", { ...spent, dollars: "0.1", person: company.ownerId })
    await executeCommands(
      world,
      company,
      chargeCommandFor({ chargeId: "chg_text", keyId: company.keyId }),
    )
    await world.operate("clock advance", { duration: "1d" })
    await world.operate("charge", { ...spent, dollars: "0.2" })
    // A refund on the next day counts on the day of its charge.
    await world.operate("charge refund", { chargeId: "first", dollars: "0.3" }, "a test")
    const next = nameOf(world.ports.clock.now())
    const chat = { item: "chat", refundedMicros: 0 }
    const ofDay = { ...chat, day, chargedMicros: 600_000, charges: 2 }
    const wanted = [
      { ...ofDay, refundedMicros: 300_000, netMicros: 300_000 },
      {
        day,
        item: "text_segment",
        chargedMicros: 9_000,
        refundedMicros: 0,
        netMicros: 9_000,
        charges: 1,
      },
      { ...chat, day: next, chargedMicros: 200_000, netMicros: 200_000, charges: 1 },
    ]
    expect(await days({ month })).toEqual({
      month,
      days: wanted,
      chargedMicros: 809_000,
      refundedMicros: 300_000,
      netMicros: 509_000,
      charges: 4,
    })
    expect((await days({ month, item: "text" })).days).toEqual([wanted[1]])
    expect((await days({ month, class: "general" })).days).toEqual([wanted[1]])
    expect((await days({ month, key: company.keyId })).days).toEqual([wanted[1]])
    expect((await days({ month, person: company.ownerId })).charges).toBe(1)
    expect((await days({ month: "2020-12" })).days).toEqual([])
    await expect(days({ item: "an unknown item" })).rejects.toMatchObject({ code: "not_found" })
  })

  it("show API calls on the day they were made, once they are charged", async () => {
    const served = dayStart(world.ports.clock.now())
    await executeCommands(world, company, callsCommandFor(company, 5, served))
    const month = nameOf(served).slice(0, 7)
    expect((await days({ month })).days).toEqual([])
    await world.operate("clock advance", { duration: "1d" })
    await world.operate("wait")
    expect((await days({ month })).days).toMatchObject([
      { day: nameOf(served), item: "api_call", chargedMicros: 500, charges: 1 },
    ])
  })
})

describe("a key's last use", () => {
  const used = async () => {
    const { keys } = await world.operate("key list", { company: company.companyId })
    return (keys as readonly { readonly lastUsedAt: string | null }[]).map((one) => one.lastUsedAt)
  }

  it("is its newest charge or call, listed with its spending this month", async () => {
    expect(await used()).toEqual([null])
    const { keyId, ownerId: personId } = company
    const called = world.ports.clock.now()
    await executeCommands(world, company, callsCommandFor(company, 5, dayStart(called)))
    expect(await used()).toEqual([new Date(called).toISOString()])
    await world.operate("clock advance", { duration: "1h" })
    const charged = new Date(world.ports.clock.now()).toISOString()
    await executeCommands(world, company, chargeCommandFor({ chargeId: "chg_1", keyId, personId }))
    expect(await used()).toEqual([charged])
    const { keys } = await world.operate("key list", { company: company.companyId })
    expect(keys).toMatchObject([{ keyId, lastUsedAt: charged, spentThisMonthMicros: 9_500 }])
    await world.operate("clock advance", { duration: "40d" })
    const { keys: later } = await world.operate("key list", { company: company.companyId })
    expect(later).toMatchObject([{ lastUsedAt: charged, spentThisMonthMicros: 0 }])
  })

  it("is the end of the previous day if its calls are stored after midnight", async () => {
    const yesterday = dayStart(world.ports.clock.now()) - DAY
    await executeCommands(world, company, callsCommandFor(company, 1, yesterday))
    expect(await used()).toEqual([new Date(yesterday + DAY - 1).toISOString()])
  })
})

describe("accounts", () => {
  it("have one balance each", async () => {
    const { companyId } = company
    await run(
      chargeCommandFor({ chargeId: "chg_1" }),
      chargeCommandFor({ chargeId: "chg_2", class: "ai", item: "tokens" }),
      { type: "CorrectFunds", amountMicros: -7, reason: "counted twice" },
    )
    const balances = (await listAccounts(db, companyId)).map((row) => [
      row.account,
      row.balance_micros,
    ])
    expect(balances).toEqual([
      ["corrections", 7],
      ["credits", -50_000_000],
      ["funds", 50_000_000 - 18_007],
      ["spending:ai:tokens", 9_000],
      ["spending:general:text_segment", 9_000],
    ])
    expect(await findAccountTerms(db, "co_none")).toBeNull()
  })
})

describe("purchases", () => {
  it("have one row each, from start to end", async () => {
    const { companyId, keyId } = company
    const terms = { mode: "on", perPurchaseMicros: 9_000_000, perMonthMicros: 20_000_000 } as const
    const start = (purchaseId: PurchaseId): LedgerCommand => {
      return { type: "StartPurchase", purchaseId, keyId, personId: null, amountMicros: 5_000_000 }
    }
    await run({ type: "SetPurchaseTerms", keyId, ...terms }, start("pur_b"), start("pur_c"))
    const began = now()
    await run(
      { type: "OrderPurchase", purchaseId: "pur_b", paymentId: "pay_b" },
      { type: "FailPurchase", purchaseId: "pur_b", code: "declined", paymentId: null },
      { type: "OrderPurchase", purchaseId: "pur_c", paymentId: "pay_c" },
    )
    const pending = await findPurchase(db, companyId, "pur_c")
    expect(pending).toMatchObject({ state: "pending", payment_id: "pay_c", ended_at: null })
    await world.operate("clock advance", { duration: "1s" })
    await run({ type: "PayPurchase", purchaseId: "pur_c", paymentId: "pay_c" })
    expect(await findPurchase(db, companyId, "pur_c")).toEqual({
      company_id: companyId,
      purchase_id: "pur_c",
      key_id: keyId,
      person_id: null,
      amount_micros: 5_000_000,
      state: "paid",
      started_at: new Date(began),
      ended_at: new Date(now()),
      payment_id: "pay_c",
      code: null,
    })
    expect(await findPurchase(db, companyId, "pur_b")).toMatchObject({
      state: "failed",
      code: "declined",
      payment_id: "pay_b",
    })
    expect(await findPurchase(db, companyId, "pur_none")).toBeNull()
  })
})

describe("api-calls", () => {
  it("sum each key's and person's calls of a day, with the time they were charged", async () => {
    const { companyId, keyId, ownerId } = company
    const [yesterday, day] = [dayStart(now()), dayStart(now()) + DAY]
    const rows = async (of: string | null = null) =>
      (await listApiCallCounters(db, companyId, of)).map((row) => [
        row.day,
        row.person_id,
        row.calls,
        row.unit_price_micros,
        row.charged_at?.getTime() ?? null,
      ])
    await run(callsCommandFor(company, 2, yesterday), callsCommandFor(company, 3, yesterday))
    expect(await rows()).toEqual([[nameOf(yesterday), ownerId, 5, 100, null]])
    await world.operate("clock advance", { duration: "1d" })
    const shared = { via: "app_key", keyId, personId: null, calls: 7 } as const
    const price = { unitPriceMicros: 200, priceVersion: 2 }
    await run(callsCommandFor(company, 4, day), {
      type: "RecordApiCalls",
      day,
      ...price,
      counters: [shared],
    })
    const chargedAt = yesterday + DAY + 10 * 60_000
    // The price of the day's first call applies to all calls of the day.
    const ofDay = [
      [nameOf(day), "", 7, 100, null],
      [nameOf(day), ownerId, 4, 100, null],
    ]
    expect(await rows()).toEqual([...ofDay, [nameOf(yesterday), ownerId, 5, 100, chargedAt]])
    expect(await rows(nameOf(day))).toEqual(ofDay)
    expect(await rows("2000-01-01")).toEqual([])
    expect(await listApiCallCounters(db, "co_none", null)).toEqual([])
  })
})
