/**
 * FOCUS 1.2 as Apache Parquet: money is DECIMAL(18, 6), exact to the micro; instants are
 * TIMESTAMP_MILLIS in UTC; the head stands in the file's own key-value metadata too.
 *
 * Lines gather to row groups, so that a bill of any length is written in the same memory.
 */
import type { ColumnSource, SchemaElement } from "hyparquet-writer"
import { ByteWriter, ParquetWriter } from "hyparquet-writer"
import type { BillLine } from "../../projections/charging/billing-lines.ts"
import type { BillHead, BillWriter } from "./bill.ts"
import { headText } from "./bill.ts"
import type { FocusColumn } from "./focus.ts"
import { FOCUS_COLUMNS } from "./focus.ts"

const GROUP_LINES = 20_000

const FORMS: Readonly<Record<FocusColumn["kind"], Omit<SchemaElement, "name">>> = {
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
      return { name, repetition_type: "OPTIONAL", ...FORMS[kind] }
    }),
  ]
  const kvMetadata = [
    { key: "focus.version", value: "1.2" },
    { key: "ledger.month", value: head.month },
    { key: "ledger.state", value: head.state },
    { key: "ledger.head", value: headText(head) },
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
    begin: () => taken(bytes),
    lines: (lines) => {
      waiting.push(...lines)
      if (waiting.length >= GROUP_LINES) writeGroup()
      return taken(bytes)
    },
    end: () => {
      writeGroup()
      void writer.finish()
      return taken(bytes)
    },
  }
}

/** Takes what was written out of the buffer; offsets go on counting. */
function taken(bytes: ByteWriter): Uint8Array {
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
