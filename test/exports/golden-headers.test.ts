/**
 * The header of each format, letter by letter. Programs of customers find columns by their place: one is only
 * ever appended, and a change stands in the CHANGELOG.
 */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import type { BillWriter } from "../../src/exports/bill.ts"
import { csvWriter } from "../../src/exports/billing-csv.ts"
import { ndjsonWriter } from "../../src/exports/billing-ndjson.ts"
import { focusCsvWriter } from "../../src/exports/focus-csv.ts"
import { hledgerWriter } from "../../src/exports/hledger.ts"
import { HEAD, LINE } from "./a-bill.ts"

const golden = (file: string): string =>
  readFileSync(new URL(`../data/export-headers/${file}`, import.meta.url), "utf8")

/** The columns that the decisions give, in their order (decisions.md §10). */
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
    expect(begun(csvWriter(HEAD))).toBe(golden("csv.txt"))
    expect(golden("csv.txt").replaceAll('"', "").startsWith(`${DECIDED},`)).toBe(true)
  })

  it("focus-csv", () => {
    expect(begun(focusCsvWriter(HEAD))).toBe(golden("focus-csv.txt"))
  })

  it("ndjson: the fields of a line and of the last line", () => {
    const writer = ndjsonWriter(HEAD)
    const lines = [...names(String(writer.lines([LINE]))), ...names(String(writer.end()))]
    expect(`${lines.join("\n")}\n`).toBe(golden("ndjson.txt"))
    expect(lines[0]?.startsWith(`${DECIDED},`)).toBe(true)
  })

  it("hledger", () => {
    expect(begun(hledgerWriter(HEAD))).toBe(golden("hledger.txt"))
  })
})
