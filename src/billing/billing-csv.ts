/**
 * Writes the billing history as CSV (docs/decisions/billing.md), a line for each fact that changed the
 * funds. People, keys and resources are columns of ids, so erasing a person changes no byte.
 *
 * The last line changes no funds: its kind is `open` or `closed`, its resource is the ledger head
 * of the bill, its time is the end of the month, and its amount is 0.
 */
import { formatInstant } from "../../domain/kernel/instant.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import { formatDollars } from "../../domain/kernel/money.ts"
import { resourceId } from "../../domain/kernel/resource.ts"
import type { BillLine } from "../../projections/charging/billing-lines.ts"
import type { BillHead, BillWriter } from "./bill.ts"
import { formatBillHead } from "./bill.ts"
import { itemLabelOf, itemUnitOf } from "../../domain/charging/items.ts"

/** The columns of docs/decisions/billing.md, then later ones; new columns are appended. */
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
  "description",
  "item_name",
]

/** Writes a bill as CSV, each line ended by CR LF (RFC 4180). */
export function csvWriter(head: BillHead): BillWriter {
  const { companyId, state, month, until } = head
  return {
    begin: () => `${BILLING_COLUMNS.map(csvTextCell).join(",")}${CSV_LINE_END}`,
    lines: (lines) => {
      let text = ""
      for (const line of lines) text += csvLine(companyId, line)
      return text
    },
    end: () => {
      const id = csvTextCell(`${companyId}:${month}`)
      const ledgerHead = csvTextCell(formatBillHead(head))
      const at = csvTextCell(formatInstant(until - 1))
      return `${id},${csvTextCell(state)},"","",${at},"","ledger_head",,"",,0,0.00,"","","",${ledgerHead},,"",""${CSV_LINE_END}`
    },
  }
}

function csvLine(companyId: string, line: BillLine): string {
  const { item, amountMicros, resource, servedFrom } = line
  // Our own ids, kinds and instants contain nothing to quote or escape.
  return (
    `"${companyId}:${line.revision}","${line.kind}",${csvTextCell(line.chargeId)},` +
    `${csvTextCell(line.corrects)},"${formatInstant(line.at)}",` +
    `"${servedFrom === null ? "" : formatInstant(servedFrom)}",${csvTextCell(item)},` +
    `${line.quantity},"${itemUnitOf(item)}",${line.unitPriceMicros},${amountMicros},${formatDollars(amountMicros)},` +
    `${csvTextCell(line.personId)},${csvTextCell(line.keyId)},"${line.class}",` +
    `${csvTextCell(resource === "" ? "" : resourceId(resource))},${line.priceVersion},` +
    `${csvTextCell(line.description)},${csvTextCell(itemLabelOf(item))}${CSV_LINE_END}`
  )
}

export const CSV_LINE_END = "\r\n"

/**
 * Matches text that a spreadsheet would read as a formula, including the white space it skips and
 * the full-width and small forms. `console/parts/save-csv.ts` has the same pattern.
 */
const FORMULA_START = /^(?:[\t\r\n]|[\s\ufeff]*[=+\-@＝＋－＠﹦﹢﹣﹫−])/

/**
 * Formats a text as a cell. A text that a spreadsheet would read as a formula gets a leading
 * apostrophe.
 */
export function csvTextCell(text: string): string {
  const inert = FORMULA_START.test(text) ? `'${text}` : text
  return inert.includes('"') ? `"${inert.replaceAll('"', '""')}"` : `"${inert}"`
}

// JSON lines with the names and meanings of the CSV columns; empty values are null. The last line
// has the month's sums.

/** Writes a bill as lines of JSON. */
export function ndjsonWriter(head: BillHead): BillWriter {
  const { companyId, month, state, openingMicros, closingMicros } = head
  return {
    begin: () => "",
    lines: (lines) => lines.map((line) => `${JSON.stringify(billRow(companyId, line))}\n`).join(""),
    end: () => {
      const { revision, hash } = head.head
      const sums = { opening_micros: openingMicros, closing_micros: closingMicros }
      const last = { line_id: `${companyId}:${month}`, kind: state, month, ...sums }
      return `${JSON.stringify({ ...last, head_revision: revision, head_hash: hash })}\n`
    },
  }
}

/** A line with the names of the CSV columns. */
interface BillRow {
  readonly line_id: string
  readonly kind: BillLine["kind"]
  readonly charge_id: string | null
  readonly corrects: string | null
  readonly at: string
  readonly served_from: string | null
  readonly item: string | null
  readonly quantity: number | null
  readonly unit: string | null
  readonly unit_price_micros: Micros | null
  readonly amount_micros: Micros
  readonly amount_usd: string
  readonly person_id: string | null
  readonly key_id: string | null
  readonly class: string | null
  readonly resource: string | null
  readonly price_version: number | null
  readonly description: string | null
  readonly item_name: string | null
}

/** Converts a line to JSON data. */
function billRow(companyId: string, line: BillLine): BillRow {
  const { revision, item, resource, amountMicros, servedFrom } = line
  const text = (value: string) => (value === "" ? null : value)
  const number = (value: string) => (value === "" ? null : Number(value))
  return {
    line_id: `${companyId}:${revision}`,
    kind: line.kind,
    charge_id: text(line.chargeId),
    corrects: text(line.corrects),
    at: formatInstant(line.at),
    served_from: servedFrom === null ? null : formatInstant(servedFrom),
    item: text(item),
    quantity: number(line.quantity),
    unit: text(itemUnitOf(item)),
    unit_price_micros: number(line.unitPriceMicros),
    amount_micros: amountMicros,
    amount_usd: formatDollars(amountMicros),
    person_id: text(line.personId),
    key_id: text(line.keyId),
    class: text(line.class),
    resource: resource === "" ? null : resourceId(resource),
    price_version: number(line.priceVersion),
    description: text(line.description),
    item_name: text(itemLabelOf(item)),
  }
}
