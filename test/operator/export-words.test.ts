import { expect, it } from "vitest"
import { BILL_FORMATS } from "../../src/exports/formats.ts"
import { parseWords } from "../../src/frame/operator/cli/program.ts"

it.each(["csv", "focus-csv", "focus-parquet", "hledger", "ndjson", "pdf"])(
  "a bill can be exported as %s",
  (format) => {
    const words = `export billing --company acme --month 2026-11 --format ${format} --out a`
    expect(parseWords(words.split(" "), 80)).toMatchObject({
      kind: "command",
      invocation: { input: { company: "acme", month: "2026-11", format }, out: "a" },
    })
    expect(BILL_FORMATS).toContain(format)
  },
)
