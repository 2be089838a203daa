import { describe, expect, it, afterAll } from "vitest"
import type { BillLine } from "../../projections/charging/billing-lines.ts"
import type { FocusColumn } from "../../src/billing/focus.ts"
import { FOCUS_COLUMNS, focusParquetWriter } from "../../src/billing/focus.ts"
import { focusCsvWriter } from "../../src/billing/formats.ts"
import { EMPTY_BILL_HEAD, SAMPLE_BILL_LINE, parseCsv, csvRecords } from "./bill-export.ts"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DuckDBInstance } from "@duckdb/node-api"
import type { BillHead } from "../../src/billing/bill.ts"

const MARCH = {
  ...EMPTY_BILL_HEAD,
  month: "2031-03",
  from: Date.parse("2031-03-01T00:00:00Z"),
  until: Date.parse("2031-04-01T00:00:00Z"),
}

const AT = Date.parse("2031-03-10T12:34:56.789Z")
const TEXT: BillLine = {
  ...SAMPLE_BILL_LINE,
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
const REFUND: BillLine = {
  ...TEXT,
  kind: "give_back",
  chargeId: "",
  corrects: "chg_1",
  quantity: "",
  unitPriceMicros: "",
  priceVersion: "",
  amountMicros: 18_000,
}

/** One line of each kind, and of each kind that FOCUS distinguishes. */
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
  "refunded in its month": { ...REFUND, correctedAt: AT - 1_000 },
  "refunded later": { ...REFUND, correctedAt: MARCH.from - 1 },
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
const rows = csvRecords(
  String(focusCsvWriter(MARCH).begin()) + String(focusCsvWriter(MARCH).lines(Object.values(LINES))),
)

const rowOf = (name: string) => rows[names.indexOf(name)] ?? {}

type Row = Readonly<Record<string, string>>

/** A rule of a column: its kind, whether it may be null, and the check of its values. */
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

/** "Usage" and "Purchase" have a price; a correction of a former bill needs none. */
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
  it("are the 21 mandatory ones of FOCUS 1.2, followed by ours", () => {
    const all = FOCUS_COLUMNS.map(({ name }) => name)
    expect(Object.keys(RULES)).toHaveLength(21)
    expect(all.slice(0, 21)).toEqual(Object.keys(RULES))
    expect(all.slice(21).filter((name) => !/^x_[A-Z]\w+$/.test(name))).toEqual([])
    expect(new Set(all).size).toBe(all.length)
  })

  it.each(Object.entries(RULES))("follow the rule of %s in a line of every kind", (name, rule) => {
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
    ["refunded in its month", "Usage", "", "-0.018", "-1", "Give-backs", "Phone"],
    ["refunded later", "Usage", "Correction", "-0.018", "", "", "Phone"],
    ["bought", "Credit", "", "0.00", "", "", "Funds"],
    ["added", "Credit", "", "0.00", "", "", "Funds"],
    ["corrected", "Adjustment", "", "0.00", "", "", "Funds"],
  ])("of %s has %s %s %s", (name, category, charged, billed, quantity, unit, service) => {
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
  ])("of %s has the period %s to %s", (name, start, end) => {
    expect(rowOf(name)).toMatchObject({ ChargePeriodStart: start, ChargePeriodEnd: end })
  })

  it.each([
    ["text", "2 × Text message segment"],
    ["model", "1 × a model"],
    ["refunded in its month", "Refund: Text message segment"],
    ["bought", "Funds bought"],
  ])("of %s is described as %s", (name, description) => {
    expect(rowOf(name)).toMatchObject({ ChargeDescription: description, x_Description: "" })
  })

  it("has the change of the funds, the person, the key and the resource", () => {
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

  it("has no formulas for a spreadsheet, and has empty cells for null", () => {
    const line = { ...TEXT, item: "=1+1", chargeId: "@a", resource: "+1", quantity: "" }
    const text = String(focusCsvWriter(MARCH).lines([line]))
    const cells = parseCsv(text)[0] ?? []
    const texts = cells.filter((_cell, i) => FOCUS_COLUMNS[i]?.kind === "text")
    expect(texts.filter((cell) => /^[=+\-@\t\r]/.test(cell))).toEqual([])
    expect(cells).toContain("'=1+1")
    expect(text.split(",")[7]).toBe("")
  })

  it("of an unknown item is of other services", () => {
    for (const item of ["constructor", "toString_x", "thing"]) {
      const [row] = csvRecords(
        String(focusCsvWriter(MARCH).begin()) +
          String(focusCsvWriter(MARCH).lines([{ ...TEXT, item }])),
      )
      expect(row).toMatchObject({ ServiceName: "Other services", ServiceCategory: "Other" })
    }
  })
})

const folder = await mkdtemp(join(tmpdir(), "focus-"))

afterAll(() => rm(folder, { recursive: true, force: true }))

/** The file of a bill whose lines are written in pages of this size. */
async function bytesOf(
  lines: readonly BillLine[],
  pageLines: number,
  head: BillHead = EMPTY_BILL_HEAD,
) {
  const writer = focusParquetWriter(head)
  const pieces = [writer.begin()]
  for (let i = 0; i < lines.length; i += pageLines) {
    pieces.push(writer.lines(lines.slice(i, i + pageLines)))
  }
  pieces.push(await writer.end())
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece as Uint8Array)))
}

/** Queries a file with another program. */
async function readBack(bytes: Buffer, select: string) {
  const file = join(folder, "bill.parquet")
  await writeFile(file, bytes)
  const instance = await DuckDBInstance.create(":memory:")
  try {
    const connection = await instance.connect()
    const result = await connection.runAndReadAll(select.replaceAll("FILE", `'${file}'`))
    connection.closeSync()
    return result.getRowObjectsJson()
  } finally {
    instance.closeSync()
  }
}

const manyLines = (count: number): readonly BillLine[] =>
  Array.from({ length: count }, (_, i) => ({
    ...SAMPLE_BILL_LINE,
    revision: i,
    at: i * 1_000,
    amountMicros: -i,
    item: i % 3 === 0 ? "text_segment" : `=item ${i} "ümläut" \u{1F600}`,
    kind: i % 7 === 0 ? "give_back" : "charge",
  }))

describe("a Parquet file, read by another program", () => {
  it("has the types of the columns", async () => {
    const found = await readBack(await bytesOf(manyLines(3), 3), "describe select * from FILE")
    const types = {
      text: "VARCHAR",
      dollars: "DECIMAL(18,6)",
      time: "TIMESTAMP",
      integer: "BIGINT",
    }
    expect(found.map((row) => [row["column_name"], String(row["column_type"])])).toEqual(
      FOCUS_COLUMNS.map(({ name, kind }) => [name, types[kind]]),
    )
  })

  it("has every line of the CSV, each with the same values, over several row groups", async () => {
    const lines = manyLines(45_001)
    const bytes = await bytesOf(lines, 5_000)
    const asText = FOCUS_COLUMNS.map(({ name, kind }) =>
      kind === "time" ? `strftime("${name}", '%Y-%m-%dT%H:%M:%SZ') as "${name}"` : `"${name}"`,
    )
    const indexes = [0, 1, 2, 7, 19_999, 20_000, 39_999, 45_000]
    const found = await readBack(
      bytes,
      `select ${asText.join(", ")} from read_parquet(FILE, file_row_number = true)
       where file_row_number in (${indexes.join(", ")}) order by file_row_number`,
    )
    const csv = focusCsvWriter(EMPTY_BILL_HEAD)
    const some = lines.filter((_, index) => indexes.includes(index))
    const table = csvRecords(String(csv.begin()) + String(csv.lines(some)))
    for (const [i, index] of indexes.entries()) {
      for (const { name, kind } of FOCUS_COLUMNS) {
        const cell = found[i]?.[name] ?? ""
        const expected = table[i]?.[name] ?? "no cell"
        if (kind === "dollars") expect(Number(cell), name).toBe(Number(expected))
        else expect(String(cell), `${name} of line ${index}`).toBe(expected.replace(/^'/, ""))
      }
    }
    const [sums] = await readBack(
      bytes,
      `select count(*)::integer as lines, sum("BilledCost")::varchar as cost,
              sum("x_FundsChangeMicros")::varchar as micros from FILE`,
    )
    expect(sums).toEqual({ lines: 45_001, cost: "1012.522500", micros: "-1012522500" })
    const groups = await readBack(
      bytes,
      "select count(distinct row_group_id)::integer as groups from parquet_metadata(FILE)",
    )
    expect(groups).toEqual([{ groups: 3 }])
  })

  it("keeps the largest amount exact", async () => {
    const found = await readBack(
      await bytesOf([SAMPLE_BILL_LINE], 1),
      'select "BilledCost"::varchar as cost from FILE',
    )
    expect(found).toEqual([{ cost: "9000000000.000001" }])
  })

  it("has the month and the ledger head in its metadata, even without lines", async () => {
    const bytes = await bytesOf([], 1, { ...EMPTY_BILL_HEAD, state: "closed" })
    const found = await readBack(
      bytes,
      "select decode(key) as key, decode(value) as value from parquet_kv_metadata(FILE)",
    )
    expect(found).toEqual([
      { key: "focus.version", value: "1.2" },
      { key: "ledger.month", value: "1970-01" },
      { key: "ledger.state", value: "closed" },
      { key: "ledger.head", value: `ledger-co_aaaaaa@41:${"ab".repeat(32)}` },
    ])
    expect(await readBack(bytes, "select count(*)::integer as lines from FILE")).toEqual([
      { lines: 0 },
    ])
  })

  it("is the same bytes for the same lines", async () => {
    const lines = manyLines(20_001)
    const twice = [await bytesOf(lines, 5_000), await bytesOf(lines, 5_000)]
    expect(twice[0]?.equals(twice[1] ?? Buffer.alloc(0))).toBe(true)
  })
})
