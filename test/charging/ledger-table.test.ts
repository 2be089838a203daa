import { describe, expect, it } from "vitest"
import { TABLES } from "./ledger.table.ts"
import { playTable } from "./table-player.ts"

const tables = Object.entries(TABLES)

describe("the ledger answers as its tables say", () => {
  it.each(tables)("%s", (_what, table) => {
    expect(playTable(table)).toBe(table)
  })

  it.each(tables)("in columns: %s", (_what, table) => {
    const lines = table.split("\n").filter((line) => line.trim() !== "")
    const columns = new Set(lines.map((line) => line.indexOf(" -> ")))
    expect([...columns]).toEqual([expect.any(Number)])
    expect(columns).not.toContain(-1)
  })
})

describe("a table", () => {
  it("is not what it was where an answer is wrong", () => {
    const wrong = `
    2026-03-10 09:00  funds   0.01                   -> ok
    2026-03-10 09:01  charge  chg_1  company  0.02   -> yes`
    expect(playTable(wrong)).toContain("-> no: payment_required, funds 0.01")
  })

  it("knows no step that there is not, and no box that did not start", () => {
    expect(() => playTable("2026-03-10 09:00  pray for more  -> ok")).toThrow("no such step: pray")
    expect(() => playTable("2026-03-10 09:00  minute box_1 1  -> ok")).toThrow("no such box: box_1")
    expect(() => playTable("2026-03-10 09:00  by hand chg_1  -> ok")).toThrow("no such charge")
    expect(() => playTable("2026-03-10 09:00  call company  -> ok")).toThrow("a call needs a key")
  })
})
