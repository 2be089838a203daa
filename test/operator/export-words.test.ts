import { expect, it } from "vitest"
import { BILL_FORMATS } from "../../src/exports/formats.ts"
import { parseLine } from "./fake-host.ts"

it.each(["csv", "focus-csv", "focus-parquet", "hledger", "ndjson", "pdf"])(
  "a bill can be exported as %s",
  (format) => {
    const words = `export billing --company acme --month 2026-11 --format ${format} --out a`
    expect(parseLine(words)).toMatchObject({
      kind: "command",
      invocation: { input: { company: "acme", month: "2026-11", format }, out: "a" },
    })
    expect(BILL_FORMATS).toContain(format)
  },
)
