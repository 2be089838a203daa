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

/** Each rule with texts that it must complain about, and texts like them that are right. */
const rules: readonly {
  readonly rule: (file: SourceText) => readonly Complaint[]
  readonly wrong: readonly string[]
  readonly right: readonly string[]
}[] = [
  {
    rule: longFunctions,
    wrong: [
      `function f() {${"\n".repeat(FUNCTION_LINES)}}`,
      `const f = () => {${"\n".repeat(FUNCTION_LINES)}}`,
      `class A { f() {${"\n".repeat(FUNCTION_LINES)}} }`,
      `it("a", () => {${"\n".repeat(FUNCTION_LINES)}})`,
    ],
    right: [
      `function f() {${"\n".repeat(FUNCTION_LINES - 1)}}`,
      `describe("a", () => {${"\n".repeat(FUNCTION_LINES)}})`,
      `function contract() { describe("a", () => {${"\n".repeat(FUNCTION_LINES)}}) }`,
    ],
  },
  {
    rule: unfinishedWords,
    wrong: ["// TODO later", "// FIXME", "/* XXX */", "HACK", 'throw new Error("Not implemented")'],
    right: ["// todos of the day", "// hackathon", "notImplementedYet"],
  },
  {
    rule: machinePaths,
    wrong: ['"/home/ann/x"', "see /Users/ann", "`/root/.cache`", '"C:\\Users\\ann"'],
    right: ['"/api/home/x"', "https://example.com/home/x", "/homes", "${base}/home/x"],
  },
  {
    rule: searchedPayments,
    wrong: ["await stripe.paymentIntents.search({ query })", "stripe.customers.search({})"],
    right: ["stripe.paymentIntents.list({})", "const search = 1"],
  },
  {
    rule: exportedNames,
    wrong: [
      "export class ChargeService {}",
      "export const poolManager = 1",
      "export function dateUtils() {}",
      "export interface MoneyHelper {}",
    ],
    right: [
      "export const serviceUnavailable = 1",
      "const innerHelper = 1",
      "export class Charge {}",
    ],
  },
  {
    rule: impurities,
    wrong: [
      "const a = Date.now()",
      "const a = new Date()",
      "const a = new Date",
      "const a = Date()",
      "const now = Date.now",
      "const a = Math.random()",
      "const a = globalThis.performance.now()",
      "const a = crypto.randomUUID()",
    ],
    right: [
      "const a = new Date(command.at)",
      "const a = Date.UTC(2026, 0)",
      "const a = Math.floor(1)",
    ],
  },
  {
    rule: emptyTests,
    wrong: [
      'it("a", () => {})',
      'it("a", async () => { await run() })',
      'it("a", () => () => { expect(x).toBe(1) })',
      'it("a", () => { return () => { expect(x).toBe(1) } })',
      'it("a", execute(() => { expect(x).toBe(1) }))',
      'it.each(table)("a", () => {})',
      'test("a", { timeout: 5 }, () => {})',
    ],
    right: [
      'it("a", () => { expect(x).toBe(1) })',
      'it("a", async () => { await expectGone(x) })',
      'it("a", () => { for (const x of y) { expect(x).toBe(1) } })',
      'it("a", () => { fc.assert(fc.property(n, (m) => { expect(m).toBe(m) })) })',
      'it("a", () => given(fact).when(command).refuses("no"))',
      'it.each(table)("a", (row) => { expect(row).toBe(1) })',
      'it("a", { timeout: 5 }, async () => { await each(rows, (row) => expect(row).toBe(1)) })',
    ],
  },
  {
    rule: pretences,
    wrong: [
      'it.only("a", () => {})',
      'describe.only("a", () => {})',
      'it.skip("a", () => {})',
      'describe.skipIf(x)("a", () => {})',
      'it.todo("a")',
      'it("a", (ctx) => { ctx.skip() })',
      'it("a", (ctx) => { ctx.skip(true) })',
      'it("a", () => { expect(x) })',
      'it("a", () => { expect(true).toBe(true) })',
      'it("a", () => { expect(1).toBe(1) })',
      'it("a", () => { expect(null).toBeNull() })',
    ],
    right: [
      'it("a", (ctx) => { ctx.skip("no chromium here") })',
      'it("a", (ctx) => { ctx.skip(!found, "no chromium here") })',
      'it("a", (ctx) => { ctx.skip(missing.reason) })',
      'it("a", () => { expect(x).toBe(true) })',
      "rows.skip()",
    ],
  },
  {
    rule: undocumented,
    wrong: [
      "export const a = 1",
      "export function a(): void {}",
      "export interface A {}",
      "export type A = 1",
      "export class A {}",
      "// A comment is no docstring.\nexport const a = 1",
      "/** Micros */\nexport const a = 1",
    ],
    right: [
      "/** The price in micros. */\nexport const a = 1",
      "const a = 1",
      'export * from "./a.ts"',
      "/** Adds two. */\nexport function a(): void\nexport function a(): void {}",
    ],
  },
  {
    rule: unnamedErrors,
    wrong: [
      "/** Adds two. */\nexport function a(): void { throw new TooLarge() }",
      "/** Adds two. */\nexport const a = () => { throw new RangeError() }",
      "/** Adds two. */\nexport class A { f() { throw new TooLarge() } }",
    ],
    right: [
      "/** Adds two. @throws TooLarge over the limit */\nexport function a() { throw new TooLarge() }",
      "/** Adds. */\nexport class A { /** @throws TooLarge */ f() { throw new TooLarge() } }",
      '/** Adds two. */\nexport function a(): void { throw new Error("cannot be") }',
    ],
  },
]

for (const { rule, wrong, right } of rules) {
  describe(`${rule.name}`, () => {
    for (const text of wrong) {
      it(`complains about ${JSON.stringify(text.slice(0, 90))}`, () => {
        expect(rule({ path: "src/a.ts", text })).not.toEqual([])
      })
    }
    for (const text of right) {
      it(`is quiet about ${JSON.stringify(text.slice(0, 90))}`, () => {
        expect(rule({ path: "src/a.ts", text })).toEqual([])
      })
    }
  })
}

describe("fileNames", () => {
  it.for(["src/money-util.ts", "src/common/a.ts"])("complains about %s", (path) => {
    expect(fileNames({ path, text: "" })).not.toEqual([])
  })

  it.for([
    "src/send-text.ts",
    "test/phone/send-text.postgres.test.ts",
    "test/a.table.ts",
    "src/utility-bills.ts",
  ])("is quiet about %s", (path) => {
    expect(fileNames({ path, text: "" })).toEqual([])
  })
})
