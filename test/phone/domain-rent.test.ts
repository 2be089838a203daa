import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { monthsAfter, paidAfter } from "../../domain/phone/rent.ts"

const at = (text: string) => Date.parse(`${text}Z`)
const shown = (ms: number) => new Date(ms).toISOString().slice(0, 19)

/** The months after a day of buying, as rent walks through them. */
function walk(bought: string, months: number): readonly string[] {
  const dates: string[] = []
  for (let due = monthsAfter(at(bought), 1); dates.length < months;) {
    dates.push(shown(due).slice(0, 10))
    due = paidAfter(at(bought), due)
  }
  return dates
}

describe("rent is due", () => {
  it("on the day of buying, or the last of a month that has no such day", () => {
    expect(walk("2026-01-31T08:00:00", 4)).toEqual([
      "2026-02-28",
      "2026-03-31",
      "2026-04-30",
      "2026-05-31",
    ])
    expect(walk("2028-01-30T08:00:00", 3)).toEqual(["2028-02-29", "2028-03-30", "2028-04-30"])
    expect(walk("2028-02-29T08:00:00", 13).at(-1)).toBe("2029-03-29")
    expect(walk("2026-11-15T08:00:00", 3)).toEqual(["2026-12-15", "2027-01-15", "2027-02-15"])
  })

  it("at the time of buying, to the millisecond", () => {
    expect(monthsAfter(Date.parse("2026-01-31T23:59:59.999Z"), 1)).toBe(
      Date.parse("2026-02-28T23:59:59.999Z"),
    )
  })

  it("once in every month, whenever it was bought", () => {
    const day = fc.integer({ min: at("2000-01-01T00:00:00"), max: at("2100-01-01T00:00:00") })
    fc.assert(
      fc.property(day, fc.nat(40), (bought, months) => {
        const due = monthsAfter(bought, months + 1)
        expect(paidAfter(bought, due)).toBe(monthsAfter(bought, months + 2))
        const [from, to] = [new Date(monthsAfter(bought, months)), new Date(due)]
        const passed =
          (to.getUTCFullYear() - from.getUTCFullYear()) * 12 + to.getUTCMonth() - from.getUTCMonth()
        expect(passed).toBe(1)
      }),
    )
  })
})
