import { describe, expect, it } from "vitest"
import type { ChargeRow } from "../../projections/charges.ts"
import { billingCsv } from "../../src/exports/billing-csv.ts"
import { COLUMNS, parse } from "./exported.ts"

describe("a line", () => {
  const LINE: ChargeRow = {
    company_id: "co_aaaaaa",
    revision: 7,
    kind: "charge",
    charge_id: "chg_1",
    corrects: null,
    state: "open",
    given_back_micros: 0,
    at: new Date(0),
    served_from: new Date(86_400_000),
    item: "thing",
    quantity: 2,
    unit_price_micros: 1,
    price_version: 3,
    amount_micros: -9_000_000_000_000_001,
    via: "own_key",
    person_id: null,
    key_id: null,
    class: "ai",
    resource: null,
    note: "=secret()",
  }
  const cells = (line: Partial<ChargeRow>) => parse(billingCsv([{ ...LINE, ...line }]))[0] ?? []
  const columns = COLUMNS.split(",")
  const cellOf = (name: string, line: Partial<ChargeRow>) => cells(line)[columns.indexOf(name)]

  it("gives money exactly, in micros and in dollars", () => {
    expect(cellOf("amount_micros", {})).toBe("-9000000000000001")
    expect(cellOf("amount_usd", {})).toBe("-9000000000.000001")
    expect(cellOf("amount_usd", { amount_micros: 0 })).toBe("0.00")
    expect(cellOf("served_from", {})).toBe("1970-01-02T00:00:00.000Z")
    expect(cellOf("unit", {})).toBe("")
    expect(billingCsv([LINE])).not.toContain("secret")
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

  it.each(["=1+1", "+1", "-1", "@a", "\t=1", "\r=1", "\n=1", '=HYPERLINK("x")'])(
    "cannot come alive in a spreadsheet by %j",
    (text) => {
      for (const name of ["charge_id", "corrects", "item", "resource"] as const) {
        expect(cellOf(name, { [name]: text }), name).toBe(`'${text}`)
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
})
