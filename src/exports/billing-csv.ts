/**
 * The billing history as CSV (decisions.md §10): one line a fact that changed the funds, in the
 * order it was decided. Machine columns name people, keys and resources by id, so that erasing a
 * person changes no byte. No cell can come alive in a spreadsheet.
 */
import { stringify } from "csv-stringify/sync"
import { resourceId } from "../../domain/phone/text-resource.ts"
import { dollarText } from "../../domain/kernel/money.ts"
import type { ChargeRow } from "../../projections/charges.ts"

/** The columns, in their order. */
const BILLING_COLUMNS = [
  "line_id",
  "kind",
  "charge_id",
  "corrects",
  "at",
  "served_from",
  "item",
  "quantity",
  "unit",
  "unit_price_micros",
  "amount_micros",
  "amount_usd",
  "person_id",
  "key_id",
  "class",
  "resource",
  "price_version",
] as const

type Line = Record<(typeof BILLING_COLUMNS)[number], string>

/** What one of an item is; where it has no row here, an item is bought as a whole. */
const UNITS: Readonly<Record<string, string>> = {
  box_minute_small: "minute",
  box_minute_medium: "minute",
  box_minute_large: "minute",
  box_minute_xlarge: "minute",
  text_segment: "segment",
  call_minute: "minute",
  recording_minute_day: "minute",
  number_month_local: "month",
  number_month_toll_free: "month",
  email_recipient: "recipient",
  api_call: "call",
}

/** The header line. */
export function billingHeader(): string {
  return csv([Object.fromEntries(BILLING_COLUMNS.map((name) => [name, name])) as Line])
}

/** Lines of the bill as CSV text, each ended by CR LF (RFC 4180). */
export function billingCsv(rows: readonly ChargeRow[]): string {
  return csv(rows.map(lineOf))
}

function lineOf(row: ChargeRow): Line {
  return {
    line_id: `${row.company_id}:${row.revision}`,
    kind: row.kind,
    charge_id: row.charge_id ?? "",
    corrects: row.corrects ?? "",
    at: row.at.toISOString(),
    served_from: row.served_from?.toISOString() ?? "",
    item: row.item ?? "",
    quantity: textOf(row.quantity),
    unit: row.item === null ? "" : (UNITS[row.item] ?? ""),
    unit_price_micros: textOf(row.unit_price_micros),
    amount_micros: textOf(row.amount_micros),
    amount_usd: dollarText(row.amount_micros),
    person_id: row.person_id ?? "",
    key_id: row.key_id ?? "",
    class: row.class ?? "",
    resource: row.resource === null ? "" : resourceId(row.resource),
    price_version: textOf(row.price_version),
  }
}

function textOf(value: number | null): string {
  return value === null ? "" : String(value)
}

/** Columns whose text somebody outside may have chosen: only these can hold a formula. */
const FREE_TEXT: ReadonlySet<string> = new Set(["charge_id", "corrects", "item", "resource"])

function csv(lines: readonly Line[]): string {
  const rows = lines.map((line) =>
    BILLING_COLUMNS.map((name) => (FREE_TEXT.has(name) ? inert(line[name]) : line[name])),
  )
  return stringify(rows, { quoted_string: true, record_delimiter: "\r\n" })
}

/** A cell that a spreadsheet would take for a formula gets an apostrophe before it. */
function inert(cell: string): string {
  return /^[=+\-@\t\r\n]/.test(cell) ? `'${cell}` : cell
}
