import { describe, expect, it } from "vitest"
import { judgeRatio, summarise } from "./statistics.ts"

describe("summarise", () => {
  it("takes the middle of an odd number of values, whatever their order", () => {
    expect(summarise([9, 1, 5])).toEqual({ median: 5, min: 1, max: 9, spread: 1.6 })
  })

  it("takes the mean of the two in the middle of an even number", () => {
    expect(summarise([4, 1, 10, 2])).toEqual({ median: 3, min: 1, max: 10, spread: 3 })
  })

  it("finds no spread in one value, nor in zeros", () => {
    expect(summarise([7])).toEqual({ median: 7, min: 7, max: 7, spread: 0 })
    expect(summarise([0, 0, 0]).spread).toBe(0)
  })

  it("sorts by size and not by spelling", () => {
    expect(summarise([10, 9, 100]).median).toBe(10)
  })

  it("has nothing to say about nothing", () => {
    expect(() => summarise([])).toThrow("nothing to summarise")
  })
})

describe("judge", () => {
  const more = { better: "more", target: 0.04, floor: 0.025 } as const
  const less = { better: "less", target: 6, floor: 10 } as const

  it.for([
    [0.05, "met"],
    [0.04, "met"],
    [0.039, "missed"],
    [0.025, "missed"],
    [0.024, "below the floor"],
  ] as const)("says of %d, where more is better: %s", ([median, verdict]) => {
    expect(judgeRatio(median, more)).toBe(verdict)
  })

  it.for([
    [5, "met"],
    [6, "met"],
    [6.1, "missed"],
    [10, "missed"],
    [10.1, "below the floor"],
  ] as const)("says of %d, where less is better: %s", ([median, verdict]) => {
    expect(judgeRatio(median, less)).toBe(verdict)
  })

  it("knows no floor where none was set", () => {
    expect(judgeRatio(0.001, { ...more, floor: null })).toBe("missed")
  })
})
