import { describe, expect, it } from "vitest"
import { fallsBelowPeak, growsLinearly, staysBelow, staysLevel } from "./findings.ts"

const line = (...points: readonly (readonly [x: number, median: number])[]) => ({
  title: "it",
  points: points.map(([x, median]) => ({ x, median, min: median, max: median })),
})

describe("what a line shows", () => {
  it("is where it is 20 % below its peak, beyond the peak alone", () => {
    const fallen = line([1, 10], [32, 100], [256, 79], [1_024, 81])
    const { text, holds } = fallsBelowPeak(fallen, "callers")
    expect(holds).toBe(false)
    expect(text).toBe(
      "it: the peak is 100 at 32 callers; 20 % or more below it at 256 (21 %) callers",
    )
  })

  it("is that it stays at its peak", () => {
    expect(fallsBelowPeak(line([1, 10], [32, 100], [256, 80]), "callers").holds).toBe(true)
  })

  it.for([
    [1.5, true],
    [1.6, false],
  ] as const)("is whether it stays level: %d times is %s", ([times, holds]) => {
    expect(staysLevel(line([100, 10], [1_000, 30], [10_000, 10 * times]), "charges").holds).toBe(
      holds,
    )
  })

  it.for([
    [100_000, true],
    [160_000, false],
  ] as const)("is whether it grows in step: %d is %s", ([last, holds]) => {
    const grown = line([10, 500], [1_000, 1_000], [100_000, last])
    expect(growsLinearly(grown, "events", 1_000).holds).toBe(holds)
  })

  it("is nothing where two points are missing", () => {
    expect(growsLinearly(line([10, 500], [1_000, 1_000]), "events", 1_000).holds).toBeNull()
    expect(staysLevel(line([10, 500]), "charges").holds).toBeNull()
    expect(fallsBelowPeak(line([10, 500]), "callers").holds).toBeNull()
  })

  it("is whether it stays below a bound", () => {
    expect(staysBelow(line([1, 5], [2, 10]), 10, "MB").holds).toBe(true)
    expect(staysBelow(line([1, 11], [2, 10]), 10, "MB").holds).toBe(false)
  })
})
