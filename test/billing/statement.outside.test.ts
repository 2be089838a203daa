import { beforeEach, describe, expect, it } from "vitest"
import type { BillLine } from "../../projections/charging/billing-lines.ts"
import { openSpendingTotals, OTHERS_ROW } from "../../src/billing/statement.ts"
import type { KeyId } from "../../domain/kernel/ids.ts"
import { executeCommands } from "../projections/ledger-requests.ts"
import { chargeCommandFor } from "../projections/every-fact.ts"
import { makeCallsFree, makeCompany, makeKey, ownWorld, type Company } from "../support/world.ts"
import { SAMPLE_BILL_LINE, exportMonthAs } from "./bill-export.ts"
import { missingProgramReason, runTool } from "./programs.ts"

const absent = missingProgramReason("pdftotext")
const needed = absent ?? "pdftotext is installed here"
const world = await ownWorld("time")
let company: Company
/** A test that moves the clock past March makes the next test use the next year. */
let year = 2031
await makeCallsFree(world)
const march = () => Date.parse(`${year}-03-10T12:00:00.000Z`)
beforeEach(async () => {
  // Each month that passes is closed for every company, which takes time.
  if (world.ports.clock.now() > march()) year += 1
  if (world.ports.clock.now() < march()) {
    await world.operate("clock set", { to: new Date(march()).toISOString() })
  }
  company = await makeCompany(world, { funds: "1234.5" })
})

const pdf = async () => (await exportMonthAs(world, company, `${year}-03`, "pdf")).bytes
/** The text of a statement, with single spaces between cells. */
const textOf = (bytes: Buffer) =>
  runTool("pdftotext", ["-layout", "-", "-"], bytes).replaceAll(/[ \t]+/g, " ")

/** Makes two charges by the owner, and refunds a part of one. */
async function spend(): Promise<void> {
  const owner = { personId: company.ownerId, via: "person", keyId: null } as const
  const one = { unitPriceMicros: 2_000_000, amountMicros: 2_000_000 }
  await executeCommands(
    world,
    company,
    chargeCommandFor({ chargeId: "chg_1", item: "a model", ...owner, ...one }),
    chargeCommandFor({ chargeId: "chg_2", item: "deploy", ...owner, ...one, isPending: true }),
    { type: "RefundPendingCharge", chargeId: "chg_2", amountMicros: 500_000, reason: "failed" },
  )
}

describe("a statement", () => {
  it("shows the company, the month, the changes of the funds and the spending", async (ctx) => {
    ctx.skip(absent !== null, needed)
    await spend()
    const { name } = await world.operate("company show", { company: company.companyId })
    const text = textOf(await pdf())
    for (const expected of [
      "Statement",
      "From: Company Platform",
      `To: ${name} (${company.companyId})`,
      `Number: ${company.companyId}-${year}-03`,
      "Date: none yet",
      `For: 1 to 31 March ${year}, UTC`,
      "This month is open",
      `Opening funds, ${year}-03-01 $0.00`,
      "Funds added $1,234.50",
      "Charged (2 charges) -$4.00",
      "Refunded $0.50",
      "Closing funds so far $1,231.00",
      "a model 1 $2.00 $0.00 $2.00",
      "Publish 1 $2.00 $0.50 $1.50",
      `Owner 2 $4.00 $0.50 $3.50\n${company.ownerId}\n`,
      "No key 2 $4.00 $0.50 $3.50",
      "Everything else 2 $4.00 $0.50 $3.50",
      "Total 2 $4.00 $0.50 $3.50",
      `Ends at ledger-${company.companyId}@`,
    ]) {
      expect(text).toContain(expected)
    }
  })

  it("shows a key's label at the month's end above its id, or only the id", async (ctx) => {
    ctx.skip(absent !== null, needed)
    const { companyId } = company
    const { keyId } = await makeKey(world, company, { label: "Night jobs" })
    const by = (id: string, chargeId: string) => chargeCommandFor({ chargeId, keyId: id as KeyId })
    await executeCommands(world, company, by(keyId, "chg_1"), by(company.keyId, "chg_2"))
    const text = textOf(await pdf())
    expect(text).toMatch(new RegExp(`^ ?Night jobs 1 .*\\n ?${keyId}$`, "m"))
    expect(text).toMatch(new RegExp(`^ ?${company.keyId} 1 `, "m"))
    await world.operate("clock set", { to: `${year}-04-02T00:00:00.000Z` })
    const closed = textOf(await pdf())
    expect(closed).toContain("Night jobs 1 ")
    await world.operate("key delete", { keyId })
    expect(textOf(await pdf())).toBe(closed)
    await world.operate("company delete", { company: companyId })
    await world.operate("clock advance", { duration: "20d" })
    await world.operate("wait")
    const erased = textOf(await pdf())
    expect(erased).not.toContain("Night jobs")
    expect(erased).toMatch(new RegExp(`^ ?${keyId} 1 `, "m"))
  })

  it("aligns amounts by using the same number of decimals", async (ctx) => {
    ctx.skip(absent !== null, needed)
    await spend()
    await executeCommands(
      world,
      company,
      chargeCommandFor({ chargeId: "chg_3", item: "tiny", amountMicros: 20, unitPriceMicros: 20 }),
    )
    const text = textOf(await pdf())
    expect(text).toContain("tiny 1 $0.00002 $0.00000 $0.00002")
    expect(text).toContain("Publish 1 $2.00000 $0.50000 $1.50000")
    expect(text).toContain("Funds added $1,234.50000")
    expect(text).not.toMatch(/\$[\d,]+\.\d{2}\b/)
  })

  it("wraps a long name, and never cuts an id off", async (ctx) => {
    ctx.skip(absent !== null, needed)
    await world.operate("person change", { personId: company.ownerId, name: "x".repeat(100) })
    await spend()
    const text = textOf(await pdf())
    const [, first = "", second = "", third = ""] =
      new RegExp(`^ ?(x+) 2 .*\\n ?(x+)\\n(?: ?(x+)\\n)? ?${company.ownerId}$`, "m").exec(text) ??
      []
    expect(first.length + second.length + third.length).toBe(100)
  })

  it("distinguishes items with the same start, even if they exceed three lines", async (ctx) => {
    ctx.skip(absent !== null, needed)
    const alike = "Tokens of a large language model with a long context, read from its cache, for"
    const items = [`${alike} the writers`, `${alike} the readers`]
    const long = [`${"very ".repeat(90)}long A`, `${"very ".repeat(90)}long B`]
    const spending = [...items, ...long].map((item, i) =>
      chargeCommandFor({ chargeId: `chg_${i}`, item }),
    )
    await executeCommands(world, company, ...spending)
    const words = textOf(await pdf())
      .replaceAll(/ 1 (\$[\d,.]+ ?)+/g, "")
      .replaceAll(/\s+/g, " ")
    for (const item of items) expect(words).toContain(item)
    expect(words).toMatch(/very [very ]*… ?[very ]+long A /)
    expect(words).toMatch(/very [very ]*… ?[very ]+long B /)
  })

  it("never truncates an amount, even the largest with six decimals", async (ctx) => {
    ctx.skip(absent !== null, needed)
    await world.operate("funds correct", { company: company.companyId, dollars: "4500000000" }, "x")
    await world.operate("funds correct", { company: company.companyId, dollars: "4499998765" }, "x")
    const amountMicros = 8_999_999_999_123_456
    const item = "a thing whose name must give way"
    await executeCommands(
      world,
      company,
      chargeCommandFor({
        chargeId: "chg_1",
        item,
        amountMicros,
        unitPriceMicros: amountMicros,
        isPending: true,
      }),
      {
        type: "RefundPendingCharge",
        chargeId: "chg_1",
        amountMicros: amountMicros - 1,
        reason: "failed",
      },
    )
    const text = textOf(await pdf())
    expect(text).not.toContain("…")
    const cells = "1 $8,999,999,999.123456 $8,999,999,999.123455 $0.000001"
    expect(text.split(cells).length - 1).toBe(8)
    for (const title of ["Item", "Person", "Key", "Class"]) {
      expect(text).toContain(`${title} Charges Charged Refunded Spent`)
    }
    expect(text.replaceAll(/( \$?[\d,.]+)+(?=\n)/g, "").replaceAll(/\s+/g, " ")).toContain(item)
    expect(text).toContain("-$8,999,999,999.123456")
  })

  it("shows the code point of a character that its font lacks", async (ctx) => {
    ctx.skip(absent !== null, needed)
    await executeCommands(
      world,
      company,
      chargeCommandFor({ chargeId: "chg_1", item: "é\u{6F22}b" }),
    )
    expect(textOf(await pdf())).toContain("é[U+6F22]b 1 ")
  })

  it("embeds its fonts, and is dated by its month", async (ctx) => {
    ctx.skip(absent !== null, needed)
    await spend()
    const bytes = await pdf()
    const fonts = runTool("pdffonts", ["-"], bytes).split("\n").slice(2).filter(Boolean)
    expect(fonts).toHaveLength(2)
    for (const font of fonts) expect(font).toMatch(/\+DejaVuSans.* yes yes yes /)
    const info = runTool("pdfinfo", ["-isodates", "-"], bytes)
    expect(info).toMatch(new RegExp(`CreationDate:\\s+${year}-03-01T00:00:00Z`))
  })

  it("of a closed month never changes its bytes, even if a person is renamed", async () => {
    await spend()
    await world.operate("clock set", { to: `${year}-04-02T00:00:00.000Z` })
    const before = await pdf()
    await world.operate("person change", { personId: company.ownerId, name: "Another Name" })
    await executeCommands(world, company, chargeCommandFor({ chargeId: "chg_3" }))
    expect((await pdf()).equals(before)).toBe(true)
    const april = await exportMonthAs(world, company, `${year}-04`, "pdf")
    if (absent !== null) return
    expect(textOf(before)).toContain("This month is closed")
    expect(textOf(before)).toContain(`Date: 1 April ${year}`)
    expect(textOf(before)).toContain(`Closing funds, ${year}-03-31 $1,231.00`)
    expect(textOf(before)).not.toContain("Another Name")
    expect(textOf(april.bytes)).toContain(company.companyId)
  })

  it("shows that nothing was spent in a month without charges", async (ctx) => {
    ctx.skip(absent !== null, needed)
    expect(textOf(await pdf())).toContain("Nothing was spent.")
  })

  it("has more pages for many items, and adds up all of them", async (ctx) => {
    ctx.skip(absent !== null, needed)
    const many = Array.from({ length: 300 }, (_, i) =>
      chargeCommandFor({
        chargeId: `chg_${i}`,
        item: `thing ${i}`,
        amountMicros: 1_000_000,
        unitPriceMicros: 1_000_000,
      }),
    )
    await executeCommands(world, company, ...many)
    const text = textOf(await pdf())
    expect(text).toContain("Others 101 $101.00 $0.00 $101.00")
    expect(text).toContain("Total 300 $300.00 $0.00 $300.00")
    expect(text).toMatch(/ 1\/[5-9]\n/)
  })
})

describe("names of an erased company", () => {
  it("are replaced by ids, and the sums stay", async (ctx) => {
    ctx.skip(absent !== null, needed)
    await spend()
    await world.operate("clock set", { to: `${year}-04-02T00:00:00.000Z` })
    const { name } = await world.operate("company show", { company: company.companyId })
    expect(textOf(await pdf())).toContain("Owner")
    await world.operate("company delete", { company: company.companyId })
    await world.operate("clock advance", { duration: "20d" })
    await world.operate("wait")
    const text = textOf(await pdf())
    expect(text).not.toContain("Owner")
    expect(text).not.toContain(name)
    expect(text).toContain(` 2 $4.00 $0.50 $3.50\n${company.ownerId}\n`)
  })
})

describe("the sums of spending", () => {
  it("have at most 200 rows, with one for all others, and keep every sum", () => {
    const spending = openSpendingTotals()
    const lines = Array.from({ length: 20_000 }, (_, i): BillLine => {
      return { ...SAMPLE_BILL_LINE, item: `item ${i}`, personId: "", amountMicros: -1 - (i % 2) }
    })
    spending.add(lines)
    const { byItem, byPerson } = spending.totals()
    expect(byItem).toHaveLength(200)
    expect(byItem[0]).toMatchObject({ name: OTHERS_ROW, charges: 10_000 })
    const sum = byItem.reduce((total, row) => total + row.chargedMicros, 0)
    expect(sum).toBe(30_000)
    expect(byPerson).toEqual([
      { name: "", charges: 20_000, chargedMicros: 30_000, refundedMicros: 0 },
    ])
  })
})
