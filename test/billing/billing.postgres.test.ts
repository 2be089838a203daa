import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import { sql } from "kysely"
import { beforeEach, describe, expect, it } from "vitest"
import { monthEnd, formatMonth } from "../../domain/kernel/window.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { collectEvents } from "../contracts/event-store-fixture.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, ownWorld } from "../support/world.ts"
import { executeCommands, executeEverything } from "../projections/ledger-requests.ts"
import { chargeCommandFor } from "../projections/every-fact.ts"
import { setCarrierOutcome, sendTextForId } from "../effects/texts.ts"
import type { BillExport } from "./bill-export.ts"
import { BILL_CSV_COLUMNS, exportMonth } from "./bill-export.ts"

const world = await ownWorld("time")
let company: Company
// The tests start in the middle of a month.
await world.operate("clock set", { to: "2031-03-10T12:00:00.000Z" })
beforeEach(async () => {
  company = await makeCompany(world)
  await setCarrierOutcome(world, "ok")
})

/** Sets the clock and adds an amount of funds that identifies the line. */
async function addAt(to: string, dollars: string): Promise<void> {
  await world.operate("clock set", { to })
  await world.operate("funds add", { company: company.companyId, dollars })
}

describe("a month's bill", () => {
  it("has one line for each change of the funds, with exactly these columns", async () => {
    await setCarrierOutcome(world, "reject", 1)
    await sendTextForId(world, company)
    await world.operate("wait")
    await sendTextForId(world, company)
    const { text, lines, result } = await exportMonth(world, company, "2031-03")
    expect(text.split("\r\n")[0]?.replaceAll('"', "")).toBe(BILL_CSV_COLUMNS)
    expect(lines.map(({ kind, amount_micros }) => [kind, amount_micros])).toEqual([
      ["funds_added", "50000000"],
      ["charge", "-9000"],
      ["give_back", "9000"],
      ["charge", "-9000"],
    ])
    const [, charge, refund] = lines
    expect(charge).toEqual({
      line_id: expect.stringMatching(new RegExp(`^${company.companyId}:\\d+$`)),
      kind: "charge",
      charge_id: expect.stringMatching(/^chg_\w+$/),
      corrects: "",
      at: "2031-03-10T12:00:00.000Z",
      served_from: "",
      item: "text_segment",
      item_name: "Text message segment",
      quantity: "1",
      unit: "segment",
      unit_price_micros: "9000",
      amount_micros: "-9000",
      amount_usd: "-0.009",
      person_id: company.ownerId,
      key_id: company.keyId,
      class: "general",
      resource: expect.stringMatching(/^msg_\w+$/),
      price_version: "1",
      description: "",
    })
    expect(refund).toMatchObject({
      charge_id: "",
      corrects: charge?.["charge_id"],
      quantity: "",
      unit_price_micros: "",
      amount_usd: "0.009",
      resource: charge?.["resource"],
    })
    expect(new Set(lines.map(({ line_id }) => line_id)).size).toBe(lines.length)
    expect(result).toMatchObject({ state: "open", lines: 4, openingMicros: 0 })
  })

  it("has each kind of line, and the lines add up to the change of the balance", async () => {
    const { companyId } = company
    const from = world.ports.clock.now()
    await executeEverything(world, company)
    const rent = { item: "number_month_local", unitPriceMicros: 1_500_000, amountMicros: 1_500_000 }
    await executeCommands(world, company, chargeCommandFor({ chargeId: "num_1:2031-03", ...rent }))
    await world.operate("clock set", { to: "2031-03-20T00:00:00.000Z" })
    const { lines, result } = await exportMonth(world, company, "2031-03")
    expect(new Set(lines.map(({ kind }) => kind))).toEqual(
      new Set([
        "funds_added",
        "funds_corrected",
        "charge",
        "give_back",
        "api_calls",
        "rent",
        "purchase",
      ]),
    )
    const total = lines.reduce((sum, line) => sum + Number(line["amount_micros"]), 0)
    const { balanceMicros } = await world.operate("company show", { company: companyId })
    expect(result).toMatchObject({ fundsChangeMicros: total, closingMicros: balanceMicros })
    expect(total).toBe(balanceMicros)
    const facts = await collectEvents(world.ports.store.read(ledgerStreamOf(companyId).stream))
    const head = facts.find(({ revision }) => revision === result.headRevision)
    expect(JSON.parse(head?.metadata ?? "{}").hash).toBe(result.head)
    const of = (kind: string) => lines.filter((line) => line["kind"] === kind)
    const day = new Date(from).toISOString().slice(0, 10)
    expect(of("api_calls")).toMatchObject([
      {
        charge_id: `key_1:per_1:${day}`,
        at: "2031-03-11T00:10:00.000Z",
        served_from: `${day}T00:00:00.000Z`,
        item: "api_call",
        quantity: "3",
        unit: "call",
        unit_price_micros: "100",
        amount_micros: "-300",
      },
      { charge_id: `key_2:-:${day}`, amount_micros: "-200", person_id: "" },
    ])
    expect(of("rent")).toMatchObject([{ charge_id: "num_1:2031-03", unit: "month" }])
    expect(of("purchase")).toMatchObject([
      { resource: "pur_paid", key_id: "key_1", charge_id: "", amount_micros: "5000000" },
    ])
    expect(of("funds_corrected")).toMatchObject([{ amount_usd: "-1.00", resource: "" }])
  })

  it("has the lines of its UTC month to the millisecond, and opens with the former closing balance", async () => {
    await addAt("2031-03-31T23:59:59.999Z", "1")
    await addAt("2031-04-01T00:00:00.000Z", "2")
    await addAt("2031-04-30T23:59:59.999Z", "3")
    await addAt("2031-05-01T00:00:00.000Z", "4")
    const [march, april, may] = [
      await exportMonth(world, company, "2031-03"),
      await exportMonth(world, company, "2031-04"),
      await exportMonth(world, company, "2031-05"),
    ]
    const amounts = ({ lines }: BillExport) => lines.map((line) => line["amount_usd"])
    expect([march, april, may].map(amounts)).toEqual([
      ["50.00", "1.00"],
      ["2.00", "3.00"],
      ["4.00"],
    ])
    expect([march, april, may].map(({ result }) => result.state)).toEqual([
      "closed",
      "closed",
      "open",
    ])
    expect(april.result.openingMicros).toBe(march.result.closingMicros)
    expect(may.result.openingMicros).toBe(april.result.closingMicros)
    expect([march, april, may].map(({ last }) => last?.["kind"])).toEqual([
      "closed",
      "closed",
      "open",
    ])
  })

  it("never changes for a closed month, neither its result nor its bytes", async () => {
    await addAt("2031-05-20T00:00:00.000Z", "1")
    await setCarrierOutcome(world, "silent", 1)
    await sendTextForId(world, company)
    await world.operate("wait")
    const { rows } = await sql<{ id: string }>`
      select name as id from ledger.simulated_records where kind = 'text'
      order by record_id desc limit 1`.execute(world.ports.readAll)
    await sql`delete from ledger.simulated_records where name = ${rows[0]?.id}`.execute(
      world.ports.readAll,
    )
    await sql`update ledger.jobs set due_at = '2031-06-02' where kind = 'ask-text'`.execute(
      world.ports.readAll,
    )
    await world.operate("clock set", { to: "2031-06-01T00:00:00.000Z" })
    const before = await exportMonth(world, company, "2031-05")
    await world.operate("clock set", { to: "2031-06-02T00:00:00.000Z" })
    await sendTextForId(world, company)
    expect(await exportMonth(world, company, "2031-05")).toEqual(before)
    const kinds = ["funds_added", "funds_added", "charge", "api_calls"]
    expect(before.lines.map(({ kind }) => kind)).toEqual(kinds)
    const june = await exportMonth(world, company, "2031-06")
    expect(june.lines.map(({ kind }) => kind)).toEqual(["give_back", "charge"])
    expect(june.lines[0]?.["corrects"]).toBe(before.lines[2]?.["charge_id"])
  })

  it.each([
    [4_000, 1],
    [6_001, 2],
  ])("has each of %i lines once, in %i pages", async (count, pages) => {
    const stream = ledgerStreamOf(company.companyId)
    const add = (amountMicros: number) =>
      world.ports.runner.execute(
        stream,
        { type: "AddFunds", amountMicros, reference: null },
        causedBy("test"),
        undefined,
        180_000,
      )
    await Promise.all(Array.from({ length: count - 1 }, (_, i) => add(i + 1)))
    const month = new Date(world.ports.clock.now()).toISOString().slice(0, 7)
    const { lines, chunks, result } = await exportMonth(world, company, month)
    expect(lines.slice(1).map((line) => Number(line["amount_micros"]))).toEqual(
      Array.from({ length: count - 1 }, (_, i) => i + 1),
    )
    expect(chunks).toBe(1 + pages + 1)
    expect(result.fundsChangeMicros).toBe(50_000_000 + (count * (count - 1)) / 2)
  })

  it("is complete and adds up while other commands append", async () => {
    for (let i = 0; i < 3; i += 1) await sendTextForId(world, company)
    await world.operate("wait")
    const month = new Date(world.ports.clock.now()).toISOString().slice(0, 7)
    const during = await exportMonth(world, company, month, async () => {
      await sendTextForId(world, company)
      await world.operate("wait")
    })
    expect(during.lines).toHaveLength(4)
    expect(during.result.fundsChangeMicros).toBe(50_000_000 - 27_000)
    expect((await exportMonth(world, company, month)).lines).toHaveLength(4 + during.chunks)
  })

  it("stops when the caller disconnects", async () => {
    const gone = AbortSignal.abort(new Error("gone"))
    const month = new Date(world.ports.clock.now()).toISOString().slice(0, 7)
    const stopping = exportMonth(world, company, month, async () => undefined, gone)
    await expect(stopping).rejects.toThrow("gone")
  })

  it("is rejected for a month before the ledger was opened, and for a future month", async () => {
    const { companyId } = company
    const now = world.ports.clock.now()
    const [opened, next] = [formatMonth(now), formatMonth(monthEnd(now))]
    const alone = `The ledger was opened in ${opened}, so this is its only bill.`
    for (const month of ["2020-01", next, "9999-12"]) {
      const refused = { code: "validation", message: `There is no bill for ${month}. ${alone}` }
      await expect(exportMonth(world, company, month)).rejects.toMatchObject(refused)
    }
    await world.operate("clock set", { to: new Date(monthEnd(now)).toISOString() })
    // The month has begun and has no lines yet.
    expect((await exportMonth(world, company, next)).result).toMatchObject({
      companyId,
      state: "open",
      lines: 0,
      fundsChangeMicros: 0,
      openingMicros: 50_000_000,
      closingMicros: 50_000_000,
    })
    const range = `Bills exist from ${opened}, when the ledger was opened, to ${next}.`
    await expect(exportMonth(world, company, "2020-01")).rejects.toThrow(range)
  })

  it("is rejected for an invalid month, an unknown format and an unknown company", async () => {
    for (const wrong of [
      { month: "2031-13" },
      { month: "2031-1" },
      { month: "March" },
      { format: "xlsx" },
    ]) {
      const input = { company: company.companyId, month: "2031-03", format: "csv", ...wrong }
      await expect(world.operate("export billing", input)).rejects.toThrow(/month|format/)
    }
    const input = { company: "unknown", month: "2031-03", format: "csv" }
    await expect(world.operate("export billing", input)).rejects.toMatchObject({
      code: "not_found",
    })
  })
})
