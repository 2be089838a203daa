/** The formats of bills. Each is a writer for the same lines. */
import type { BillWriter, BillHead } from "./bill.ts"
import { csvWriter, CSV_LINE_END, csvTextCell, ndjsonWriter } from "./billing-csv.ts"
import type { FocusColumn } from "./focus.ts"
import { focusParquetWriter, FOCUS_COLUMNS } from "./focus.ts"
import { hledgerWriter } from "./hledger.ts"
import type { BillPorts, OpenedBill } from "./open-bill.ts"
import { formatInstant } from "../../domain/kernel/instant.ts"
import { formatDollars } from "../../domain/kernel/money.ts"

export interface BillFormatSpec {
  readonly mediaType: string
  /** The extension of file names. */
  readonly extension: string
  readonly openWriter: (bill: OpenedBill, ports: BillPorts) => BillWriter | Promise<BillWriter>
}

/** Every format by its name. */
export const BILL_FORMAT_SPECS = {
  csv: {
    mediaType: "text/csv; charset=utf-8",
    extension: "csv",
    openWriter: ({ head }) => csvWriter(head),
  },
  "focus-csv": {
    mediaType: "text/csv; charset=utf-8",
    extension: "focus.csv",
    openWriter: ({ head }) => focusCsvWriter(head),
  },
  "focus-parquet": {
    mediaType: "application/vnd.apache.parquet",
    extension: "focus.parquet",
    openWriter: ({ head }) => focusParquetWriter(head),
  },
  hledger: {
    mediaType: "text/plain; charset=utf-8",
    extension: "journal",
    openWriter: ({ head }) => hledgerWriter(head),
  },
  ndjson: {
    mediaType: "application/x-ndjson; charset=utf-8",
    extension: "ndjson",
    openWriter: ({ head }) => ndjsonWriter(head),
  },
  pdf: {
    mediaType: "application/pdf",
    extension: "pdf",
    // The PDF library is large, so it is loaded when it is needed.
    openWriter: async (bill, ports) =>
      (await import("./statement-pdf.ts")).statementWriter(bill, ports),
  },
} as const satisfies Readonly<Record<string, BillFormatSpec>>

export type BillFormat = keyof typeof BILL_FORMAT_SPECS

/** The names of all formats. */
export const BILL_FORMATS = Object.keys(BILL_FORMAT_SPECS) as [BillFormat, ...BillFormat[]]

/** Writes a bill as a FOCUS CSV file. */
export function focusCsvWriter(head: BillHead): BillWriter {
  return {
    begin: () => `${FOCUS_COLUMNS.map(({ name }) => csvTextCell(name)).join(",")}${CSV_LINE_END}`,
    lines: (lines) => {
      let text = ""
      for (const line of lines) {
        const cells = FOCUS_COLUMNS.map((column) => cellOf(column, column.valueOf(line, head)))
        text += cells.join(",") + CSV_LINE_END
      }
      return text
    },
    end: () => "",
  }
}

function cellOf({ kind }: FocusColumn, value: string | number | null): string {
  if (value === null) return ""
  if (typeof value === "string") return csvTextCell(value)
  if (kind === "dollars") return formatDollars(value)
  if (kind === "time") return csvTextCell(`${formatInstant(value).slice(0, 19)}Z`)
  return String(value)
}
