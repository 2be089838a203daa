/** The page of errors is generated from the current source and complete. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { readErrorSource } from "./error-messages.ts"
import { codesWithoutAdvice, formatErrorPage } from "./error-page.ts"
import { ROOT } from "./source-tree.ts"

const source = readErrorSource()

describe("docs/errors.md", () => {
  it("is up to date (run `node bin/errors.mjs`)", () => {
    const page = readFileSync(join(ROOT, "docs", "errors.md"), "utf8")
    expect(page).toBe(formatErrorPage(source))
  })

  it("has advice for every code", () => {
    expect(codesWithoutAdvice(source)).toEqual([])
  })

  it("has messages from constants, templates, tables and functions", () => {
    const messagesOf = (code: string) =>
      source.messages.filter((one) => one.code === code).map(({ message }) => message)
    expect(messagesOf("opted_out")).toHaveLength(1)
    expect(messagesOf("too_large").some((message) => message.includes("{"))).toBe(true)
    expect(messagesOf("conflict").length).toBeGreaterThan(10)
    expect(messagesOf("unavailable").length).toBeGreaterThan(10)
  })
})
