/** FOCUS 1.2 as CSV: null is an empty cell without quotes, instants are in UTC to the second. */
import { instantText } from "../../domain/kernel/instant.ts"
import { dollarText } from "../../domain/kernel/money.ts"
import type { BillHead, BillWriter } from "./bill.ts"
import { LINE_END, textCell } from "./cells.ts"
import type { FocusColumn } from "./focus.ts"
import { FOCUS_COLUMNS } from "./focus.ts"

/** Writes a bill as a FOCUS CSV. */
export function focusCsvWriter(head: BillHead): BillWriter {
  return {
    begin: () => `${FOCUS_COLUMNS.map(({ name }) => textCell(name)).join(",")}${LINE_END}`,
    lines: (lines) => {
      let text = ""
      for (const line of lines) {
        const cells = FOCUS_COLUMNS.map((column) => cellOf(column, column.valueOf(line, head)))
        text += cells.join(",") + LINE_END
      }
      return text
    },
    end: () => "",
  }
}

function cellOf({ kind }: FocusColumn, value: string | number | null): string {
  if (value === null) return ""
  if (typeof value === "string") return textCell(value)
  if (kind === "dollars") return dollarText(value)
  if (kind === "time") return textCell(`${instantText(value).slice(0, 19)}Z`)
  return String(value)
}
