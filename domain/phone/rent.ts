/**
 * Due dates of rent: each month on the day of the purchase, or on the last day of a shorter month
 * (docs/decisions/phone.md). They are counted from the purchase and not from the previous due date, so a number
 * bought on the 31st is due
 * on February 28 and on March 31.
 */

/** How long a number is kept after its rent was refused, in milliseconds. */
export const RENT_GRACE_MS = 14 * 24 * 3_600_000

/** Adds months to an instant, keeping the time of day. */
export function addMonths(at: number, months: number): number {
  const begun = new Date(at)
  const [year, month] = [begun.getUTCFullYear(), begun.getUTCMonth() + months]
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  const day = Math.min(begun.getUTCDate(), lastDay)
  const time = [begun.getUTCHours(), begun.getUTCMinutes(), begun.getUTCSeconds()] as const
  return Date.UTC(year, month, day, ...time, begun.getUTCMilliseconds())
}

/** Returns up to when rent is paid after the month that starts at `dueAt`. */
export function rentPaidThrough(boughtAt: number, dueAt: number): number {
  const [from, due] = [new Date(boughtAt), new Date(dueAt)]
  const years = due.getUTCFullYear() - from.getUTCFullYear()
  const passed = years * 12 + due.getUTCMonth() - from.getUTCMonth()
  return addMonths(boughtAt, passed + 1)
}
