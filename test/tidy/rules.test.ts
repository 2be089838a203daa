import { describe, expect, it } from "vitest"
import { emptyTests, pretences } from "./assertions.ts"
import { undocumented, unnamedErrors } from "./docstrings.ts"
import { impurities } from "./purity.ts"
import { FUNCTION_LINES, longFunctions } from "./sizes.ts"
import type { Complaint, SourceText } from "./tree.ts"
import {
  exportedNames,
  fileNames,
  machinePaths,
  searchedPayments,
  unfinishedWords,
} from "./words.ts"

/** Each rule with a text that it must complain about, and a text like it that is right. */
const RULES: readonly (readonly [(file: SourceText) => readonly Complaint[], string, string])[] = [
  [
    longFunctions,
    `it("a", () => {${"\n".repeat(FUNCTION_LINES)}})`,
    `describe("a", () => {${"\n".repeat(FUNCTION_LINES)}})`,
  ],
  [unfinishedWords, "// TODO later", "// todos of the day"],
  [machinePaths, '"/home/ann/x"', "https://example.com/home/x"],
  [searchedPayments, "stripe.customers.search({})", "stripe.paymentIntents.list({})"],
  [exportedNames, "export class ChargeService {}", "const innerHelper = 1"],
  [impurities, "const a = new Date()", "const a = new Date(command.at)"],
  [
    emptyTests,
    'it("a", () => () => { expect(x).toBe(1) })',
    'it("a", () => { for (const x of y) { expect(x).toBe(1) } })',
  ],
  [
    pretences,
    'it("a", (ctx) => { ctx.skip(true) })',
    'it("a", (ctx) => { ctx.skip("no chromium") })',
  ],
  [
    undocumented,
    "/** Micros */\nexport const a = 1",
    "/** The price in micros. */\nexport const a = 1",
  ],
  [
    unnamedErrors,
    "/** Adds two. */\nexport function a(): void { throw new TooLarge() }",
    "/** Adds two. @throws TooLarge over the limit */\nexport function a() { throw new TooLarge() }",
  ],
]

describe("each rule", () => {
  it.for(RULES)("%o complains about %j and not about %j", ([rule, wrong, right]) => {
    expect(rule({ path: "src/a.ts", text: wrong })).not.toEqual([])
    expect(rule({ path: "src/a.ts", text: right })).toEqual([])
  })

  it("fileNames complains about a name that says nothing and not about one that does", () => {
    expect(fileNames({ path: "src/money-util.ts", text: "" })).not.toEqual([])
    expect(fileNames({ path: "src/utility-bills.ts", text: "" })).toEqual([])
  })
})
