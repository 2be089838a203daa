/** Instants as text, held against the platform's own reading and writing. */
import fc from "fast-check"
import { expect, it } from "vitest"
import { instantText, isInstant, parseInstant } from "../../domain/kernel/instant.ts"

const MOST = 8_640_000_000_000_000
const DAY = 86_400_000
const instants = fc.oneof(
  fc.integer({ min: -MOST, max: MOST }),
  fc.integer({ min: Date.UTC(2026, 0), max: Date.UTC(2027, 0) }),
  fc.constantFrom(0, -1, MOST, -MOST, Date.UTC(2024, 1, 29), Date.UTC(2026, 10, 21) - 1),
)

/** What the platform makes of a text, if it is in the platform's own form. */
function naive(text: string): number | null {
  const value = Date.parse(text)
  return !Number.isNaN(value) && new Date(value).toISOString() === text ? value : null
}

it("writes what the platform writes, and reads it back, whatever day was before it", () => {
  fc.assert(
    fc.property(fc.array(instants, { minLength: 1 }), (values) => {
      for (const value of values) {
        const text = new Date(value).toISOString()
        expect(instantText(value)).toBe(text)
        expect(parseInstant(text)).toBe(value)
      }
    }),
    { numRuns: 500 },
  )
})

it("reads no other text than the platform does, also where all but one character is right", () => {
  const wrong = fc.tuple(
    fc.integer({ min: 0, max: DAY - 1 }),
    fc.nat({ max: 30 }),
    fc.constantFrom(..."0123456789:.-+TZtz /９", ""),
    fc.constantFrom(0, 1),
  )
  fc.assert(
    fc.property(wrong, ([time, at, put, removed]) => {
      const right = new Date(Date.UTC(2026, 10, 21) + time).toISOString()
      // The day is the one remembered, so that the short way is the one taken.
      parseInstant(right)
      const text = right.slice(0, at) + put + right.slice(at + removed)
      expect(parseInstant(text)).toBe(naive(text))
    }),
    { numRuns: 3_000 },
  )
})

it.each(["", "2026-11-21", "2026-11-21T24:00:00.000Z", "2026-11-21T23:60:00.000Z", "x"])(
  "reads nothing from %j",
  (text) => {
    parseInstant("2026-11-21T00:00:00.000Z")
    expect(parseInstant(text)).toBeNull()
  },
)

it("knows which numbers are instants", () => {
  expect([0, MOST, -MOST].map(isInstant)).toEqual([true, true, true])
  expect([0.5, MOST + 1, Number.NaN, Infinity].map(isInstant)).toEqual([false, false, false, false])
})
