/**
 * Writes a bill as FOCUS 1.2 (the FinOps Open Cost and Usage Specification): the 21 mandatory
 * columns in the order of their names, then our columns, whose names begin with `x_`.
 *
 * Charges and refunds are costs. Other movements of the funds (bought, added, corrected) cost 0 and
 * have their change in `x_FundsChangeMicros`, so this column sums to the change of the balance and
 * `BilledCost` to the spending.
 */
import type { Micros } from "../../domain/kernel/money.ts"
import { monthEnd } from "../../domain/kernel/window.ts"
import { resourceId } from "../../domain/kernel/resource.ts"
import type { ServiceCategory } from "../../domain/charging/items.ts"
import { itemLabelOf, billingServiceOf, itemUnitOf } from "../../domain/charging/items.ts"
import type { BillLine } from "../../projections/charging/billing-lines.ts"
import type { BillHead, BillWriter } from "./bill.ts"
import { formatBillHead } from "./bill.ts"
import type { ColumnSource, SchemaElement } from "hyparquet-writer"
import { ByteWriter, ParquetWriter } from "hyparquet-writer"

const AI_SERVICE: ServiceCategory = { name: "AI models", category: "AI and Machine Learning" }
const OTHER_SERVICE: ServiceCategory = { name: "Other services", category: "Other" }
const FUNDS_SERVICE: ServiceCategory = { name: "Funds", category: "Other" }

/** The kind of a column: `dollars` are micros here, `time` is UTC milliseconds. */
type FocusKind = "text" | "dollars" | "time" | "integer"

export interface FocusColumn {
  readonly name: string
  readonly kind: FocusKind
  /** The column's value in a line; null for none. */
  readonly valueOf: (line: BillLine, head: BillHead) => string | number | null
}

/** The seller and publisher of all services. */
const PROVIDER_NAME = "Company Platform"
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
const RENT_ITEM_PREFIX = "number_month_"

const text = (name: string, valueOf: FocusColumn["valueOf"]): FocusColumn => ({
  name,
  kind: "text",
  valueOf,
})
const dollars = (name: string, valueOf: FocusColumn["valueOf"]): FocusColumn => ({
  name,
  kind: "dollars",
  valueOf,
})
const time = (name: string, valueOf: FocusColumn["valueOf"]): FocusColumn => ({
  name,
  kind: "time",
  valueOf,
})
const integer = (name: string, valueOf: FocusColumn["valueOf"]): FocusColumn => ({
  name,
  kind: "integer",
  valueOf,
})

/** The mandatory columns of FOCUS 1.2. */
const MANDATORY_COLUMNS: readonly FocusColumn[] = [
  dollars("BilledCost", costOf),
  text("BillingAccountId", (_line, { companyId }) => companyId),
  // The company's name is personal and can be erased, so the id stands for it.
  text("BillingAccountName", (_line, { companyId }) => companyId),
  text("BillingCurrency", () => "USD"),
  time("BillingPeriodEnd", (_line, { until }) => until),
  time("BillingPeriodStart", (_line, { from }) => from),
  text("ChargeCategory", categoryOf),
  text("ChargeClass", classOf),
  text("ChargeDescription", descriptionOf),
  time("ChargePeriodEnd", (line) => periodOf(line).end),
  time("ChargePeriodStart", (line) => periodOf(line).start),
  dollars("ContractedCost", costOf),
  dollars("EffectiveCost", costOf),
  text("InvoiceIssuerName", (_line, { issuer }) => issuer),
  dollars("ListCost", costOf),
  integer("PricingQuantity", quantityOf),
  text("PricingUnit", pricingUnitOfLine),
  text("ProviderName", () => PROVIDER_NAME),
  text("PublisherName", () => PROVIDER_NAME),
  text("ServiceCategory", (line) => serviceOfLine(line).category),
  text("ServiceName", (line) => serviceOfLine(line).name),
]

/** Our additional columns. */
const OWN_COLUMNS: readonly FocusColumn[] = [
  text("x_LineId", ({ revision }, { companyId }) => `${companyId}:${revision}`),
  text("x_Kind", ({ kind }) => kind),
  text("x_ChargeId", ({ chargeId }) => textOrNull(chargeId)),
  text("x_Corrects", ({ corrects }) => textOrNull(corrects)),
  time("x_DecidedAt", ({ at }) => at),
  time("x_ServedFrom", ({ servedFrom }) => servedFrom),
  text("x_Item", ({ item }) => textOrNull(item)),
  integer("x_Quantity", ({ quantity }) => numberOrNull(quantity)),
  integer("x_UnitPriceMicros", ({ unitPriceMicros }) => numberOrNull(unitPriceMicros)),
  integer("x_FundsChangeMicros", ({ amountMicros }) => amountMicros),
  text("x_PersonId", ({ personId }) => textOrNull(personId)),
  text("x_KeyId", ({ keyId }) => textOrNull(keyId)),
  text("x_Class", (line) => textOrNull(line.class)),
  text("x_Resource", ({ resource }) => (resource === "" ? null : resourceId(resource))),
  integer("x_PriceVersion", ({ priceVersion }) => numberOrNull(priceVersion)),
  text("x_MonthState", (_line, { state }) => state),
  integer("x_HeadRevision", (_line, { head }) => head.revision),
  text("x_HeadHash", (_line, { head }) => head.hash),
  text("x_Description", ({ description }) => textOrNull(description)),
]

/** Every column, in the order of the file. */
export const FOCUS_COLUMNS: readonly FocusColumn[] = [...MANDATORY_COLUMNS, ...OWN_COLUMNS]

const textOrNull = (value: string): string | null => (value === "" ? null : value)
const numberOrNull = (value: string): number | null => (value === "" ? null : Number(value))

/** Whether a line is the cost of a service, not another movement of the funds. */
function isCost({ kind }: BillLine): boolean {
  return kind === "charge" || kind === "api_calls" || kind === "rent" || kind === "give_back"
}

/** The cost of a line in micros; a refund is negative. */
function costOf(line: BillLine): Micros {
  return isCost(line) ? 0 - line.amountMicros : 0
}

function categoryOf(line: BillLine): string {
  if (line.kind === "purchase" || line.kind === "funds_added") return "Credit"
  if (line.kind === "funds_corrected") return "Adjustment"
  return line.item.startsWith(RENT_ITEM_PREFIX) ? "Purchase" : "Usage"
}

/**
 * A refund is a correction if the bill of its charge is closed; before that, both are in one bill.
 */
function classOf({ kind, correctedAt }: BillLine, { from }: BillHead): string | null {
  if (kind !== "give_back") return null
  return correctedAt === null || correctedAt < from ? "Correction" : null
}

/** Describes a line for people, with the stored reason. */
function descriptionOf(line: BillLine): string {
  const { kind, item, quantity, description } = line
  const why = description === "" ? "" : `: ${description}`
  if (kind === "purchase") return `Funds bought${why}`
  if (kind === "funds_added") return `Funds added by an operator${why}`
  if (kind === "funds_corrected") return `Funds corrected by an operator${why}`
  const name = itemLabelOf(item)
  return kind === "give_back" ? `Refund: ${name}${why}` : `${quantity} × ${name}`
}

/** The hour of service; for API calls the day, for rent the month that begins there. */
function periodOf({ kind, servedFrom, at }: BillLine): { start: number; end: number } {
  const served = servedFrom ?? at
  if (kind === "api_calls") {
    const start = Math.floor(served / DAY_MS) * DAY_MS
    return { start, end: start + DAY_MS }
  }
  const start = Math.floor(served / HOUR_MS) * HOUR_MS
  return { start, end: kind === "rent" ? monthLater(start) : start + HOUR_MS }
}

/** The same day and hour of the next month, or its last day if the next month is shorter. */
function monthLater(start: number): number {
  const from = new Date(start)
  const hours = start % DAY_MS
  const day = Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1, from.getUTCDate())
  return Math.min(day, monthEnd(monthEnd(start)) - DAY_MS) + hours
}

/** A refund that is not a correction counts as minus one. */
function quantityOf(line: BillLine, head: BillHead): number | null {
  if (!isCost(line)) return null
  if (line.kind !== "give_back") return numberOrNull(line.quantity)
  return classOf(line, head) === null ? -1 : null
}

function pricingUnitOfLine(line: BillLine, head: BillHead): string | null {
  if (!isCost(line)) return null
  if (line.kind !== "give_back") return pricingUnitOf(line.item)
  return classOf(line, head) === null ? "Give-backs" : null
}

function serviceOfLine({ item, class: charged }: BillLine): ServiceCategory {
  if (item === "") return FUNDS_SERVICE
  return billingServiceOf(item) ?? (charged === "ai" ? AI_SERVICE : OTHER_SERVICE)
}

/** The unit of a price: capitalized and plural (FOCUS 1.2, "Unit Format"). */
function pricingUnitOf(item: string): string {
  const unit = itemUnitOf(item)
  return unit === "" ? "Units" : `${unit.charAt(0).toUpperCase()}${unit.slice(1)}s`
}

// Parquet: money is DECIMAL(18, 6), exact to the micro; instants are TIMESTAMP_MILLIS in UTC; the
// bill's head is also in the file's metadata. Lines are written in row groups, so that a bill of
// any length needs the same memory.

const GROUP_LINES = 20_000

const PARQUET_TYPES: Readonly<Record<FocusColumn["kind"], Omit<SchemaElement, "name">>> = {
  text: { type: "BYTE_ARRAY", converted_type: "UTF8" },
  dollars: { type: "INT64", converted_type: "DECIMAL", scale: 6, precision: 18 },
  time: { type: "INT64", converted_type: "TIMESTAMP_MILLIS" },
  integer: { type: "INT64" },
}

/** Writes a bill as a FOCUS Parquet file. */
export function focusParquetWriter(head: BillHead): BillWriter {
  const bytes = new ByteWriter()
  const schema: SchemaElement[] = [
    { name: "focus", num_children: FOCUS_COLUMNS.length },
    ...FOCUS_COLUMNS.map(({ name, kind }): SchemaElement => {
      return { name, repetition_type: "OPTIONAL", ...PARQUET_TYPES[kind] }
    }),
  ]
  const kvMetadata = [
    { key: "focus.version", value: "1.2" },
    { key: "ledger.month", value: head.month },
    { key: "ledger.state", value: head.state },
    { key: "ledger.head", value: formatBillHead(head) },
  ]
  const writer = new ParquetWriter({
    writer: bytes,
    schema,
    kvMetadata,
    createdBy: "company-ledger",
  })
  let waiting: BillLine[] = []
  const writeGroup = () => {
    const lines = waiting
    waiting = []
    if (lines.length === 0) return
    void writer.write({ columnData: columnsOf(lines, head), rowGroupSize: lines.length })
  }
  return {
    begin: () => drainBytes(bytes),
    lines: (lines) => {
      waiting.push(...lines)
      if (waiting.length >= GROUP_LINES) writeGroup()
      return drainBytes(bytes)
    },
    end: () => {
      writeGroup()
      void writer.finish()
      return drainBytes(bytes)
    },
  }
}

/** Takes the written bytes out of the buffer; file offsets continue. */
function drainBytes(bytes: ByteWriter): Uint8Array {
  const piece = bytes.getBytes().slice()
  bytes.index = 0
  return piece
}

function columnsOf(lines: readonly BillLine[], head: BillHead): ColumnSource[] {
  return FOCUS_COLUMNS.map(({ name, kind, valueOf }) => {
    const data = lines.map((line) => {
      const value = valueOf(line, head)
      if (value === null || typeof value === "string") return value
      return kind === "time" ? new Date(value) : BigInt(value)
    })
    return { name, data }
  })
}
