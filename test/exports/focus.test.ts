import { describe, expect, it } from "vitest"
import type { BillLine } from "../../projections/charging/billing-lines.ts"
import type { FocusColumn } from "../../src/exports/focus.ts"
import { FOCUS_COLUMNS } from "../../src/exports/focus.ts"
import { focusCsvWriter } from "../../src/exports/focus-csv.ts"
import { HEAD, LINE } from "./a-bill.ts"
import { parse, tableOf } from "./exported.ts"

const MARCH = {
  ...HEAD,
  month: "2031-03",
  from: Date.parse("2031-03-01T00:00:00Z"),
  until: Date.parse("2031-04-01T00:00:00Z"),
}
const AT = Date.parse("2031-03-10T12:34:56.789Z")
const TEXT: BillLine = {
  ...LINE,
  at: AT,
  servedFrom: null,
  item: "text_segment",
  unitPriceMicros: "9000",
  amountMicros: -18_000,
  class: "general",
  resource: "msg_1@abcdef",
  personId: "per_1",
  keyId: "key_1",
}
const EMPTY = { item: "", quantity: "", unitPriceMicros: "", priceVersion: "", chargeId: "" }
const GIVE_BACK: BillLine = {
  ...TEXT,
  kind: "give_back",
  chargeId: "",
  corrects: "chg_1",
  quantity: "",
  unitPriceMicros: "",
  priceVersion: "",
  amountMicros: 18_000,
}
/** One line of each kind, and those that FOCUS tells apart. */
const LINES: Readonly<Record<string, BillLine>> = {
  text: TEXT,
  model: { ...TEXT, item: "a model", class: "ai", quantity: "1", unitPriceMicros: "18000" },
  calls: {
    ...TEXT,
    kind: "api_calls",
    item: "api_call",
    servedFrom: Date.parse("2031-03-09T00:00:00Z"),
    at: Date.parse("2031-03-10T00:10:00Z"),
  },
  rent: {
    ...TEXT,
    kind: "rent",
    item: "number_month_local",
    at: Date.parse("2031-01-31T07:15:00Z"),
  },
  "given back at once": { ...GIVE_BACK, correctedAt: AT - 1_000 },
  "given back later": { ...GIVE_BACK, correctedAt: MARCH.from - 1 },
  bought: {
    ...TEXT,
    ...EMPTY,
    kind: "purchase",
    class: "",
    resource: "pur_1",
    amountMicros: 5_000_000,
  },
  added: { ...TEXT, ...EMPTY, kind: "funds_added", class: "", resource: "", amountMicros: 1 },
  corrected: {
    ...TEXT,
    ...EMPTY,
    kind: "funds_corrected",
    class: "",
    resource: "",
    amountMicros: -1,
  },
}
const names = Object.keys(LINES)
const rows = tableOf(
  String(focusCsvWriter(MARCH).begin()) + String(focusCsvWriter(MARCH).lines(Object.values(LINES))),
)
const rowOf = (name: string) => rows[names.indexOf(name)] ?? {}

type Row = Readonly<Record<string, string>>
/** A rule of a column: its kind, whether it may be null, and what its values must keep. */
interface Rule {
  readonly kind: FocusColumn["kind"]
  readonly mayBeNull: boolean
  readonly holds: (value: string, row: Row) => boolean
}
const isDollars = (value: string) => /^-?\d+\.\d{2,6}$/.test(value)
const isInstant = (value: string) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(value)
const required = (kind: Rule["kind"], holds: Rule["holds"]): Rule => ({
  kind,
  mayBeNull: false,
  holds,
})
const nullable = (kind: Rule["kind"], holds: Rule["holds"]): Rule => ({
  kind,
  mayBeNull: true,
  holds,
})
const cost = required("dollars", (value, row) => isDollars(value) && value === row["BilledCost"])
/** "Usage" and "Purchase" have a price; what corrects a former bill need not. */
const isPriced = (row: Row) =>
  ["Usage", "Purchase"].includes(row["ChargeCategory"] ?? "") && row["ChargeClass"] === ""
const CATEGORIES = ["Usage", "Purchase", "Tax", "Credit", "Adjustment"]
const SERVICE_CATEGORIES = [
  "AI and Machine Learning",
  "Analytics",
  "Business Applications",
  "Compute",
  "Databases",
  "Developer Tools",
  "Multicloud",
  "Identity",
  "Integration",
  "Internet of Things",
  "Management and Governance",
  "Media",
  "Migration",
  "Mobile",
  "Networking",
  "Security",
  "Storage",
  "Web",
  "Other",
]

/** The mandatory columns of FOCUS 1.2 with their rules. */
const RULES: Readonly<Record<string, Rule>> = {
  BilledCost: required("dollars", isDollars),
  BillingAccountId: required("text", (value) => value === MARCH.companyId),
  BillingAccountName: nullable("text", (value) => value !== ""),
  BillingCurrency: required("text", (value) => /^[A-Z]{3}$/.test(value)),
  BillingPeriodEnd: required("time", (value) => value === "2031-04-01T00:00:00Z"),
  BillingPeriodStart: required("time", (value) => value === "2031-03-01T00:00:00Z"),
  ChargeCategory: required("text", (value) => CATEGORIES.includes(value)),
  ChargeClass: nullable("text", (value) => value === "" || value === "Correction"),
  ChargeDescription: nullable("text", (value) => value !== ""),
  ChargePeriodEnd: required(
    "time",
    (value, row) => isInstant(value) && value > (row["ChargePeriodStart"] ?? ""),
  ),
  ChargePeriodStart: required("time", isInstant),
  ContractedCost: cost,
  EffectiveCost: cost,
  InvoiceIssuerName: required("text", (value) => value !== ""),
  ListCost: cost,
  PricingQuantity: nullable("integer", (value, row) => !isPriced(row) || /^-?\d+$/.test(value)),
  PricingUnit: nullable("text", (value, row) => !isPriced(row) || /^[A-Z][a-z-]+s$/.test(value)),
  ProviderName: required("text", (value) => value !== ""),
  PublisherName: required("text", (value) => value !== ""),
  ServiceCategory: required("text", (value) => SERVICE_CATEGORIES.includes(value)),
  ServiceName: required("text", (value) => value !== ""),
}

describe("the columns", () => {
  it("are the 21 that FOCUS 1.2 makes mandatory, and behind them ours", () => {
    const all = FOCUS_COLUMNS.map(({ name }) => name)
    expect(Object.keys(RULES)).toHaveLength(21)
    expect(all.slice(0, 21)).toEqual(Object.keys(RULES))
    expect(all.slice(21).filter((name) => !/^x_[A-Z]\w+$/.test(name))).toEqual([])
    expect(new Set(all).size).toBe(all.length)
  })

  it.each(Object.entries(RULES))("keep the rule of %s in a line of every kind", (name, rule) => {
    expect(FOCUS_COLUMNS.find((column) => column.name === name)?.kind).toBe(rule.kind)
    const broken = rows.filter((row) => {
      const value = row[name] ?? "no cell"
      return !(rule.mayBeNull || value !== "") || !rule.holds(value, row)
    })
    expect(broken).toEqual([])
  })
})

describe("a line", () => {
  it.each([
    ["text", "Usage", "", "0.018", "2", "Segments", "Phone"],
    ["model", "Usage", "", "0.018", "1", "Units", "AI models"],
    ["calls", "Usage", "", "0.018", "2", "Calls", "API"],
    ["rent", "Purchase", "", "0.018", "2", "Months", "Phone"],
    ["given back at once", "Usage", "", "-0.018", "-1", "Give-backs", "Phone"],
    ["given back later", "Usage", "Correction", "-0.018", "", "", "Phone"],
    ["bought", "Credit", "", "0.00", "", "", "Funds"],
    ["added", "Credit", "", "0.00", "", "", "Funds"],
    ["corrected", "Adjustment", "", "0.00", "", "", "Funds"],
  ])("of what was %s: %s %s %s", (name, category, charged, billed, quantity, unit, service) => {
    expect(rowOf(name)).toMatchObject({
      ChargeCategory: category,
      ChargeClass: charged,
      BilledCost: billed,
      PricingQuantity: quantity,
      PricingUnit: unit,
      ServiceName: service,
    })
  })

  it.each([
    ["text", "2031-03-10T12:00:00Z", "2031-03-10T13:00:00Z"],
    ["calls", "2031-03-09T00:00:00Z", "2031-03-10T00:00:00Z"],
    ["rent", "2031-01-31T07:00:00Z", "2031-02-28T07:00:00Z"],
  ])("of %s is for %s to %s", (name, start, end) => {
    expect(rowOf(name)).toMatchObject({ ChargePeriodStart: start, ChargePeriodEnd: end })
  })

  it.each([
    ["text", "2 × Text message segment"],
    ["model", "1 × a model"],
    ["given back at once", "Given back: Text message segment"],
    ["bought", "Funds bought"],
  ])("of %s is described for people: %s", (name, description) => {
    expect(rowOf(name)).toMatchObject({ ChargeDescription: description, x_Description: "" })
  })

  it("says what it did to the funds, of whom and of what", () => {
    expect(rowOf("text")).toMatchObject({
      x_LineId: "co_aaaaaa:7",
      x_FundsChangeMicros: "-18000",
      x_PersonId: "per_1",
      x_KeyId: "key_1",
      x_Resource: "msg_1",
      x_MonthState: "open",
      x_HeadRevision: "41",
      x_HeadHash: "ab".repeat(32),
    })
    const sum = (column: string) => rows.reduce((total, row) => total + Number(row[column]), 0)
    const changes = Object.values(LINES).reduce((total, line) => total + line.amountMicros, 0)
    expect(sum("x_FundsChangeMicros")).toBe(changes)
  })

  it("cannot come alive in a spreadsheet, and has null as nothing at all", () => {
    const line = { ...TEXT, item: "=1+1", chargeId: "@a", resource: "+1", quantity: "" }
    const text = String(focusCsvWriter(MARCH).lines([line]))
    const cells = parse(text)[0] ?? []
    const texts = cells.filter((_cell, i) => FOCUS_COLUMNS[i]?.kind === "text")
    expect(texts.filter((cell) => /^[=+\-@\t\r]/.test(cell))).toEqual([])
    expect(cells).toContain("'=1+1")
    expect(text.split(",")[7]).toBe("")
  })

  it("is one of other services where nobody knows what it is", () => {
    for (const item of ["constructor", "toString_x", "thing"]) {
      const [row] = tableOf(
        String(focusCsvWriter(MARCH).begin()) +
          String(focusCsvWriter(MARCH).lines([{ ...TEXT, item }])),
      )
      expect(row).toMatchObject({ ServiceName: "Other services", ServiceCategory: "Other" })
    }
  })
})
