import { describe, expect, it } from "vitest"
import { LEDGER_TABLES } from "./ledger.table.ts"
import { playTable } from "./table-player.ts"

describe("the ledger answers as in the table", () => {
  it.each(Object.entries(LEDGER_TABLES))("%s", (_case, table) => {
    expect(playTable(table)).toBe(table)
  })

  it("and differently from a table with a wrong answer", () => {
    const wrong = `
    2026-03-10 09:00  funds   0.01                   -> ok
    2026-03-10 09:01  charge  chg_1  company  0.02   -> yes`
    expect(playTable(wrong)).toContain("-> no: payment_required, funds 0.01")
  })
})
