/**
 * Spending windows: the UTC day, the week from Monday, the month from the 1st.
 *
 * A window is a function of an instant, so no job has to reset a counter (specification, "Spending limits"). The
 * arithmetic is on integers, so the machine's time zone has no effect.
 */

/** All periods, shortest first. */
export const PERIODS = ["day", "week", "month"] as const

export type Period = (typeof PERIODS)[number]

const DAY_MS = 86_400_000
const WEEK_MS = 7 * DAY_MS
/** 1970-01-01 was a Thursday, so weeks that start on Monday are offset by three days. */
const MONDAY_OFFSET_MS = 3 * DAY_MS

/** The three windows around an instant, in UTC milliseconds; starts are inclusive, ends exclusive. */
export interface SpendingWindows {
  readonly day: number
  readonly dayEnd: number
  readonly week: number
  readonly weekEnd: number
  readonly month: number
  readonly monthEnd: number
}

/** Returns the first millisecond of the UTC day of `at`. */
export function dayStart(at: number): number {
  return Math.floor(at / DAY_MS) * DAY_MS
}

/** Returns the first millisecond of the week of `at`; weeks start on Monday. */
export function weekStart(at: number): number {
  return Math.floor((at + MONDAY_OFFSET_MS) / WEEK_MS) * WEEK_MS - MONDAY_OFFSET_MS
}

/** Returns the first millisecond of the UTC month of `at`. */
export function monthStart(at: number): number {
  const { year, month } = civil(at)
  return daysFromCivil(year, month) * DAY_MS
}

/** Returns the first millisecond of the UTC month after that of `at`. */
export function monthEnd(at: number): number {
  const { year, month } = civil(at)
  return (month === 12 ? daysFromCivil(year + 1, 1) : daysFromCivil(year, month + 1)) * DAY_MS
}

/** Returns the three windows that contain `at`. */
export function windowsAt(at: number): SpendingWindows {
  const day = dayStart(at)
  const week = weekStart(at)
  return {
    day,
    dayEnd: day + DAY_MS,
    week,
    weekEnd: week + WEEK_MS,
    month: monthStart(at),
    monthEnd: monthEnd(at),
  }
}

/** Returns the start of a period's window in UTC milliseconds. */
export function windowStart(windows: SpendingWindows, period: Period): number {
  return windows[period]
}

/** Returns the end of a period's window in UTC milliseconds, when its limit resets. */
export function windowEnd(windows: SpendingWindows, period: Period): number {
  switch (period) {
    case "day":
      return windows.dayEnd
    case "week":
      return windows.weekEnd
    case "month":
      return windows.monthEnd
  }
}

/** Formats the month of `at` as `YYYY-MM`, the id of a bill. */
export function formatMonth(at: number): string {
  const { year, month } = civil(at)
  return `${String(year).padStart(4, "0")}-${String(month).padStart(2, "0")}`
}

/** The proleptic Gregorian year and month (1 to 12) of an instant, by days since 0000-03-01. */
function civil(at: number): { year: number; month: number } {
  const days = Math.floor(at / DAY_MS) + 719_468
  const era = Math.floor(days / 146_097)
  const dayOfEra = days - era * 146_097
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1_460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  )
  const dayOfYear =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const shifted = Math.floor((5 * dayOfYear + 2) / 153)
  const month = shifted < 10 ? shifted + 3 : shifted - 9
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month }
}

/** Days from 1970-01-01 to the first of a month (1 to 12). */
function daysFromCivil(year: number, month: number): number {
  const y = month <= 2 ? year - 1 : year
  const era = Math.floor(y / 400)
  const yearOfEra = y - era * 400
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5)
  const dayOfEra =
    yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  return era * 146_097 + dayOfEra - 719_468
}
