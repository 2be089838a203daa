/** Rows as arrays of columns: PostgreSQL gets back what was given, whatever the text. */
import fc from "fast-check"
import { sql } from "kysely"
import { expect, it } from "vitest"
import { kyselyOn } from "../../adapters/postgres/kysely-on.ts"
import type { Columns } from "../../projections/kernel/columns.ts"
import { unnested } from "../../projections/kernel/columns.ts"
import { databaseUnderTest } from "../postgres/database-under-test.ts"

interface Row {
  readonly t: string | null
  readonly n: number | null
  readonly i: number
  readonly b: boolean | null
  readonly at: Date | null
}
const COLUMNS: Columns<Row> = {
  t: "text",
  n: "bigint",
  i: "integer",
  b: "boolean",
  at: "timestamptz",
}

const database = await databaseUnderTest()
const pool = database.pool()

const instants = { min: Date.UTC(1, 0), max: Date.UTC(9999, 11, 31) }
const awkward = fc.constantFrom(
  "",
  "NULL",
  "null",
  "{}",
  '"',
  "\\",
  '\\"',
  ",",
  " a ",
  "\n",
  "é\u{1f600}",
)
const rows = fc.array(
  fc.record<Row>({
    t: fc.option(fc.oneof(awkward, fc.string({ unit: "grapheme" }))),
    n: fc.option(fc.maxSafeInteger()),
    i: fc.integer(),
    b: fc.option(fc.boolean()),
    at: fc.option(fc.integer(instants).map((ms) => new Date(ms))),
  }),
  { minLength: 1 },
)

it("gives back what it was given", async () => {
  const client = await pool.connect()
  try {
    const db = kyselyOn(client)
    await fc.assert(
      fc.asyncProperty(rows, async (given) => {
        const found = await sql<Row>`select * from ${unnested(COLUMNS, given, "x")}`.execute(db)
        // PostgreSQL's text has no U+0000: it is written as U+FFFD.
        const expected = given.map((row) => ({
          ...row,
          t: row.t?.replaceAll("\0", "\uFFFD") ?? null,
        }))
        expect(found.rows).toEqual(expected)
      }),
      { numRuns: 200 },
    )
  } finally {
    client.release()
  }
})

it("refuses a value that no column has", () => {
  const wrong = [{ t: { not: "text" }, n: 1, i: 1, b: true, at: null }] as unknown as Row[]
  expect(() => unnested(COLUMNS, wrong, "x")).toThrow(TypeError)
})
