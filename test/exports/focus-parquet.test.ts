import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DuckDBInstance } from "@duckdb/node-api"
import { afterAll, describe, expect, it } from "vitest"
import type { BillLine } from "../../projections/charging/billing-lines.ts"
import type { BillHead } from "../../src/exports/bill.ts"
import { FOCUS_COLUMNS } from "../../src/exports/focus.ts"
import { focusCsvWriter } from "../../src/exports/focus-csv.ts"
import { focusParquetWriter } from "../../src/exports/focus-parquet.ts"
import { HEAD, LINE } from "./a-bill.ts"
import { tableOf } from "./exported.ts"

const folder = await mkdtemp(join(tmpdir(), "focus-"))
afterAll(() => rm(folder, { recursive: true, force: true }))

/** The file of a bill whose lines come in pages of this size. */
async function bytesOf(lines: readonly BillLine[], pageLines: number, head: BillHead = HEAD) {
  const writer = focusParquetWriter(head)
  const pieces = [writer.begin()]
  for (let i = 0; i < lines.length; i += pageLines) {
    pieces.push(writer.lines(lines.slice(i, i + pageLines)))
  }
  pieces.push(await writer.end())
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece as Uint8Array)))
}

/** What another program reads in a file. */
async function readBack(bytes: Buffer, select: string) {
  const file = join(folder, "bill.parquet")
  await writeFile(file, bytes)
  const instance = await DuckDBInstance.create(":memory:")
  try {
    const connection = await instance.connect()
    const result = await connection.runAndReadAll(select.replaceAll("FILE", `'${file}'`))
    connection.closeSync()
    return result.getRowObjectsJson()
  } finally {
    instance.closeSync()
  }
}

const manyLines = (count: number): readonly BillLine[] =>
  Array.from({ length: count }, (_, i) => ({
    ...LINE,
    revision: i,
    at: i * 1_000,
    amountMicros: -i,
    item: i % 3 === 0 ? "text_segment" : `=item ${i} "ümläut" \u{1F600}`,
    kind: i % 7 === 0 ? "give_back" : "charge",
  }))

describe("a Parquet file, read by another program", () => {
  it("has the types of the columns", async () => {
    const found = await readBack(await bytesOf(manyLines(3), 3), "describe select * from FILE")
    const types = {
      text: "VARCHAR",
      dollars: "DECIMAL(18,6)",
      time: "TIMESTAMP",
      integer: "BIGINT",
    }
    expect(found.map((row) => [row["column_name"], String(row["column_type"])])).toEqual(
      FOCUS_COLUMNS.map(({ name, kind }) => [name, types[kind]]),
    )
  })

  it("has every line of the CSV, each with the same values, over several row groups", async () => {
    const lines = manyLines(45_001)
    const bytes = await bytesOf(lines, 5_000)
    const asText = FOCUS_COLUMNS.map(({ name, kind }) =>
      kind === "time" ? `strftime("${name}", '%Y-%m-%dT%H:%M:%SZ') as "${name}"` : `"${name}"`,
    )
    const places = [0, 1, 2, 7, 19_999, 20_000, 39_999, 45_000]
    const found = await readBack(
      bytes,
      `select ${asText.join(", ")} from read_parquet(FILE, file_row_number = true)
       where file_row_number in (${places.join(", ")}) order by file_row_number`,
    )
    const csv = focusCsvWriter(HEAD)
    const some = lines.filter((_, index) => places.includes(index))
    const table = tableOf(String(csv.begin()) + String(csv.lines(some)))
    for (const [i, index] of places.entries()) {
      for (const { name, kind } of FOCUS_COLUMNS) {
        const cell = found[i]?.[name] ?? ""
        const expected = table[i]?.[name] ?? "no cell"
        if (kind === "dollars") expect(Number(cell), name).toBe(Number(expected))
        else expect(String(cell), `${name} of line ${index}`).toBe(expected.replace(/^'/, ""))
      }
    }
    const [sums] = await readBack(
      bytes,
      `select count(*)::integer as lines, sum("BilledCost")::varchar as cost,
              sum("x_FundsChangeMicros")::varchar as micros from FILE`,
    )
    expect(sums).toEqual({ lines: 45_001, cost: "1012.522500", micros: "-1012522500" })
    const groups = await readBack(
      bytes,
      "select count(distinct row_group_id)::integer as groups from parquet_metadata(FILE)",
    )
    expect(groups).toEqual([{ groups: 3 }])
  })

  it("keeps the dearest charge exact", async () => {
    const found = await readBack(
      await bytesOf([LINE], 1),
      'select "BilledCost"::varchar as cost from FILE',
    )
    expect(found).toEqual([{ cost: "9000000000.000001" }])
  })

  it("says in its own metadata which month it is and where it ends, also without a line", async () => {
    const bytes = await bytesOf([], 1, { ...HEAD, state: "closed" })
    const found = await readBack(
      bytes,
      "select decode(key) as key, decode(value) as value from parquet_kv_metadata(FILE)",
    )
    expect(found).toEqual([
      { key: "focus.version", value: "1.2" },
      { key: "ledger.month", value: "1970-01" },
      { key: "ledger.state", value: "closed" },
      { key: "ledger.head", value: `ledger-co_aaaaaa@41:${"ab".repeat(32)}` },
    ])
    expect(await readBack(bytes, "select count(*)::integer as lines from FILE")).toEqual([
      { lines: 0 },
    ])
  })

  it("is the same bytes for the same lines", async () => {
    const lines = manyLines(20_001)
    const twice = [await bytesOf(lines, 5_000), await bytesOf(lines, 5_000)]
    expect(twice[0]?.equals(twice[1] ?? Buffer.alloc(0))).toBe(true)
  })
})
