import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { compareVersions, versionOf } from "../../domain/connection/versions.ts"

const order = (a: string, b: string): number => {
  const [x, y] = [versionOf(a), versionOf(b)]
  if (x === null || y === null) throw new Error(`${a} or ${b} is no version`)
  return Math.sign(compareVersions(x, y))
}

describe("versions", () => {
  it("are ordered as semver says", () => {
    const ordered = [
      "0.0.1-alpha",
      "0.0.1",
      "0.9.0",
      "0.10.0",
      "1.0.0-0",
      "1.0.0-2",
      "1.0.0-10",
      "1.0.0-alpha",
      "1.0.0-alpha.1",
      "1.0.0-alpha.beta",
      "1.0.0-beta",
      "1.0.0-beta.2",
      "1.0.0-beta.11",
      "1.0.0-rc.1",
      "1.0.0",
      "1.0.1",
      "1.1.0",
      "2.0.0",
      "10.0.0",
      "99999999999999999999.0.0",
    ]
    for (const [i, a] of ordered.entries()) {
      for (const [j, b] of ordered.entries())
        expect([a, b, order(a, b)]).toEqual([a, b, Math.sign(i - j)])
    }
  })

  it("that differ in what they were built from are one", () => {
    expect(order("1.0.0+linux", "1.0.0+mac.5")).toBe(0)
    expect(order("1.0.0-rc.1+a", "1.0.0-rc.1")).toBe(0)
  })

  it.each([
    "",
    "1",
    "1.0",
    "1.0.0.0",
    "v1.0.0",
    "01.0.0",
    "1.0.0-",
    "1.0.0-01",
    "1.0.0-a..b",
    "1.0.0+",
    "1.0.0 ",
    "a.b.c",
    "1.0.0-ä",
    `1.0.0-${"a".repeat(60)}`,
  ])("are no such text as %j", (text) => {
    expect(versionOf(text)).toBeNull()
  })

  it("have one order, whatever they are", () => {
    const number = fc.nat(3).map(String)
    const part = fc.oneof(number, fc.constantFrom("a", "b", "a1", "-"))
    const version = fc
      .tuple(number, number, number, fc.array(part, { maxLength: 3 }))
      .map(
        ([a, b, c, before]) => `${a}.${b}.${c}${before.length > 0 ? `-${before.join(".")}` : ""}`,
      )
    fc.assert(
      fc.property(version, version, version, (a, b, c) => {
        expect(order(a, b)).toBe(0 - order(b, a))
        if (order(a, b) === 0) expect(a).toBe(b)
        if (order(a, b) <= 0 && order(b, c) <= 0) expect(order(a, c)).toBeLessThanOrEqual(0)
      }),
    )
  })
})
