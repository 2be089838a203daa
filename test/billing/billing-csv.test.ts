/**
 * The bill formats and their headers. Customers' programs find columns by position: new ones are only appended,
 * and each change is listed in the CHANGELOG.
 */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { BillLine } from "../../projections/charging/billing-lines.ts"
import { csvWriter, ndjsonWriter } from "../../src/billing/billing-csv.ts"
import { BILL_CSV_COLUMNS, parseCsv, EMPTY_BILL_HEAD, SAMPLE_BILL_LINE } from "./bill-export.ts"
import { readFileSync } from "node:fs"
import type { BillWriter } from "../../src/billing/bill.ts"
import { focusCsvWriter } from "../../src/billing/formats.ts"
import { hledgerWriter } from "../../src/billing/hledger.ts"
import { wrapText } from "../../src/billing/statement-pages.ts"

/** A cell that a spreadsheet reads as a formula. */
const FORMULA = /^(?:[\t\r\n]|[\s\ufeff]*[=+\-@＝＋－＠﹦﹢﹣﹫−])/

/** Prefixes that spreadsheets read like the ASCII formula characters. */
const FULL_WIDTH = ["＝", "＋", "－", "＠", "﹦", "﹫", "−", " =", "\u3000=", "\ufeff="]
const columns = BILL_CSV_COLUMNS.split(",")
const textOf = (line: Partial<BillLine>) =>
  String(csvWriter(EMPTY_BILL_HEAD).lines([{ ...SAMPLE_BILL_LINE, ...line }]))
const cells = (line: Partial<BillLine>) => parseCsv(textOf(line))[0] ?? []
const cellOf = (name: string, line: Partial<BillLine>) => cells(line)[columns.indexOf(name)]

/** Columns whose text a customer may have chosen, with the line's field. */
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
  it("shows exact amounts in micro-dollars and in dollars", () => {
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
  ])("names the unit of %s: %j", (item, unit) => {
    expect(cellOf("unit", { item })).toBe(unit)
  })

  it.each([
    ["text_segment", "Text message segment"],
    ["a model", "a model"],
    ["toString", "toString"],
    ["=1+1", "'=1+1"],
    ["", ""],
  ])("names the item %s: %j", (item, name) => {
    expect(cellOf("item_name", { item })).toBe(name)
  })

  const formulas = ["=1+1", "+1", "-1", "@a", "\t=1", "\r=1", "\n=1", '=HYPERLINK("x")']
  it.each([...formulas, ...FULL_WIDTH.map((character) => `${character}1+1`)])(
    "is not a formula in a spreadsheet with the text %j",
    (text) => {
      for (const [column, field] of Object.entries(TEXTS)) {
        expect(cellOf(column, { [field]: text }), column).toBe(`'${text}`)
      }
    },
  )

  it.each(['a "quoted" word', "a,b", "a\r\nb", "a\nb", "ümläut \u{1F600}", "", " x "])(
    "keeps %j unchanged",
    (text) => {
      expect(cellOf("resource", { resource: text })).toBe(text)
      expect(cells({ resource: text })).toHaveLength(columns.length)
    },
  )

  it("has every cell, quoted and without formulas, for any text", () => {
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
        const found = parseCsv(textOf(line))
        expect(found).toHaveLength(1)
        expect(found[0]).toHaveLength(columns.length)
        for (const [column, field] of Object.entries(TEXTS)) {
          const cell = found[0]?.[columns.indexOf(column)] ?? "no cell"
          expect(cell).not.toMatch(FORMULA)
          const given = line[field]
          expect(cell).toBe(FORMULA.test(given) ? `'${given}` : given)
        }
      }),
    )
  })
})

describe("the last line", () => {
  const last = (head = EMPTY_BILL_HEAD) => parseCsv(String(csvWriter(head).end()))[0] ?? []

  it("has the month's state and the ledger head, and no amount", () => {
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

const golden = (file: string): string =>
  readFileSync(new URL(`../data/export-headers/${file}`, import.meta.url), "utf8")

/** The columns and their order (docs/decisions/billing.md). */
const DECIDED =
  "line_id,kind,charge_id,corrects,at,served_from,item,quantity,unit,unit_price_micros,amount_micros," +
  "amount_usd,person_id,key_id,class,resource,price_version"

const begun = (writer: BillWriter): string => String(writer.begin()).replaceAll("\r\n", "\n")

/** The names of the fields of JSON lines. */
const names = (text: string): readonly string[] =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => Object.keys(JSON.parse(line) as object).join(","))

describe("the header of", () => {
  it("csv", () => {
    expect(begun(csvWriter(EMPTY_BILL_HEAD))).toBe(golden("csv.txt"))
    expect(golden("csv.txt").replaceAll('"', "").startsWith(`${DECIDED},`)).toBe(true)
  })

  it("focus-csv", () => {
    expect(begun(focusCsvWriter(EMPTY_BILL_HEAD))).toBe(golden("focus-csv.txt"))
  })

  it("ndjson: the fields of a line and of the last line", () => {
    const writer = ndjsonWriter(EMPTY_BILL_HEAD)
    const lines = [
      ...names(String(writer.lines([SAMPLE_BILL_LINE]))),
      ...names(String(writer.end())),
    ]
    expect(`${lines.join("\n")}\n`).toBe(golden("ndjson.txt"))
    expect(lines[0]?.startsWith(`${DECIDED},`)).toBe(true)
  })

  it("hledger", () => {
    expect(begun(hledgerWriter(EMPTY_BILL_HEAD))).toBe(golden("hledger.txt"))
  })
})

/** The width of text in which each character is one point wide. */
const widthOf = (text: string) => [...text].length

describe("a name", () => {
  it.each([
    ["short", 9, ["short"]],
    ["two words here", 9, ["two words", "here"]],
    ["onelongword", 4, ["onel", "ongw", "ord"]],
    ["a onelongword", 4, ["a", "onel", "ongw", "ord"]],
    ["", 4, [""]],
  ])("%j is broken over lines %i wide", (text, width, lines) => {
    expect(wrapText(text, widthOf, width, 9)).toEqual(lines)
  })

  it("that is too long is shortened in the middle", () => {
    expect(wrapText("abcdefghijklmnopq-1", widthOf, 5, 2)).toEqual(["abcd…", "pq-1"])
    const lines = wrapText("abcdefghijklmnopq-2", widthOf, 5, 3)
    expect(lines).toEqual(["abcde", "fg…mn", "opq-2"])
  })

  it("is complete if it fits the lines, and keeps its start and end if not", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme" }),
        fc.integer({ min: 3, max: 30 }),
        fc.integer({ min: 1, max: 5 }),
        (text, width, most) => {
          const all = wrapText(text, widthOf, width, Infinity)
          expect(all.join("").replaceAll(" ", "")).toBe(text.replaceAll(" ", ""))
          const lines = wrapText(text, widthOf, width, most)
          expect(lines.length).toBeLessThanOrEqual(most)
          expect(lines.every((line) => widthOf(line) <= width)).toBe(true)
          if (all.length <= most) {
            expect(lines).toEqual(all)
            return
          }
          const [head = "", tail = ""] = lines.join(" ").split("…")
          expect(text.replaceAll(" ", "").startsWith(head.replaceAll(" ", ""))).toBe(true)
          expect(text.replaceAll(" ", "").endsWith(tail.replaceAll(" ", ""))).toBe(true)
        },
      ),
    )
  })
})
