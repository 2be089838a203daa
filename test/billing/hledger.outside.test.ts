import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import type { BillLine } from "../../projections/charging/billing-lines.ts"
import type { BillHead } from "../../src/billing/bill.ts"
import { hledgerWriter } from "../../src/billing/hledger.ts"
import { testFolder } from "../operator/fake-host.ts"
import { EMPTY_BILL_HEAD, SAMPLE_BILL_LINE } from "./bill-export.ts"
import { missingProgramReason, runTool } from "./programs.ts"

const absent = missingProgramReason("hledger")
const needed = absent ?? "hledger is installed here"
const MARCH: BillHead = {
  ...EMPTY_BILL_HEAD,
  month: "2031-03",
  from: Date.parse("2031-03-01T00:00:00Z"),
  until: Date.parse("2031-04-01T00:00:00Z"),
  openingMicros: 1_000_001,
}
const AT = Date.parse("2031-03-10T12:34:56.789Z")
const TEXT: BillLine = {
  ...SAMPLE_BILL_LINE,
  at: AT,
  item: "text_segment",
  class: "general",
  amountMicros: -18_000,
  resource: "msg_1@abcdef",
  keyId: "key_1",
}
const NONE = { item: "", class: "", chargeId: "", quantity: "" }
const LINES: readonly BillLine[] = [
  { ...TEXT, ...NONE, kind: "purchase", amountMicros: 5_000_000, resource: "pur_1" },
  TEXT,
  { ...TEXT, kind: "api_calls", item: "api_call", chargeId: "key_1:-:2031-03-09", class: "ai" },
  { ...TEXT, kind: "rent", item: "number_month_local" },
  { ...TEXT, item: "a model's own name", class: "ai" },
  { ...TEXT, kind: "give_back", chargeId: "", corrects: "chg_1", amountMicros: 18_000 },
  { ...TEXT, ...NONE, kind: "funds_added", amountMicros: 7 },
  { ...TEXT, ...NONE, kind: "funds_corrected", amountMicros: -9_000_000_000_000_000 },
]

/** Limits a report to the month. */
const WITHIN = ["-e", "2031-04-01"]

function journalOf(lines: readonly BillLine[], head = MARCH): string {
  const writer = hledgerWriter(head)
  return `${String(writer.begin())}${String(writer.lines(lines))}${String(writer.end())}`
}

describe("a journal", () => {
  it("passes the strict check, with a line of every kind", (ctx) => {
    ctx.skip(absent !== null, needed)
    expect(runTool("hledger", ["-f", "-", "check", "--strict"], journalOf(LINES))).toBe("")
  })

  it("adds up to the bill's funds and to the spending by item", (ctx) => {
    ctx.skip(absent !== null, needed)
    const balance = (account: string) =>
      runTool(
        "hledger",
        ["-f", "-", "balance", account, "--no-total", "-N", "--flat", ...WITHIN],
        journalOf(LINES),
      )
    const total = LINES.reduce((sum, line) => sum + line.amountMicros, MARCH.openingMicros)
    expect(total).toBe(-8_999_999_994_053_992)
    expect(balance("assets:funds")).toContain("USD -8999999994.053992")
    expect(balance("expenses:general:text_segment")).toBe("")
    expect(balance("expenses:ai:a model's own name")).toContain("USD 0.018")
    expect(balance("expenses:ai:other")).toBe("")
    expect(balance("assets:payments")).toContain("USD -5.0")
  })

  it("fails the check if an amount is changed", (ctx) => {
    ctx.skip(absent !== null, needed)
    const wrong = journalOf(LINES).replaceAll("USD 0.018\n", "USD 0.019\n")
    expect(() => runTool("hledger", ["-f", "-", "check", "--strict"], wrong)).toThrow("hledger")
    const shifted = journalOf([...LINES.slice(0, 1), ...LINES.slice(2)])
    const forged = shifted.replace("USD 6.000001\n", "USD 6.000002\n")
    expect(() => runTool("hledger", ["-f", "-", "check", "--strict"], forged)).toThrow("hledger")
  })

  it("stays valid for any text", (ctx) => {
    ctx.skip(absent !== null, needed)
    const nasty = [
      "a\nb",
      "\r\n2031-03-11 x\n  assets:funds  USD 5",
      "; comment",
      "a | b",
      "[2031-99-99]",
      "date:2031-99-99",
      "x, date:nope",
      "=assert",
      "* !",
      "(code)",
      "a  USD 5",
      "\u2028",
      "\u0085",
      "\t",
      "include /etc/passwd",
      "end comment",
      "account x",
      "constructor",
      "\u{1F600} ü",
    ]
    const lines = nasty.flatMap((text) => [
      { ...TEXT, item: text, resource: text, chargeId: text },
      { ...TEXT, kind: "give_back" as const, item: text, corrects: text, amountMicros: 18_000 },
    ])
    const journal = journalOf(lines)
    expect(runTool("hledger", ["-f", "-", "check", "--strict"], journal)).toBe("")
    const printed = runTool("hledger", ["-f", "-", "stats"], journal)
    expect(printed).toMatch(new RegExp(`Transactions\\s*: ${lines.length + 3} `))
  })

  it("has an account for each item of any name, and one for all items beyond 10,000", (ctx) => {
    ctx.skip(absent !== null, needed)
    const items = ["chat completion", "chat  completion", "chat:completion", " chat", "chat "]
    items.push(
      "chat%3Acompletion",
      "(chat)",
      "chat;x",
      "CHAT",
      "\u6F22",
      "\u00A0chat",
      "",
      "#1",
      "*",
    )
    const lines = items.map((item, i) => ({ ...TEXT, class: "ai", item, amountMicros: -1 - i }))
    const accounts = (journal: string) =>
      runTool(
        "hledger",
        ["-f", "-", "balance", "expenses:ai", "-N", "--flat", "-O", "csv", ...WITHIN],
        journal,
      )
        .trimEnd()
        .split("\n")
        .slice(1)
    const journal = journalOf(lines)
    expect(runTool("hledger", ["-f", "-", "check", "--strict"], journal)).toBe("")
    const rows = accounts(journal)
    expect(rows).toHaveLength(items.length)
    expect(rows).toContain('"expenses:ai:chat completion","USD 0.000001"')
    expect(rows).toContain('"expenses:ai:chat%3Acompletion","USD 0.000003"')
    expect(rows).toContain('"expenses:ai:\u6F22","USD 0.000010"')
    const many = Array.from({ length: 11_000 }, (_, i) => ({ ...TEXT, class: "ai", item: `i${i}` }))
    const declared = journalOf(many).match(/^account .*$/gm) ?? []
    expect(declared).toHaveLength(10_000)
    expect(journalOf(many)).toContain("expenses:ai:other  USD 0.018")
  })

  it("has the opening funds for a month without lines", (ctx) => {
    ctx.skip(absent !== null, needed)
    const journal = journalOf([], { ...MARCH, state: "closed" })
    expect(runTool("hledger", ["-f", "-", "check", "--strict"], journal)).toBe("")
    expect(
      runTool("hledger", ["-f", "-", "balance", "assets:funds", ...WITHIN], journal),
    ).toContain("1.000001")
  })

  it("can be combined with other months, as files or as one text", async (ctx) => {
    ctx.skip(absent !== null, needed)
    const april = {
      ...MARCH,
      month: "2031-04",
      openingMicros: 2_000_001,
      from: MARCH.until,
      until: Date.parse("2031-05-01T00:00:00Z"),
    }
    const added = { ...TEXT, ...NONE, kind: "funds_added" as const, amountMicros: 1_000_000 }
    const texts = [
      journalOf([added], { ...MARCH, state: "closed" }),
      journalOf(
        [TEXT, added].map((line) => ({ ...line, at: april.from + 86_400_000 })),
        april,
      ),
    ]
    const folder = await testFolder()
    const files = await Promise.all(
      texts.map(async (text, i) => {
        const file = join(folder, `${i}.journal`)
        await writeFile(file, text)
        return file
      }),
    )
    const [first = "", second = ""] = files
    const separate = ["-f", first, "-f", second]
    const fundsAt = (given: readonly string[], end: string, input = "") => {
      expect(runTool("hledger", [...given, "check", "--strict"], input)).toBe("")
      return runTool(
        "hledger",
        [...given, "balance", "assets:funds", "-N", "-e", end],
        input,
      ).trim()
    }
    for (const [given, input] of [
      [separate, ""],
      [["-f", "-"], texts.join("")],
    ] as const) {
      expect(fundsAt(given, "2031-03-10", input)).toBe("USD 1.000001  assets:funds")
      expect(fundsAt(given, "2031-04-01", input)).toBe("USD 2.000001  assets:funds")
      expect(fundsAt(given, "2031-05-01", input)).toBe("USD 2.982001  assets:funds")
    }
    expect(fundsAt(["-f", second], "2031-05-01")).toBe("USD 2.982001  assets:funds")
  })

  it("starts with the company, the month and the ledger head", () => {
    expect(journalOf([]).split("\n").slice(0, 2)).toEqual([
      "; Bill of co_aaaaaa for 2031-03: open",
      `; ledger-co_aaaaaa@41:${"ab".repeat(32)}`,
    ])
  })
})
