/** The page of errors is generated, complete, and of this source. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { readErrorSource } from "./error-messages.ts"
import { codesWithoutAdvice, formatErrorPage } from "./error-page.ts"
import { ROOT } from "./source-tree.ts"

const source = readErrorSource()

describe("docs/errors.md", () => {
  it("is what `node bin/errors.mjs` writes", () => {
    const page = readFileSync(join(ROOT, "docs", "errors.md"), "utf8")
    expect(page).toBe(formatErrorPage(source))
  })

  it("says for every code what to do", () => {
    expect(codesWithoutAdvice(source)).toEqual([])
  })

  it("has the messages of a constant, a template, a table and a function", () => {
    const messagesOf = (code: string) =>
      source.messages.filter((one) => one.code === code).map(({ message }) => message)
    expect(messagesOf("opted_out")).toHaveLength(1)
    expect(messagesOf("too_large").some((message) => message.includes("{"))).toBe(true)
    expect(messagesOf("conflict").length).toBeGreaterThan(10)
    expect(messagesOf("unavailable").length).toBeGreaterThan(10)
  })
})
