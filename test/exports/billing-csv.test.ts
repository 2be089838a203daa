import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { BillLine } from "../../projections/charging/billing-lines.ts"
import { csvWriter } from "../../src/exports/billing-csv.ts"
import { COLUMNS, parse } from "./exported.ts"
import { HEAD, LINE } from "./a-bill.ts"

/** A cell that a spreadsheet would take for a formula. */
const LIVE = /^(?:[\t\r\n]|[\s\ufeff]*[=+\-@＝＋－＠﹦﹢﹣﹫−])/

/** Characters that spreadsheets read as the formula characters of ASCII. */
const FULL_WIDTH = ["＝", "＋", "－", "＠", "﹦", "﹫", "−", " =", "\u3000=", "\ufeff="]

const columns = COLUMNS.split(",")
const textOf = (line: Partial<BillLine>) => String(csvWriter(HEAD).lines([{ ...LINE, ...line }]))
const cells = (line: Partial<BillLine>) => parse(textOf(line))[0] ?? []
const cellOf = (name: string, line: Partial<BillLine>) => cells(line)[columns.indexOf(name)]

/** Columns whose text somebody outside may have chosen, by the name of the line's field. */
const TEXTS = {
  charge_id: "chargeId",
  corrects: "corrects",
  item: "item",
  person_id: "personId",
  key_id: "keyId",
  resource: "resource",
  description: "description",
} as const

describe("a line", () => {
  it("gives money exactly, in micros and in dollars", () => {
    expect(cellOf("amount_micros", {})).toBe("-9000000000000001")
    expect(cellOf("amount_usd", {})).toBe("-9000000000.000001")
    expect(cellOf("amount_usd", { amountMicros: 0 })).toBe("0.00")
    expect(cellOf("served_from", {})).toBe("1970-01-02T00:00:00.000Z")
    expect(cellOf("unit", {})).toBe("")
  })

  it.each([
    ["text_segment", "segment"],
    ["api_call", "call"],
    ["number_month_toll_free", "month"],
    ["call_minute", "minute"],
    ["deploy", ""],
  ])("says what one of %s is: %j", (item, unit) => {
    expect(cellOf("unit", { item })).toBe(unit)
  })

  it.each([
    ["text_segment", "Text message segment"],
    ["a model", "a model"],
    ["toString", "toString"],
    ["=1+1", "'=1+1"],
    ["", ""],
  ])("says what %s is called: %j", (item, name) => {
    expect(cellOf("item_name", { item })).toBe(name)
  })

  const live = ["=1+1", "+1", "-1", "@a", "\t=1", "\r=1", "\n=1", '=HYPERLINK("x")']
  it.each([...live, ...FULL_WIDTH.map((character) => `${character}1+1`)])(
    "cannot come alive in a spreadsheet by %j",
    (text) => {
      for (const [column, field] of Object.entries(TEXTS)) {
        expect(cellOf(column, { [field]: text }), column).toBe(`'${text}`)
      }
    },
  )

  it.each(['a "quoted" word', "a,b", "a\r\nb", "a\nb", "ümläut \u{1F600}", "", " x "])(
    "keeps %j as it is",
    (text) => {
      expect(cellOf("resource", { resource: text })).toBe(text)
      expect(cells({ resource: text })).toHaveLength(columns.length)
    },
  )

  it("has its cells, quoted and without a formula, whatever text stands in it", () => {
    const start = fc.constantFrom(
      "",
      "=",
      "+",
      "-",
      "@",
      "\t",
      "\r",
      '"',
      ",",
      "\n",
      "'",
      ...FULL_WIDTH,
    )
    const anyText = fc.tuple(start, fc.string({ unit: "grapheme" })).map((parts) => parts.join(""))
    const texts = fc.record(
      Object.fromEntries(Object.values(TEXTS).map((field) => [field, anyText])) as Record<
        (typeof TEXTS)[keyof typeof TEXTS],
        fc.Arbitrary<string>
      >,
    )
    fc.assert(
      fc.property(texts, (line) => {
        const found = parse(textOf(line))
        expect(found).toHaveLength(1)
        expect(found[0]).toHaveLength(columns.length)
        for (const [column, field] of Object.entries(TEXTS)) {
          const cell = found[0]?.[columns.indexOf(column)] ?? "no cell"
          expect(cell).not.toMatch(LIVE)
          const given = line[field] as string
          expect(cell).toBe(LIVE.test(given) ? `'${given}` : given)
        }
      }),
    )
  })
})

describe("the last line", () => {
  const last = (head = HEAD) => parse(String(csvWriter(head).end()))[0] ?? []

  it("says how the month stands and where in the ledger its bill ends, and weighs nothing", () => {
    expect(last()).toHaveLength(columns.length)
    const row = Object.fromEntries(columns.map((name, i) => [name, last()[i]]))
    expect(row).toMatchObject({
      line_id: "co_aaaaaa:1970-01",
      kind: "open",
      at: "1970-01-31T23:59:59.999Z",
      item: "ledger_head",
      amount_micros: "0",
      amount_usd: "0.00",
      resource: `ledger-co_aaaaaa@41:${"ab".repeat(32)}`,
    })
  })
})
