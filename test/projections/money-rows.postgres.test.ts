import { beforeEach, describe, expect, it } from "vitest"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import { dayStart, monthEnd, monthStart } from "../../domain/kernel/window.ts"
import type { PurchaseId } from "../../domain/kernel/ids.ts"
import { accountTerms, listAccounts } from "../../projections/charging/accounts.ts"
import { listCallTallies } from "../../projections/charging/api-calls.ts"
import { limitStandings } from "../../projections/charging/limits.ts"
import { closedMonths } from "../../projections/charging/months.ts"
import { findPurchase, purchaseAllowance } from "../../projections/charging/purchases.ts"
import { listReminders } from "../../projections/charging/reminders.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, sharedWorld } from "../support/world.ts"
import { ask, counted } from "./asking.ts"
import { charging } from "./every-fact.ts"

const world = await sharedWorld({ rateLimits: "off", calls: "free", clock: "forward" })
const db = world.ports.readAll
let company: Company
beforeEach(async () => {
  company = await makeCompany(world)
})

const run = (...commands: readonly LedgerCommand[]) => ask(world, company, ...commands)
const now = () => world.ports.clock.now()
const DAY = 86_400_000
const nameOf = (day: number) => new Date(day).toISOString().slice(0, 10)

describe("accounts", () => {
  it("have a balance each and the terms as they stand", async () => {
    const { companyId } = company
    await run(
      charging({ chargeId: "chg_1" }),
      charging({ chargeId: "chg_2", class: "ai", item: "tokens" }),
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
    const terms = { company_id: companyId, prepaid_only: false, credit_line_micros: 0 }
    const standing = { locked: false, closed: false }
    expect(await accountTerms(db, companyId)).toEqual({ ...terms, ...standing })
    await run(
      { type: "ChangeTerms", prepaidOnly: true, creditLineMicros: 5 },
      { type: "LockAccount" },
      { type: "CloseLedger" },
    )
    expect(await accountTerms(db, companyId)).toEqual({
      company_id: companyId,
      prepaid_only: true,
      credit_line_micros: 5,
      locked: true,
      closed: true,
    })
    await run({ type: "ReopenLedger" }, { type: "UnlockAccount" })
    expect(await accountTerms(db, companyId)).toMatchObject({ locked: false, closed: false })
    expect(await accountTerms(db, "co_none")).toBeNull()
  })
})

describe("purchases", () => {
  it("take their allowance in the month in which they begin, whenever they end", async () => {
    const { companyId, keyId } = company
    const terms = { perPurchaseMicros: 9_000_000, perMonthMicros: 20_000_000 }
    const allowance = async () => purchaseAllowance(db, companyId, keyId, now())
    const nextMonth = monthEnd(now())
    const moveTo = (at: number) => world.operate("clock set", { to: new Date(at).toISOString() })
    // No longer than a purchase may be pending before the processor is asked about it.
    await moveTo(nextMonth - 1_000)
    expect(await allowance()).toBeNull()
    await run({ type: "SetPurchaseTerms", keyId, mode: "off", ...terms })
    await run({ type: "SetPurchaseTerms", keyId, mode: "on", ...terms })
    const nothing = { mode: "on", ...terms, paidMicros: 0, pendingMicros: 0 }
    expect(await allowance()).toEqual(nothing)
    const start = (purchaseId: PurchaseId): LedgerCommand => {
      return { type: "StartPurchase", purchaseId, keyId, personId: null, amountMicros: 5_000_000 }
    }
    await run(start("pur_a"), start("pur_b"), start("pur_c"))
    expect(await allowance()).toEqual({ ...nothing, pendingMicros: 15_000_000 })
    const began = now()
    await run(
      { type: "PayPurchase", purchaseId: "pur_a", paymentId: "pay_a" },
      { type: "OrderPurchase", purchaseId: "pur_b", paymentId: "pay_b" },
      { type: "FailPurchase", purchaseId: "pur_b", code: "declined", paymentId: null },
      { type: "OrderPurchase", purchaseId: "pur_c", paymentId: "pay_c" },
    )
    const half = { ...nothing, paidMicros: 5_000_000, pendingMicros: 5_000_000 }
    expect(await allowance()).toEqual(half)
    const pending = await findPurchase(db, companyId, "pur_c")
    expect(pending).toMatchObject({ state: "pending", payment_id: "pay_c", ended_at: null })
    await moveTo(nextMonth)
    expect(await allowance()).toEqual(nothing)
    await run({ type: "PayPurchase", purchaseId: "pur_c", paymentId: "pay_c" })
    expect(await allowance()).toEqual(nothing)
    await run(start("pur_d"))
    expect(await allowance()).toEqual({ ...nothing, pendingMicros: 5_000_000 })
    const former = await purchaseAllowance(db, companyId, keyId, began)
    expect(former).toEqual({ ...nothing, paidMicros: 10_000_000 })
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
    // The tests that follow begin in the middle of a day.
    await moveTo(nextMonth + 12 * 3_600_000)
  })
})

describe("api-calls", () => {
  it("sum each key's and person's calls of a day, and say when they were charged", async () => {
    const { companyId, keyId, ownerId } = company
    const [yesterday, day] = [dayStart(now()), dayStart(now()) + DAY]
    const rows = async (of: string | null = null) =>
      (await listCallTallies(db, companyId, of)).map((row) => [
        row.day,
        row.person_id,
        row.calls,
        row.unit_price_micros,
        row.charged_at?.getTime() ?? null,
      ])
    await run(counted(company, 2, yesterday), counted(company, 3, yesterday))
    expect(await rows()).toEqual([[nameOf(yesterday), ownerId, 5, 100, null]])
    await world.operate("clock advance", { duration: "1d" })
    const shared = { via: "shared_key", keyId, personId: null, calls: 7 } as const
    const price = { unitPriceMicros: 200, priceVersion: 2 }
    await run(counted(company, 4, day), { type: "RecordCalls", day, ...price, tallies: [shared] })
    const chargedAt = yesterday + DAY + 10 * 60_000
    // The day's first call says what the day's calls cost.
    const ofDay = [
      [nameOf(day), "", 7, 100, null],
      [nameOf(day), ownerId, 4, 100, null],
    ]
    expect(await rows()).toEqual([...ofDay, [nameOf(yesterday), ownerId, 5, 100, chargedAt]])
    expect(await rows(nameOf(day))).toEqual(ofDay)
    expect(await rows("2000-01-01")).toEqual([])
    expect(await listCallTallies(db, "co_none", null)).toEqual([])
  })
})

describe("reminders", () => {
  it("are listed newest first, with the limit as it stood", async () => {
    const { companyId, keyId } = company
    const holder = { holder: "key", holderId: keyId, class: "all" } as const
    const limit = { ...holder, period: "month", amountMicros: 20_000, leaveKeysOut: false } as const
    const spend = (chargeId: string) =>
      charging({ chargeId, keyId, personId: company.ownerId, via: "own_key" })
    await run(
      { type: "SetLimit", ...limit, remindersMicros: [18_000, 9_000] },
      spend("chg_1"),
      spend("chg_2"),
    )
    const at = new Date(now())
    const row = {
      company_id: companyId,
      at,
      holder: "key",
      holder_id: keyId,
      class: "all",
      period: "month",
      limit_micros: 20_000,
      window_start: new Date(monthStart(now())),
      revision: expect.any(Number),
      resets_at: expect.any(Date),
    }
    const both = [
      { ...row, reminder_micros: 18_000, used_micros: 18_000 },
      { ...row, reminder_micros: 9_000, used_micros: 9_000 },
    ]
    expect(await listReminders(db, companyId, 10)).toEqual(both)
    expect(await listReminders(db, companyId, 1)).toEqual(both.slice(0, 1))
    expect(await limitStandings(db, companyId, now())).toMatchObject([
      { holder: "key", remindersMicros: [18_000, 9_000], usedMicros: 18_000 },
    ])
  })
})

describe("months", () => {
  it("are closed one by one, also for a company in which nothing happened", async () => {
    const { companyId } = company
    await run(charging({ chargeId: "chg_1" }))
    const [began] = [monthStart(now())]
    await world.operate("clock advance", { duration: "70d" })
    const closed = await closedMonths(db, companyId)
    const first = { month: nameOf(began).slice(0, 7), charges: 1, charged_micros: 9_000 }
    expect(closed.slice(0, 2)).toMatchObject([
      { ...first, opening_micros: 0, added_micros: 50_000_000, funds_micros: 49_991_000 },
      { opening_micros: 49_991_000, added_micros: 0, charges: 0, funds_micros: 49_991_000 },
    ])
    expect(closed[0]?.head_hash).toMatch(/^[0-9a-f]{64}$/)
    expect(closed.map(({ month }) => month)).toEqual(closed.map(({ month }) => month).toSorted())
    // Each was closed when it was over, not when somebody looked.
    for (const { month, closed_at } of closed) {
      expect(closed_at.toISOString().slice(8), month).toBe("01T00:00:00.000Z")
    }
  })
})
