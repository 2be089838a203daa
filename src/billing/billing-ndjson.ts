/**
 * The billing history as lines of JSON, one a fact that changed the funds, with the names and the
 * meaning of the CSV's columns; what a line lacks is null. The last one says what the month came to.
 */
import { instantText } from "../../domain/kernel/instant.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import { dollarText } from "../../domain/kernel/money.ts"
import { resourceId } from "../../domain/kernel/resource.ts"
import type { BillLine } from "../../projections/charging/billing-lines.ts"
import type { BillHead, BillWriter } from "./bill.ts"
import { itemName, unitOf } from "../../domain/charging/items.ts"

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

/** A line under the names of the CSV's columns. */
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

/** A line as data, for JSON. */
function billRow(companyId: string, line: BillLine): BillRow {
  const { revision, item, resource, amountMicros, servedFrom } = line
  const text = (value: string) => (value === "" ? null : value)
  const number = (value: string) => (value === "" ? null : Number(value))
  return {
    line_id: `${companyId}:${revision}`,
    kind: line.kind,
    charge_id: text(line.chargeId),
    corrects: text(line.corrects),
    at: instantText(line.at),
    served_from: servedFrom === null ? null : instantText(servedFrom),
    item: text(item),
    quantity: number(line.quantity),
    unit: text(unitOf(item)),
    unit_price_micros: number(line.unitPriceMicros),
    amount_micros: amountMicros,
    amount_usd: dollarText(amountMicros),
    person_id: text(line.personId),
    key_id: text(line.keyId),
    class: text(line.class),
    resource: resource === "" ? null : resourceId(resource),
    price_version: number(line.priceVersion),
    description: text(line.description),
    item_name: text(itemName(item)),
  }
}
