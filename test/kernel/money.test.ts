import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  MAX_MICROS,
  formatDollars,
  dollarsFromMicros,
  isMicros,
  microsFromDollars,
  formatMoney,
} from "../../domain/kernel/money.ts"
import { companyIdFromTag, keyIdFromTag, tagOfId } from "../../domain/kernel/ids.ts"
import { categoryOf, companyOfStream, streamSuffixOf } from "../../domain/kernel/aggregate.ts"

const amounts = fc.oneof(
  fc.integer({ min: -MAX_MICROS, max: MAX_MICROS }),
  fc.integer({ min: -2_000_000, max: 2_000_000 }),
)

describe("money", () => {
  it.each([
    ["0", 0],
    ["-0", 0],
    ["1", 1_000_000],
    ["12.50", 12_500_000],
    ["0.000001", 1],
    ["-3", -3_000_000],
    ["+0.009", 9_000],
    [" 5 ", 5_000_000],
    ["9000000000", MAX_MICROS],
  ])("reads %s dollars as %i micros", (dollars, micros) => {
    expect(microsFromDollars(dollars)).toBe(micros)
  })

  it.each(["", "x", "1.2345678", ".5", "5.", "1e3", "0x10", "1,000", "--1", "9000000000.000001"])(
    "rejects %j as dollars",
    (dollars) => {
      expect(microsFromDollars(dollars)).toBeNull()
    },
  )

  it.each([
    [0, "0.00"],
    [1, "0.000001"],
    [9_000, "0.009"],
    [10_000, "0.01"],
    [500_000, "0.50"],
    [12_500_000, "12.50"],
    [-12_345_678, "-12.345678"],
    [-1, "-0.000001"],
    [MAX_MICROS, "9000000000.00"],
  ])("writes %i micros as %s", (micros, dollars) => {
    expect(formatDollars(micros)).toBe(dollars)
    // People write the sign before the dollar sign.
    const read = dollars.startsWith("-") ? `-$${dollars.slice(1)}` : `$${dollars}`
    expect(formatMoney(micros)).toBe(read)
  })

  it("can be read from its text, to the micro", () => {
    fc.assert(
      fc.property(amounts, (micros) => {
        expect(microsFromDollars(formatDollars(micros))).toBe(micros + 0)
      }),
    )
  })

  it("is shown as the number of dollars next to its text", () => {
    fc.assert(
      fc.property(amounts, (micros) => {
        expect(dollarsFromMicros(micros)).toBe(Number(formatDollars(micros)))
      }),
    )
  })

  it("is an integer within the limits", () => {
    expect([0, 1, -1, MAX_MICROS, -MAX_MICROS].every(isMicros)).toBe(true)
    expect([0.5, Number.NaN, Infinity, MAX_MICROS + 1, -MAX_MICROS - 1].some(isMicros)).toBe(false)
  })
})

describe("names", () => {
  it("convert a tag to its id and an id to its tag", () => {
    expect(tagOfId(companyIdFromTag("Ab3dE6"))).toBe("Ab3dE6")
    expect(tagOfId(keyIdFromTag("Ab3dE6gH"))).toBe("Ab3dE6gH")
  })

  it("of streams contain the category, the company and the rest", () => {
    const streams = ["prices", "ledger-co_1", "recipient-co_1-ab12"]
    expect(streams.map(categoryOf)).toEqual(["prices", "ledger", "recipient"])
    expect(streams.map(companyOfStream)).toEqual([null, "co_1", "co_1"])
    expect(streams.map(streamSuffixOf)).toEqual([null, null, "ab12"])
  })
})
