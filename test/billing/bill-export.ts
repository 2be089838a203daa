/** Bill exports for tests: a sample head and line, and helpers to export and parse a month. */
import { ZERO_MONTH_SUMS } from "../../domain/charging/months.ts"
import type { BillLine } from "../../projections/charging/billing-lines.ts"
import type { BillHead } from "../../src/billing/bill.ts"
import { PROGRAM } from "../../src/slices.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import type { Company, World } from "../support/world.ts"

/** The head of an open month without lines. */
export const EMPTY_BILL_HEAD: BillHead = {
  companyId: "co_aaaaaa",
  issuer: "Company Platform",
  month: "1970-01",
  from: 0,
  until: 31 * 86_400_000,
  state: "open",
  openingMicros: 0,
  closingMicros: 0,
  sums: ZERO_MONTH_SUMS,
  head: { revision: 41, hash: "ab".repeat(32) },
}

/** A charge of two things with the largest possible amount. */
export const SAMPLE_BILL_LINE: BillLine = {
  revision: 7,
  kind: "charge",
  chargeId: "chg_1",
  corrects: "",
  correctedAt: null,
  at: 0,
  servedFrom: 86_400_000,
  item: "thing",
  quantity: "2",
  unitPriceMicros: "1",
  amountMicros: -9_000_000_000_000_001,
  personId: "",
  keyId: "",
  class: "ai",
  resource: "",
  priceVersion: "3",
  description: "",
}

export const BILL_CSV_COLUMNS =
  "line_id,kind,charge_id,corrects,at,served_from,item,quantity,unit,unit_price_micros," +
  "amount_micros,amount_usd,person_id,key_id,class,resource,price_version,description,item_name"

/** Parses CSV strictly by RFC 4180. */
export function parseCsv(text: string): readonly (readonly string[])[] {
  const rows: string[][] = []
  let at = 0
  while (at < text.length) {
    const row: string[] = []
    for (;;) {
      const cell = /"((?:[^"]|"")*)"|([^",\r\n]*)/y
      cell.lastIndex = at
      const found = cell.exec(text)
      row.push(found?.[1]?.replaceAll('""', '"') ?? found?.[2] ?? "")
      at = cell.lastIndex
      if (text[at] !== ",") break
      at += 1
    }
    if (text.slice(at, at + 2) !== "\r\n") throw new Error(`no line ends at ${at}`)
    at += 2
    rows.push(row)
  }
  return rows
}

/** The result of `export billing`. */
interface BillExportResult {
  readonly state: string
  readonly fundsChangeMicros: number
  readonly openingMicros: number
  readonly closingMicros: number
  readonly headRevision: number | null
  readonly head: string | null
}

/** An exported month's file, its rows and the result. */
export type BillExport = Awaited<ReturnType<typeof exportMonth>>

/** Exports a month as CSV; `onChunk` runs after each chunk. */
export async function exportMonth(
  world: World,
  company: Pick<Company, "companyId">,
  month: string,
  onChunk: () => Promise<void> = async () => undefined,
  signal: AbortSignal = new AbortController().signal,
) {
  const options = { onChunk, signal }
  const { bytes, chunks, result } = await exportMonthAs(world, company, month, "csv", options)
  const text = bytes.toString("utf8")
  const rows = csvRecords(text)
  // The last line has the month's state and the ledger head where it ends.
  return { text, bytes, chunks, lines: rows.slice(0, -1), last: rows.at(-1), result }
}

/** The rows of a CSV as records, by the names of its header. */
export function csvRecords(text: string): readonly Readonly<Record<string, string>>[] {
  const [header = [], ...rows] = parseCsv(text)
  return rows.map((row) => Object.fromEntries(header.map((name, i) => [name, row[i] ?? "no cell"])))
}

/** Exports a month in any format. */
export async function exportMonthAs(
  world: World,
  company: Pick<Company, "companyId">,
  month: string,
  format: string,
  options: {
    readonly onChunk?: () => Promise<void>
    readonly signal?: AbortSignal
    readonly progress?: (message: string) => void
  } = {},
) {
  const found = PROGRAM.operations.find(({ name }) => name === "export billing")
  const chunks: (string | Uint8Array)[] = []
  const context = {
    ports: world.ports,
    cause: causedBy("test"),
    progress: options.progress ?? (() => undefined),
    send: async (chunk: string | Uint8Array) => {
      chunks.push(chunk)
      await options.onChunk?.()
    },
    signal: options.signal ?? new AbortController().signal,
  }
  const input = { company: company.companyId, month, format }
  const result = (await found?.run(context, found.input.parse(input))) as BillExportResult
  const bytes = Buffer.concat(chunks.map((chunk) => Buffer.from(chunk as string)))
  return { bytes, chunks: chunks.length, result }
}
