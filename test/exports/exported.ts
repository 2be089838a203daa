/** Exports of bills, read as whoever gets the file would read it. */
import { ADMIN_OPERATIONS } from "../../src/admin/index.ts"
import { causedBy } from "../../src/envelope.ts"
import type { Company, World } from "../support/world.ts"

/** The columns of the bill, as they are promised. */
export const COLUMNS =
  "line_id,kind,charge_id,corrects,at,served_from,item,quantity,unit,unit_price_micros," +
  "amount_micros,amount_usd,person_id,key_id,class,resource,price_version"

/** Rows of cells of a CSV as RFC 4180 has it, read by the letter. */
export function parse(text: string): readonly (readonly string[])[] {
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

/** A month's bill as it was sent, and what was said of it. */
export interface Export {
  readonly text: string
  readonly chunks: number
  readonly lines: readonly Readonly<Record<string, string>>[]
  readonly result: {
    readonly state: string
    readonly lines: number
    readonly totalMicros: number
    readonly openingMicros: number
    readonly closingMicros: number
    readonly headRevision: number | null
    readonly head: string | null
  }
}

/** Exports a month; `onChunk` runs after each piece that was sent. */
export async function exported(
  world: World,
  company: Company,
  month: string,
  onChunk: () => Promise<void> = async () => undefined,
  signal: AbortSignal = new AbortController().signal,
): Promise<Export> {
  const found = ADMIN_OPERATIONS.find(({ name }) => name === "export billing")
  const chunks: string[] = []
  const context = {
    ports: world.ports,
    cause: causedBy("test"),
    progress: () => undefined,
    send: async (chunk: string) => {
      chunks.push(chunk)
      await onChunk()
    },
    signal,
  }
  const input = { company: company.companyId, month, format: "csv" }
  const result = (await found?.run(context, found.input.parse(input))) as Export["result"]
  const text = chunks.join("")
  const [header = [], ...rows] = parse(text)
  const lines = rows.map((row) =>
    Object.fromEntries(header.map((name, i) => [name, row[i] ?? "no cell"])),
  )
  return { text, chunks: chunks.length, lines, result }
}
