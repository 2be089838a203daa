/**
 * The billing history as CSV (decisions.md §10): one line a fact that changed the funds, in the
 * order it was decided. Columns name people, keys and resources by id, so that erasing a person
 * changes no byte.
 *
 * The last line is no change of the funds: its kind says whether the month is `open` or `closed`, its
 * resource where in the ledger the bill ends; its time is the month's last, and its amount 0.
 */
import { instantText } from "../../domain/kernel/instant.ts"
import { dollarText } from "../../domain/kernel/money.ts"
import { resourceId } from "../../domain/kernel/resource.ts"
import type { BillLine } from "../../projections/charging/billing-lines.ts"
import type { BillHead, BillWriter } from "./bill.ts"
import { headText } from "./bill.ts"
import { LINE_END, textCell } from "./cells.ts"
import { itemName, unitOf } from "../../domain/charging/items.ts"

/** The columns: the decided ones first (decisions.md §10), then those that came later; new ones are appended. */
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
    begin: () => `${BILLING_COLUMNS.map(textCell).join(",")}${LINE_END}`,
    lines: (lines) => {
      let text = ""
      for (const line of lines) text += csvLine(companyId, line)
      return text
    },
    end: () => {
      const id = textCell(`${companyId}:${month}`)
      const place = textCell(headText(head))
      const at = textCell(instantText(until - 1))
      return `${id},${textCell(state)},"","",${at},"","ledger_head",,"",,0,0.00,"","","",${place},,"",""${LINE_END}`
    },
  }
}

function csvLine(companyId: string, line: BillLine): string {
  const { item, amountMicros, resource, servedFrom } = line
  // Ids, kinds and instants of our own hold nothing to quote or to escape.
  return (
    `"${companyId}:${line.revision}","${line.kind}",${textCell(line.chargeId)},` +
    `${textCell(line.corrects)},"${instantText(line.at)}",` +
    `"${servedFrom === null ? "" : instantText(servedFrom)}",${textCell(item)},` +
    `${line.quantity},"${unitOf(item)}",${line.unitPriceMicros},${amountMicros},${dollarText(amountMicros)},` +
    `${textCell(line.personId)},${textCell(line.keyId)},"${line.class}",` +
    `${textCell(resource === "" ? "" : resourceId(resource))},${line.priceVersion},` +
    `${textCell(line.description)},${textCell(itemName(item))}${LINE_END}`
  )
}
