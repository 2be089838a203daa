/** Law 12: windows equal those of a second calendar around every day, week and month boundary. */
import fc from "fast-check"
import { describe, expect, it, vi } from "vitest"
import { formatInstant, isInstant, parseInstant } from "../../domain/kernel/instant.ts"
import {
  PERIODS,
  dayStart,
  monthEnd,
  formatMonth,
  monthStart,
  weekStart,
  windowEnd,
  windowStart,
  windowsAt,
} from "../../domain/kernel/window.ts"
import type { SpendingWindows } from "../../domain/kernel/window.ts"
import { daysOf, naiveCalendar } from "./naive-calendar.ts"

const DAY_MS = 86_400_000
const at = (iso: string): number => Date.parse(iso)

/**
 * Compares the windows one millisecond before, at and after the beginning of every day from 2024 to 2030. Returns how
 * many windows were compared and which were wrong.
 */
function compareAtBoundaries(windowsOf: (instant: number) => SpendingWindows): {
  readonly compared: number
  readonly wrong: readonly string[]
} {
  const wrong: string[] = []
  let compared = 0
  for (const border of daysOf(2024, 2030)) {
    for (const instant of [border - 1, border, border + 1]) {
      const windows = windowsOf(instant)
      for (const period of PERIODS) {
        compared += 1
        const { from, to } = naiveCalendar[period](instant)
        const isRight = windowStart(windows, period) === from && windowEnd(windows, period) === to
        if (!isRight) wrong.push(`${period} at ${new Date(instant).toISOString()}`)
      }
    }
  }
  return { compared, wrong }
}

/** Windows that count 29 February as part of March. */
function withoutLeapDay(instant: number): SpendingWindows {
  const windows = windowsAt(instant)
  const isLeapDay = new Date(instant).toISOString().slice(5, 10) === "02-29"
  return isLeapDay ? { ...windows, month: windows.day } : windows
}

describe("windows", () => {
  it("equal those of a second calendar around every boundary from 2024 to 2030", () => {
    const { compared, wrong } = compareAtBoundaries(windowsAt)
    expect(wrong).toEqual([])
    expect(compared).toBe((7 * 365 + 2 + 1) * 3 * 3)
  })

  it.each<[string, (at: number) => SpendingWindows]>([
    ["the week begins on Sunday", (t) => ({ ...windowsAt(t), week: weekStart(t) - DAY_MS })],
    ["the day begins a millisecond late", (t) => ({ ...windowsAt(t), day: dayStart(t - 1) })],
    ["the day ends late", (t) => ({ ...windowsAt(t), dayEnd: dayStart(t) + DAY_MS + 1 })],
    ["months have 30 days", (t) => ({ ...windowsAt(t), monthEnd: monthStart(t) + 30 * DAY_MS })],
    ["no year is a leap year", withoutLeapDay],
    ["it is five hours earlier", (t) => windowsAt(t - 5 * 3_600_000)],
  ])("differ from the second calendar if %s", (_case, wrongWindows) => {
    expect(compareAtBoundaries(wrongWindows).wrong.length).toBeGreaterThan(0)
  })

  it("contain their instant, have their full length, and are nested", () => {
    const instants = fc.integer({ min: at("1970-01-01"), max: at("2999-12-31") })
    fc.assert(
      fc.property(instants, (instant) => {
        const windows = windowsAt(instant)
        for (const period of PERIODS) {
          expect(windowStart(windows, period)).toBeLessThanOrEqual(instant)
          expect(windowEnd(windows, period)).toBeGreaterThan(instant)
          expect(windowsAt(windows[period])[period]).toBe(windows[period])
          expect(windowsAt(windowEnd(windows, period))[period]).toBe(windowEnd(windows, period))
        }
        expect(windows.dayEnd - windows.day).toBe(86_400_000)
        expect(windows.weekEnd - windows.week).toBe(7 * 86_400_000)
        expect(windows.week).toBeLessThanOrEqual(windows.day)
        expect(windows.month).toBeLessThanOrEqual(windows.day)
      }),
    )
  })

  it("never move backwards as time passes", () => {
    const instants = fc.integer({ min: 0, max: at("2100-01-01") })
    fc.assert(
      fc.property(instants, fc.nat(40 * 86_400_000), (instant, later) => {
        const [before, after] = [windowsAt(instant), windowsAt(instant + later)]
        for (const period of PERIODS) {
          expect(after[period]).toBeGreaterThanOrEqual(before[period])
        }
      }),
    )
  })

  it("let a week cross the end of a month and of a year", () => {
    const windows = windowsAt(at("2026-01-01T00:00:00.000Z"))
    expect(windows.month).toBe(at("2026-01-01"))
    expect(windows.week).toBe(at("2025-12-29"))
    expect(windows.weekEnd).toBe(at("2026-01-05"))
  })

  it("respect leap days and years without one", () => {
    expect(monthEnd(at("2024-02-29T23:59:59.999Z"))).toBe(at("2024-03-01"))
    expect(monthEnd(at("2023-02-28T23:59:59.999Z"))).toBe(at("2023-03-01"))
    expect(monthEnd(at("2000-02-29"))).toBe(at("2000-03-01"))
    expect(monthStart(at("2100-02-28T12:00:00Z"))).toBe(at("2100-02-01"))
    expect(monthEnd(at("2100-02-28T12:00:00Z"))).toBe(at("2100-03-01"))
  })

  it("are the same whether calculated together or one by one", () => {
    const instant = at("2027-11-17T13:14:15.161Z")
    const { day, week, month } = windowsAt(instant)
    expect([dayStart(instant), weekStart(instant), monthStart(instant)]).toEqual([day, week, month])
  })

  it("name a month as its bill does", () => {
    expect(formatMonth(at("2026-01-31T23:59:59.999Z"))).toBe("2026-01")
    expect(formatMonth(at("2026-02-01T00:00:00.000Z"))).toBe("2026-02")
    expect(formatMonth(at("2026-12-31T23:59:59.999Z"))).toBe("2026-12")
  })
})

describe("the machine's time zone", () => {
  it.each([
    { zone: "UTC", offsets: [0] },
    { zone: "America/New_York", offsets: [300, 240] },
    { zone: "Asia/Tokyo", offsets: [-540] },
  ])("does not affect the windows ($zone)", ({ zone, offsets }) => {
    vi.stubEnv("TZ", zone)
    // The offsets show that the process really is in that zone.
    const found = new Set([0, 6].map((month) => new Date(2024, month, 1).getTimezoneOffset()))
    expect([...found]).toEqual(offsets)
    expect(compareAtBoundaries(windowsAt)).toEqual({ compared: 23_022, wrong: [] })
    const misnamed = [...daysOf(2024, 2030)]
      .flatMap((border) => [border - 1, border, border + 1])
      .filter((instant) => formatMonth(instant) !== new Date(instant).toISOString().slice(0, 7))
    expect(misnamed).toEqual([])
  })
})

const MOST = 8_640_000_000_000_000
const DAY = 86_400_000
const instants = fc.oneof(
  fc.integer({ min: -MOST, max: MOST }),
  fc.integer({ min: Date.UTC(2026, 0), max: Date.UTC(2027, 0) }),
  fc.constantFrom(0, -1, MOST, -MOST, Date.UTC(2024, 1, 29), Date.UTC(2026, 10, 21) - 1),
)

/** `Date`'s value of a text in the form of `toISOString`; null for any other text. */
function naive(text: string): number | null {
  const value = Date.parse(text)
  return !Number.isNaN(value) && new Date(value).toISOString() === text ? value : null
}

it("writes and reads instants as Date does, whichever day it handled before", () => {
  fc.assert(
    fc.property(fc.array(instants, { minLength: 1 }), (values) => {
      for (const value of values) {
        const text = new Date(value).toISOString()
        expect(formatInstant(value)).toBe(text)
        expect(parseInstant(text)).toBe(value)
      }
    }),
    { numRuns: 500 },
  )
})

it("rejects every text that Date rejects, even if a single character is wrong", () => {
  const wrong = fc.tuple(
    fc.integer({ min: 0, max: DAY - 1 }),
    fc.nat({ max: 30 }),
    fc.constantFrom(..."0123456789:.-+TZtz /９".split(""), ""),
    fc.constantFrom(0, 1),
  )
  fc.assert(
    fc.property(wrong, ([time, index, inserted, removed]) => {
      const right = new Date(Date.UTC(2026, 10, 21) + time).toISOString()
      // Caches the day, so that the next parse takes the fast path.
      parseInstant(right)
      const text = right.slice(0, index) + inserted + right.slice(index + removed)
      expect(parseInstant(text)).toBe(naive(text))
    }),
    { numRuns: 3_000 },
  )
})

it.each(["", "2026-11-21", "2026-11-21T24:00:00.000Z", "2026-11-21T23:60:00.000Z", "x"])(
  "rejects %j as an instant",
  (text) => {
    parseInstant("2026-11-21T00:00:00.000Z")
    expect(parseInstant(text)).toBeNull()
  },
)

it("accepts only numbers that are instants", () => {
  expect([0, MOST, -MOST].map(isInstant)).toEqual([true, true, true])
  expect([0.5, MOST + 1, Number.NaN, Infinity].map(isInstant)).toEqual([false, false, false, false])
})
