/** Descriptions of bill lines, in each format. */
import { describe, expect, it } from "vitest"
import { makeCallsFree, makeCompany, ownWorld } from "../support/world.ts"
import { openFundsMovements } from "../../src/billing/statement.ts"
import { SAMPLE_BILL_LINE, exportMonthAs, csvRecords } from "./bill-export.ts"
import { missingProgramReason, runTool } from "./programs.ts"

const MONTH = "2031-03"
const WIRE = "wire 2031-03-09, invoice #77"
const absent = missingProgramReason("pdftotext")
const world = await ownWorld("time")
await makeCallsFree(world)
await world.operate("clock set", { to: `${MONTH}-10T12:00:00.000Z` })
const company = await makeCompany(world, { funds: "0" })
const of = { company: company.companyId }
await world.operate("funds add", { ...of, dollars: "100", reference: WIRE })
await world.operate("funds correct", { ...of, dollars: "-1" }, "bank fee")
await world.operate("funds correct", { ...of, dollars: "2" }, "=1+1")
const one = { class: "ai", dollars: "3", item: "chat completion", id: "run-1" }
await world.operate("charge", { ...of, ...one })
await world.operate("charge refund", { chargeId: "run-1", ...of }, "it was for a test")
await world.operate("card set", { ...of, verified: true })
const terms = { addFundsPerPurchase: "60", addFundsPerMonth: "200" }
await world.operate("key change", { keyId: company.keyId, ...terms })
const bought = await world.call(company.key, "POST", "/api/v1/credits", {
  body: { amount: 5 },
  headers: { "idempotency-key": "one" },
})
const purchase = String(bought.body.purchaseId)
const payment = String(bought.body.paymentId)
await world.operate("wait")
const textIn = async (format: string) =>
  (await exportMonthAs(world, company, MONTH, format)).bytes.toString("utf8")
describe("the description of a line", () => {
  it("is in the CSV without formulas, and is empty for a charge", async () => {
    const rows = csvRecords(await textIn("csv"))
    expect(rows.map(({ kind, description }) => [kind, description])).toEqual([
      ["funds_added", WIRE],
      ["funds_corrected", "bank fee"],
      ["funds_corrected", "'=1+1"],
      ["charge", ""],
      ["give_back", "it was for a test"],
      ["purchase", payment],
      ["open", ""],
    ])
    expect(rows.at(-2)?.["resource"]).toBe(purchase)
    expect(payment).not.toBe("")
  })

  it("is unchanged in NDJSON and in the route's answer", async () => {
    const lines = (await textIn("ndjson")).trimEnd().split("\n").slice(0, -1)
    const descriptions = lines.map((line) => JSON.parse(line).description as string | null)
    expect(descriptions).toEqual([WIRE, "bank fee", "=1+1", null, "it was for a test", payment])
    const { body } = await world.call(company.key, "GET", "/api/v1/billing/lines")
    const shown = body.lines as readonly Readonly<Record<string, string | null>>[]
    expect(shown.map(({ description }) => description)).toEqual(descriptions)
    expect(shown[3]).toMatchObject({ item: "chat completion", itemName: "chat completion" })
  })

  it("is in FOCUS, in ChargeDescription and in x_Description", async () => {
    const rows = csvRecords(await textIn("focus-csv"))
    expect(rows.map((row) => [row["ChargeDescription"], row["x_Description"]])).toEqual([
      [`Funds added by an operator: ${WIRE}`, WIRE],
      ["Funds corrected by an operator: bank fee", "bank fee"],
      ["Funds corrected by an operator: =1+1", "'=1+1"],
      ["1 × chat completion", ""],
      ["Refund: chat completion: it was for a test", "it was for a test"],
      [`Funds bought: ${payment}`, payment],
    ])
  })

  it("is in the titles of the journal", async () => {
    const journal = await textIn("hledger")
    for (const title of [
      `funds added: ${WIRE}  ;`,
      "funds corrected: bank fee  ;",
      "chat completion: it was for a test  ;",
      `purchase: ${payment}  ;`,
    ]) {
      expect(journal).toContain(title)
    }
  })

  it("is on the statement, with the day and the amount", async (ctx) => {
    ctx.skip(absent !== null, absent ?? "pdftotext is installed here")
    const { bytes } = await exportMonthAs(world, company, MONTH, "pdf")
    const text = runTool("pdftotext", ["-layout", "-", "-"], bytes).replaceAll(/[ \t]+/g, " ")
    for (const row of [
      `${MONTH}-10: Funds added, ${WIRE} $100.00`,
      `${MONTH}-10: Funds corrected, bank fee -$1.00`,
      `${MONTH}-10: Refunded, it was for a test $3.00`,
      `${MONTH}-10: Funds bought $5.00\n ${purchase}, payment ${payment}\n`,
      "Total $109.00",
    ]) {
      expect(text.replaceAll(/\n ?/g, "\n ")).toContain(row)
    }
  })
})

describe("the changes of the funds", () => {
  it("have one row for each day and reason, and only the largest rows if there are many", () => {
    const funds = openFundsMovements()
    const refund = {
      ...SAMPLE_BILL_LINE,
      kind: "give_back" as const,
      amountMicros: 5,
      description: "failed",
    }
    funds.add([SAMPLE_BILL_LINE, refund, refund, { ...refund, at: 86_400_000 }])
    expect(funds.totals()).toMatchObject({
      rows: [
        { day: "1970-01-01", kind: "give_back", amountMicros: 10 },
        { day: "1970-01-02", kind: "give_back", amountMicros: 5 },
      ],
      othersMicros: null,
    })
    const many = Array.from({ length: 12_000 }, (_, i) => {
      return { ...refund, kind: "funds_added" as const, description: `${i}`, amountMicros: 20 + i }
    })
    funds.add(many)
    const { rows, othersMicros } = funds.totals()
    expect(rows).toHaveLength(200)
    const sum = rows.reduce((total, { amountMicros }) => total + amountMicros, othersMicros ?? 0)
    expect(sum).toBe(15 + (12_000 * (20 + 12_019)) / 2)
    // The largest rows are the last that were added; they keep their order.
    expect(rows.at(-1)).toMatchObject({ description: "9997" })
    expect(rows[0]).toMatchObject({ description: "9798" })
  })
})
