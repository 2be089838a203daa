import { beforeEach, describe, expect, it } from "vitest"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import { dayStart } from "../../domain/kernel/window.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { ChargeRow } from "../../projections/charging/charges.ts"
import {
  companiesOfCharge,
  findCharge,
  listOpenCharges,
  refundable,
} from "../../projections/charging/charges.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, sharedWorld } from "../support/world.ts"
import { ask, counted } from "./asking.ts"
import { selectLines } from "../../projections/charging/charges.ts"
import { charging } from "./every-fact.ts"

const world = await sharedWorld({ rateLimits: "off", calls: "free", clock: "forward" })
const db = world.ports.readAll
let company: Company
beforeEach(async () => {
  company = await makeCompany(world)
})

const run = (...commands: readonly LedgerCommand[]) => ask(world, company, ...commands)
const now = () => world.ports.clock.now()

/** The rows of the company in the order they were decided. */
async function rowsOf(limit: number): Promise<readonly ChargeRow[]> {
  const rows = selectLines(db).where("company_id", "=", company.companyId)
  return rows.orderBy("revision").limit(limit).execute()
}

/** The lines of the bill after the opening funds, without what is empty. */
async function lines() {
  const rows = await rowsOf(1_000)
  return rows
    .slice(1)
    .map((row) => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)))
}

describe("charges", () => {
  it("have a line of its own kind for each change of the funds", async () => {
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
      charging({ chargeId: "num_1:2026-12", via: "company", keyId: null, personId: null, ...rent }),
      { type: "AddFunds", amountMicros: 3, reference: "invoice 7" },
      charging({ chargeId: "chg_x", item: "api_call" }),
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
      // What somebody calls so was not counted as calls: it is an ordinary charge.
      { kind: "charge", charge_id: "chg_x", item: "api_call", state: "final" },
    ])
  })

  it("say of calls when they were served, so that they come back to where they weighed", async () => {
    const { companyId, keyId, ownerId } = company
    const day = dayStart(now())
    await run(counted(company, 4, day))
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
    expect(refundable(row)).toEqual({
      charge: {
        chargeId,
        amountMicros: 400,
        chargedAt: day,
        via: "own_key",
        keyId,
        personId: ownerId,
        class: "general",
        item: "api_call",
        resource: null,
      },
      leftMicros: 400,
    })
  })

  it("say how much of a charge came back: by its work, or by an operator once it is final", async () => {
    const { companyId } = company
    const states = async (...ids: readonly string[]) =>
      Promise.all(
        ids.map(async (id) => {
          const row = await findCharge(db, companyId, id)
          return [row?.state, row?.given_back_micros]
        }),
      )
    const ids = ["chg_a", "chg_b", "chg_c", "chg_d"]
    await run(...ids.map((chargeId) => charging({ chargeId, open: true })))
    const reason = "it failed"
    await run(
      { type: "CloseCharges", chargeIds: ["chg_a", "chg_b"] },
      { type: "GiveBack", chargeId: "chg_c", amountMicros: 1_000, reason },
      { type: "GiveBack", chargeId: "chg_d", amountMicros: null, reason },
    )
    expect(await states(...ids)).toEqual([
      ["final", 0],
      ["final", 0],
      ["final", 1_000],
      ["given_back", 9_000],
    ])
    for (const [chargeId, amountMicros] of [
      ["chg_a", null],
      ["chg_b", 2_000],
    ] as const) {
      const row = await findCharge(db, companyId, chargeId)
      if (row === null) throw new Error(`no charge ${chargeId} is shown`)
      const found = refundable(row)
      await run({ type: "GiveBackEnded", ...found, amountMicros, reason, searchedTo: 1_000 })
    }
    expect(await states("chg_a", "chg_b")).toEqual([
      ["given_back", 9_000],
      ["final", 2_000],
    ])
    const partly = await findCharge(db, companyId, "chg_b")
    expect(partly === null ? null : refundable(partly).leftMicros).toBe(7_000)
    expect((await lines()).at(-1)).toMatchObject({
      kind: "give_back",
      corrects: "chg_b",
      amount_micros: 2_000,
      note: reason,
    })
  })

  it("end the newest of a name that was used again, and leave the older one as it was", async () => {
    const { companyId } = company
    const chargeId = "chg_again"
    const back = { type: "GiveBack" as const, chargeId, amountMicros: null, reason: "it failed" }
    await run(
      charging({ chargeId, open: true }),
      back,
      charging({ chargeId, open: true }),
      { type: "CloseCharges", chargeIds: [chargeId] },
      charging({ chargeId, open: true, amountMicros: 0, unitPriceMicros: 0 }),
    )
    const states = async () =>
      (await lines()).filter((one) => one["charge_id"] === chargeId).map((one) => one["state"])
    expect(await states()).toEqual(["given_back", "final", "open"])
    expect(await findCharge(db, companyId, chargeId)).toMatchObject({ state: "open" })
    // One that cost nothing and succeeded did not come back, though nothing of it is left.
    await run({ type: "CloseCharges", chargeIds: [chargeId] })
    expect(await states()).toEqual(["given_back", "final", "final"])
  })

  it("that are open are listed of one company or of all, oldest first", async () => {
    const first = company
    await run(charging({ chargeId: "chg_one", open: true, resource: "msg_1" }))
    await world.operate("clock advance", { duration: "1m" })
    company = await makeCompany(world)
    await run(
      charging({ chargeId: "chg_two", open: true }),
      charging({ chargeId: "chg_three", open: true }),
      charging({ chargeId: "chg_final" }),
      { type: "CloseCharges", chargeIds: ["chg_two"] },
    )
    const open = async (companyId: CompanyId | null) =>
      (await listOpenCharges(db, companyId)).map((row) => row.charge_id)
    expect(await open(first.companyId)).toEqual(["chg_one"])
    expect(await open(company.companyId)).toEqual(["chg_three"])
    expect((await open(null)).slice(-2)).toEqual(["chg_one", "chg_three"])
    expect((await listOpenCharges(db, first.companyId))[0]).toMatchObject({
      at: new Date(now() - 60_000),
      item: "text_segment",
      resource: "msg_1",
      amount_micros: -9_000,
    })
    expect(await companiesOfCharge(db, "chg_one")).toEqual([first.companyId])
    expect(await companiesOfCharge(db, "chg_none")).toEqual([])
  })

  it("have nothing to say for a give-back of what is no charge", async () => {
    const [funds] = await rowsOf(1)
    if (funds === undefined) throw new Error("the opening funds are not shown")
    expect(() => refundable(funds)).toThrow(RangeError)
  })
})
