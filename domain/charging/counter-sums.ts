/**
 * The sums of a ledger: each counter (see `limits.ts`) has what was spent in the current day, week and month, and
 * the limit on it.
 *
 * A counter is one row of numbers. This keeps companies with thousands of keys small, a charge touches at most four
 * rows and allocates nothing, and the end of a window costs one pass.
 */
import type { Micros } from "../kernel/money.ts"
import { MAX_MICROS } from "../kernel/money.ts"
import type { Period, SpendingWindows } from "../kernel/window.ts"
import { windowsAt } from "../kernel/window.ts"
import type { Limit } from "./limits.ts"

/** Index of a counter, from 0. */
export type CounterIndex = number

export type LimitVerdict = "fits" | "reaches a reminder" | "does not fit" | "is not exact"

/**
 * The columns of a row: three sums and the edge. A charge that leaves the limited sum below the edge fits the limit
 * and reaches no reminder; nearly all charges need no further check.
 */
const COLUMN = { day: 0, week: 1, month: 2, edge: 3 } as const
const WIDTH = 4
/** Columns that are read less often: buffered calls, the limit, its next reminder. */
const SIDE_COLUMN = { pending: 0, limit: 1, reminder: 2 } as const
const SIDE_WIDTH = 3
const SUMS = [COLUMN.day, COLUMN.week, COLUMN.month] as const
/** Capacity grows by a quarter: large companies copy their sums rarely and waste little. */
const GROWTH = 1.25
const MIN_SPARE_ROWS = 4

/** The sums of one ledger. Only this file accesses its rows. */
export interface CounterSums {
  windows: SpendingWindows
  size: number
  rows: Float64Array
  sideColumns: Float64Array
  /** The column of the sum that each counter's limit applies to. */
  limitedColumn: Uint8Array
  /** Whether calls are buffered, and the first millisecond of their UTC day. */
  hasBuffered: boolean
  bufferedDay: number
}

/** Returns sums without counters, in the windows around the epoch. */
export function emptyCounterSums(): CounterSums {
  return {
    windows: windowsAt(0),
    size: 0,
    rows: new Float64Array(0),
    sideColumns: new Float64Array(0),
    limitedColumn: new Uint8Array(0),
    hasBuffered: false,
    bufferedDay: 0,
  }
}

/**
 * Advances the windows to those that contain `at`, never backwards, and resets the sums of windows that ended. Returns
 * whether they changed.
 */
export function advanceWindows(sums: CounterSums, at: number): boolean {
  const { windows, rows, size } = sums
  if (at < windows.dayEnd) return false
  const next = windowsAt(at)
  const newWeek = next.week !== windows.week
  const newMonth = next.month !== windows.month
  for (let row = 0; row < size * WIDTH; row += WIDTH) {
    rows[row + COLUMN.day] = 0
    if (newWeek) rows[row + COLUMN.week] = 0
    if (newMonth) rows[row + COLUMN.month] = 0
  }
  sums.windows = next
  return true
}

/** Returns the windows that contain `at`. */
export function currentWindowsOf(sums: CounterSums, at: number): SpendingWindows {
  return at < sums.windows.dayEnd ? sums.windows : windowsAt(at)
}

/**
 * Returns what was spent in the window that contains `at`, including buffered calls. `at` may be later than the stored
 * windows: a window that has ended counts as zero, so that reading changes nothing.
 */
export function usedInWindow(
  sums: CounterSums,
  counter: CounterIndex,
  period: Period,
  windows: SpendingWindows,
): Micros {
  const row = counter * WIDTH
  const { rows } = sums
  const isCurrent = windows[period] === sums.windows[period]
  const spent = isCurrent ? (rows[row + COLUMN[period]] as number) : 0
  return spent + bufferedInWindow(sums, counter, period, windows)
}

/** Returns the amount of buffered calls in the window that contains `at`. */
export function bufferedInWindow(
  sums: CounterSums,
  counter: CounterIndex,
  period: Period,
  windows: SpendingWindows,
): Micros {
  if (!sums.hasBuffered || sums.bufferedDay < windows[period]) return 0
  return sums.sideColumns[counter * SIDE_WIDTH + SIDE_COLUMN.pending] as number
}

/** Evaluates the limit on a counter for spending `amount` now, within the stored windows. */
export function evaluateLimit(
  sums: CounterSums,
  counter: CounterIndex,
  amount: Micros,
): LimitVerdict {
  const { rows } = sums
  const row = counter * WIDTH
  const pending = sums.hasBuffered
    ? (sums.sideColumns[counter * SIDE_WIDTH + SIDE_COLUMN.pending] as number)
    : 0
  const weight = pending + amount
  const used = (rows[row + (sums.limitedColumn[counter] as number)] as number) + weight
  const isBelow = used < (rows[row + COLUMN.edge] as number)
  if (!isBelow && used > (sums.sideColumns[counter * SIDE_WIDTH + SIDE_COLUMN.limit] as number)) {
    return "does not fit"
  }
  const remaining = MAX_MICROS - weight
  const isExact =
    (rows[row + COLUMN.month] as number) <= remaining &&
    (rows[row + COLUMN.week] as number) <= remaining
  if (!isExact) return "is not exact"
  if (isBelow) return "fits"
  const reminder = sums.sideColumns[counter * SIDE_WIDTH + SIDE_COLUMN.reminder] as number
  return used >= reminder ? "reaches a reminder" : "fits"
}

/** Adds an amount that is spent now to all three windows of a counter. */
export function addToCounter(sums: CounterSums, counter: CounterIndex, amount: Micros): void {
  const { rows } = sums
  const row = counter * WIDTH
  ;(rows[row + COLUMN.day] as number) += amount
  ;(rows[row + COLUMN.week] as number) += amount
  ;(rows[row + COLUMN.month] as number) += amount
}

/** Adds an amount of `spentAt` (negative to subtract) to the windows that still contain it. */
export function addToCounterSince(
  sums: CounterSums,
  counter: CounterIndex,
  amount: Micros,
  spentAt: number,
): void {
  const { rows, windows } = sums
  const row = counter * WIDTH
  if (spentAt >= windows.day) (rows[row + COLUMN.day] as number) += amount
  if (spentAt >= windows.week) (rows[row + COLUMN.week] as number) += amount
  if (spentAt >= windows.month) (rows[row + COLUMN.month] as number) += amount
}

/** Adds calls of a UTC day that are buffered and not recorded yet. */
export function addBuffered(
  sums: CounterSums,
  counter: CounterIndex,
  amount: Micros,
  day: number,
): void {
  sums.hasBuffered = true
  sums.bufferedDay = day
  ;(sums.sideColumns[counter * SIDE_WIDTH + SIDE_COLUMN.pending] as number) += amount
}

/** Clears the buffered amounts, because they are being recorded. */
export function clearBuffered(sums: CounterSums): void {
  if (!sums.hasBuffered) return
  sums.hasBuffered = false
  const { sideColumns, size } = sums
  for (let counter = 0; counter < size; counter += 1)
    sideColumns[counter * SIDE_WIDTH + SIDE_COLUMN.pending] = 0
}

/** Sets or removes (null) the limit of a counter. */
export function setCounterLimit(
  sums: CounterSums,
  counter: CounterIndex,
  limit: Pick<Limit, "period" | "amountMicros"> | null,
): void {
  sums.sideColumns[counter * SIDE_WIDTH + SIDE_COLUMN.limit] = limit?.amountMicros ?? Infinity
  sums.limitedColumn[counter] = COLUMN[limit?.period ?? "month"]
  setNextReminder(sums, counter, null)
}

/** Sets the sum at which a counter's limit reaches its next reminder; null for none. */
export function setNextReminder(
  sums: CounterSums,
  counter: CounterIndex,
  next: Micros | null,
): void {
  const { sideColumns } = sums
  const at = counter * SIDE_WIDTH
  sideColumns[at + SIDE_COLUMN.reminder] = next ?? Infinity
  // Sums are integers: less than the limit plus one is at most the limit.
  const beyond = (sideColumns[at + SIDE_COLUMN.limit] as number) + 1
  sums.rows[counter * WIDTH + COLUMN.edge] = Math.min(beyond, next ?? Infinity)
}

/** Adds counters without spending or limit; returns the index of the first. */
export function addCounters(sums: CounterSums, count: number): CounterIndex {
  const first = sums.size
  sums.size += count
  if (sums.size > sums.limitedColumn.length) {
    const capacity = Math.ceil(sums.size * GROWTH) + MIN_SPARE_ROWS
    const rows = new Float64Array(capacity * WIDTH)
    rows.set(sums.rows)
    const sideColumns = new Float64Array(capacity * SIDE_WIDTH)
    sideColumns.set(sums.sideColumns)
    const limitedColumn = new Uint8Array(capacity)
    limitedColumn.set(sums.limitedColumn)
    sums.rows = rows
    sums.sideColumns = sideColumns
    sums.limitedColumn = limitedColumn
  }
  for (let counter = first; counter < sums.size; counter += 1) setCounterLimit(sums, counter, null)
  return first
}

/** Returns the sums of day, week and month of consecutive counters as one list. */
export function readCounterSums(sums: CounterSums, first: CounterIndex, count: number): number[] {
  const out: number[] = []
  for (let counter = first; counter < first + count; counter += 1) {
    for (const sum of SUMS) out.push(sums.rows[counter * WIDTH + sum] as number)
  }
  return out
}

/** Restores the sums that `readCounterSums` returned. */
export function writeCounterSums(
  sums: CounterSums,
  first: CounterIndex,
  values: readonly number[],
): void {
  for (const [i, value] of values.entries()) {
    const row = (first + Math.floor(i / SUMS.length)) * WIDTH
    sums.rows[row + (i % SUMS.length)] = value
  }
}
