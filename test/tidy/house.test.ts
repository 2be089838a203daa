import { describe, expect, it } from "vitest"
import { emptyTests, pretences } from "./assertions.ts"
import { undocumented, unnamedErrors } from "./docstrings.ts"
import { impurities } from "./purity.ts"
import { longFunctions } from "./sizes.ts"
import { SHIPPED, type SourceText, readTree } from "./tree.ts"
import {
  exportedNames,
  fileNames,
  machinePaths,
  searchedPayments,
  unfinishedWords,
} from "./words.ts"

const CODE = [".ts", ".mjs"]
const TEXT = [...CODE, ".cjs", ".json", ".md", ".sql", ".yaml", ".yml", ".example", ""]

const shipped = readTree(SHIPPED, CODE)
const domain = readTree(["domain"], CODE)
// The rules name what they forbid, and the snippets that they are tried on break them on purpose.
const isRules = ({ path }: SourceText): boolean =>
  ["test/tidy/rules.test.ts", "test/tidy/words.ts"].includes(path)
const tests = readTree(["test", "bench"], CODE).filter((file) => !isRules(file))
const code = [...shipped, ...readTree(["bin"], CODE), ...tests]
const texts = readTree(["."], TEXT).filter(
  (file) => !isRules(file) && !["package-lock.json", "LICENSE"].includes(file.path),
)

describe("the house", () => {
  it("was found", () => {
    expect(shipped.length).toBeGreaterThan(0)
    expect(domain.length).toBeGreaterThan(0)
    expect(tests.length).toBeGreaterThan(0)
    expect(texts.length).toBeGreaterThan(code.length)
  })

  it("keeps its functions short", () => {
    expect(code.flatMap(longFunctions)).toEqual([])
  })

  it("leaves nothing unfinished", () => {
    expect(texts.flatMap(unfinishedWords)).toEqual([])
  })

  it("names no machine's path", () => {
    expect(texts.flatMap(machinePaths)).toEqual([])
  })

  it("decides no payment by a search that is behind", () => {
    const payments = shipped.filter(({ path }) =>
      /^(adapters.providers.cards|src.credits)./.test(path),
    )
    expect(payments.length).toBeGreaterThan(1)
    expect(payments.flatMap(searchedPayments)).toEqual([])
  })

  it("names its files for what is in them", () => {
    expect(code.flatMap(fileNames)).toEqual([])
  })

  it("names its exports for what they are", () => {
    expect(code.flatMap(exportedNames)).toEqual([])
  })

  it("keeps the clock and chance out of the domain", () => {
    expect(domain.flatMap(impurities)).toEqual([])
  })

  it("asserts something in every test", () => {
    expect(tests.flatMap(emptyTests)).toEqual([])
  })

  it("skips no test without a reason and asserts no literal", () => {
    expect(tests.flatMap(pretences)).toEqual([])
  })

  it("documents what it exports", () => {
    expect(shipped.flatMap(undocumented)).toEqual([])
  })

  it("names the errors that it throws", () => {
    expect(shipped.flatMap(unnamedErrors)).toEqual([])
  })
})
