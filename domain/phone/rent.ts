/**
 * When rent is due: each month on the day of buying, on the last day of a month that has no such day
 * (decisions.md §9). Counted from the day of buying, never from the last time: so a number of the 31st
 * is due on the 28th of February and on the 31st of March.
 */

/** A number whose rent was refused is kept so long, milliseconds. */
export const RENT_GRACE_MS = 14 * 24 * 3_600_000

/** So many months after an instant, at the same time of the day. */
export function addMonths(at: number, months: number): number {
  const begun = new Date(at)
  const [year, month] = [begun.getUTCFullYear(), begun.getUTCMonth() + months]
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  const day = Math.min(begun.getUTCDate(), lastDay)
  const time = [begun.getUTCHours(), begun.getUTCMinutes(), begun.getUTCSeconds()] as const
  return Date.UTC(year, month, day, ...time, begun.getUTCMilliseconds())
}

/** Up to when rent is paid once the month is paid that begins at `dueAt`. */
export function rentPaidThrough(boughtAt: number, dueAt: number): number {
  const [from, due] = [new Date(boughtAt), new Date(dueAt)]
  const years = due.getUTCFullYear() - from.getUTCFullYear()
  const passed = years * 12 + due.getUTCMonth() - from.getUTCMonth()
  return addMonths(boughtAt, passed + 1)
}
