/** The formats a bill can have, each a writer over the same lines. */
import type { BillWriter, BillHead } from "./bill.ts"
import { csvWriter, LINE_END, textCell, ndjsonWriter } from "./billing-csv.ts"
import type { FocusColumn } from "./focus.ts"
import { focusParquetWriter, FOCUS_COLUMNS } from "./focus.ts"
import { hledgerWriter } from "./hledger.ts"
import type { BillPorts, OpenedBill } from "./open-bill.ts"
import { instantText } from "../../domain/kernel/instant.ts"
import { dollarText } from "../../domain/kernel/money.ts"

/** A format of bills. */
export interface BillForm {
  /** Its content type. */
  readonly mediaType: string
  /** What the name of a file ends in. */
  readonly extension: string
  readonly open: (bill: OpenedBill, ports: BillPorts) => BillWriter | Promise<BillWriter>
}

/** Every format by its name. */
export const BILL_FORMS = {
  csv: {
    mediaType: "text/csv; charset=utf-8",
    extension: "csv",
    open: ({ head }) => csvWriter(head),
  },
  "focus-csv": {
    mediaType: "text/csv; charset=utf-8",
    extension: "focus.csv",
    open: ({ head }) => focusCsvWriter(head),
  },
  "focus-parquet": {
    mediaType: "application/vnd.apache.parquet",
    extension: "focus.parquet",
    open: ({ head }) => focusParquetWriter(head),
  },
  hledger: {
    mediaType: "text/plain; charset=utf-8",
    extension: "journal",
    open: ({ head }) => hledgerWriter(head),
  },
  ndjson: {
    mediaType: "application/x-ndjson; charset=utf-8",
    extension: "ndjson",
    open: ({ head }) => ndjsonWriter(head),
  },
  pdf: {
    mediaType: "application/pdf",
    extension: "pdf",
    // The library that draws pages is large, and most servers draw none.
    open: async (bill, ports) => (await import("./statement-pdf.ts")).statementWriter(bill, ports),
  },
} as const satisfies Readonly<Record<string, BillForm>>

/** The name of a format. */
export type BillFormat = keyof typeof BILL_FORMS

/** The names of all formats. */
export const BILL_FORMATS = Object.keys(BILL_FORMS) as [BillFormat, ...BillFormat[]]

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
