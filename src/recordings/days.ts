/** Days in UTC, by their first millisecond. */

/** A day. */
export const DAY_MS = 86_400_000

/** A day as `2026-11-25`. */
export const dayText = (day: number): string => new Date(day).toISOString().slice(0, 10)
