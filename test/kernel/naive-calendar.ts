/**
 * A second calendar for tests: slow, based on `Date`'s UTC fields, and independent of `domain/kernel/window.ts`, so
 * that tests can compare the two.
 */
import type { Period } from "../../domain/kernel/window.ts"

/** A window from its first millisecond (inclusive) to its end (exclusive). */
export interface TimeWindow {
  readonly from: number
  readonly to: number
}

/** For each period, finds the window that contains an instant in UTC milliseconds. */
export type WindowCalendar = Readonly<Record<Period, (at: number) => TimeWindow>>

/** The first millisecond of a UTC day. Months and days may overflow, as in `Date.UTC`. */
function midnight(year: number, month: number, day: number): number {
  return Date.UTC(year, month, day)
}

/** UTC days, weeks from Monday, months from the 1st. */
export const naiveCalendar: WindowCalendar = {
  day: (at) => {
    const d = new Date(at)
    const [y, m, day] = [d.getUTCFullYear(), d.getUTCMonth(), d.getUTCDate()]
    return { from: midnight(y, m, day), to: midnight(y, m, day + 1) }
  },
  week: (at) => {
    const d = new Date(at)
    const [y, m, day] = [d.getUTCFullYear(), d.getUTCMonth(), d.getUTCDate()]
    // Step back day by day to Monday.
    let back = 0
    while (new Date(midnight(y, m, day - back)).getUTCDay() !== 1) back += 1
    return { from: midnight(y, m, day - back), to: midnight(y, m, day - back + 7) }
  },
  month: (at) => {
    const d = new Date(at)
    const [y, m] = [d.getUTCFullYear(), d.getUTCMonth()]
    return { from: midnight(y, m, 1), to: midnight(y, m + 1, 1) }
  },
}

/** The first millisecond of every day of these years; weeks and months begin there too. */
export function* daysOf(firstYear: number, lastYear: number): Generator<number> {
  for (let at = midnight(firstYear, 0, 1); at <= midnight(lastYear + 1, 0, 1);) {
    yield at
    const d = new Date(at)
    at = midnight(d.getUTCFullYear(), d.getUTCMonth(), d.getUTCDate() + 1)
  }
}
