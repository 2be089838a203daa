/**
 * A second calendar, for tests: slow, on `Date`'s UTC fields, and written without a look at
 * `domain/kernel/window.ts`, so that one can judge the other.
 */
import type { Period } from "../../domain/kernel/window.ts"

/** A window: from its first millisecond to the first that is no longer in it. */
export interface TimeWindow {
  readonly from: number
  readonly to: number
}

/** Finds the window of each period that contains an instant (UTC milliseconds). */
export type WindowCalendar = Readonly<Record<Period, (at: number) => TimeWindow>>

/** The first millisecond of a UTC day; months and days may run over, as `Date.UTC` allows. */
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
    // Walks back to the Monday, one day after another.
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

/** The first millisecond of every day (and so of every week and month) of these years. */
export function* daysOf(firstYear: number, lastYear: number): Generator<number> {
  for (let at = midnight(firstYear, 0, 1); at <= midnight(lastYear + 1, 0, 1);) {
    yield at
    const d = new Date(at)
    at = midnight(d.getUTCFullYear(), d.getUTCMonth(), d.getUTCDate() + 1)
  }
}
