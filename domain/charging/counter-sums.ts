/**
 * The sums a ledger keeps: for each tally (see `limits.ts`) what was spent in the current day, week
 * and month, and beside them the limit that watches it.
 *
 * All of it lies in one row of numbers per tally. A company with thousands of keys stays small, a
 * charge touches at most four rows and makes no object, and a window that ends costs one pass.
 */
import type { Micros } from "../kernel/money.ts"
import { MAX_MICROS } from "../kernel/money.ts"
import type { Period, SpendingWindows } from "../kernel/window.ts"
import { windowsAt } from "../kernel/window.ts"
import type { Limit } from "./limits.ts"

/** The number of a tally, from 0: its row. */
export type CounterIndex = number

/** What a limit says of a charge. */
export type LimitVerdict = "fits" | "reaches a reminder" | "does not fit" | "is not exact"

/**
 * The columns of a row: three sums, and the edge. A charge that leaves the watched sum below the edge
 * fits the limit and reaches no reminder, and that is all there is to see for nearly all of them.
 */
const COLUMN = { day: 0, week: 1, month: 2, edge: 3 } as const
const WIDTH = 4
/** The columns beside it, seldom looked at: what is gathered, the limit, its next reminder. */
const SIDE_COLUMN = { pending: 0, limit: 1, reminder: 2 } as const
const SIDE_WIDTH = 3
const SUMS = [COLUMN.day, COLUMN.week, COLUMN.month] as const
/** Rows are added by a quarter: a company that grows moves its sums seldom and wastes little. */
const GROWTH = 1.25
const MIN_SPARE_ROWS = 4

/** The sums of one ledger. Only this file touches its rows. */
export interface CounterSums {
  windows: SpendingWindows
  size: number
  rows: Float64Array
  sideColumns: Float64Array
  /** The sum that each tally's limit watches: its place in the row. */
  limitedColumn: Uint8Array
  /** Whether calls are gathered, and the first millisecond of the UTC day they are of. */
  hasBuffered: boolean
  bufferedDay: number
}

/** No tallies, in the windows around the epoch. */
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
 * Moves the windows to those around `at`; a window that ended starts at zero. Never moves back.
 * True where they moved.
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

/** The windows around `at`: those kept, unless a day has ended since the last fact. */
export function currentWindowsOf(sums: CounterSums, at: number): SpendingWindows {
  return at < sums.windows.dayEnd ? sums.windows : windowsAt(at)
}

/**
 * What was spent in the window around `at`, which may lie after the windows kept: a window that
 * has ended by then counts as zero, so that a question needs no fold to move the sums first. Calls
 * that are gathered count as well.
 */
export function usedInWindow(
  sums: CounterSums,
  tally: CounterIndex,
  period: Period,
  windows: SpendingWindows,
): Micros {
  const row = tally * WIDTH
  const { rows } = sums
  const isKept = windows[period] === sums.windows[period]
  const spent = isKept ? (rows[row + COLUMN[period]] as number) : 0
  return spent + bufferedInWindow(sums, tally, period, windows)
}

/** What gathered calls weigh in the window around `at`. */
export function bufferedInWindow(
  sums: CounterSums,
  tally: CounterIndex,
  period: Period,
  windows: SpendingWindows,
): Micros {
  if (!sums.hasBuffered || sums.bufferedDay < windows[period]) return 0
  return sums.sideColumns[tally * SIDE_WIDTH + SIDE_COLUMN.pending] as number
}

/** What the limit on a tally says of spending `asked` now, within the windows kept. */
export function evaluateLimit(sums: CounterSums, tally: CounterIndex, asked: Micros): LimitVerdict {
  const { rows } = sums
  const row = tally * WIDTH
  const pending = sums.hasBuffered
    ? (sums.sideColumns[tally * SIDE_WIDTH + SIDE_COLUMN.pending] as number)
    : 0
  const weight = pending + asked
  const used = (rows[row + (sums.limitedColumn[tally] as number)] as number) + weight
  const isBelow = used < (rows[row + COLUMN.edge] as number)
  if (!isBelow && used > (sums.sideColumns[tally * SIDE_WIDTH + SIDE_COLUMN.limit] as number)) {
    return "does not fit"
  }
  const most = MAX_MICROS - weight
  const isExact =
    (rows[row + COLUMN.month] as number) <= most && (rows[row + COLUMN.week] as number) <= most
  if (!isExact) return "is not exact"
  if (isBelow) return "fits"
  const reminder = sums.sideColumns[tally * SIDE_WIDTH + SIDE_COLUMN.reminder] as number
  return used >= reminder ? "reaches a reminder" : "fits"
}

/** Adds an amount spent now to a tally, in all three windows. */
export function addToCounter(sums: CounterSums, tally: CounterIndex, amount: Micros): void {
  const { rows } = sums
  const row = tally * WIDTH
  ;(rows[row + COLUMN.day] as number) += amount
  ;(rows[row + COLUMN.week] as number) += amount
  ;(rows[row + COLUMN.month] as number) += amount
}

/** Adds an amount of `spentAt` (negative: takes it out) to those windows that still contain it. */
export function addToCounterSince(
  sums: CounterSums,
  tally: CounterIndex,
  amount: Micros,
  spentAt: number,
): void {
  const { rows, windows } = sums
  const row = tally * WIDTH
  if (spentAt >= windows.day) (rows[row + COLUMN.day] as number) += amount
  if (spentAt >= windows.week) (rows[row + COLUMN.week] as number) += amount
  if (spentAt >= windows.month) (rows[row + COLUMN.month] as number) += amount
}

/** Adds calls of the UTC day `day` that are gathered and not recorded yet. */
export function addBuffered(
  sums: CounterSums,
  tally: CounterIndex,
  amount: Micros,
  day: number,
): void {
  sums.hasBuffered = true
  sums.bufferedDay = day
  ;(sums.sideColumns[tally * SIDE_WIDTH + SIDE_COLUMN.pending] as number) += amount
}

/** Forgets what is gathered, because it is being recorded. */
export function clearBuffered(sums: CounterSums): void {
  if (!sums.hasBuffered) return
  sums.hasBuffered = false
  const { sideColumns, size } = sums
  for (let tally = 0; tally < size; tally += 1)
    sideColumns[tally * SIDE_WIDTH + SIDE_COLUMN.pending] = 0
}

/** Puts a limit on a tally, or takes it away (null). */
export function setCounterLimit(
  sums: CounterSums,
  tally: CounterIndex,
  limit: Pick<Limit, "period" | "amountMicros"> | null,
): void {
  sums.sideColumns[tally * SIDE_WIDTH + SIDE_COLUMN.limit] = limit?.amountMicros ?? Infinity
  sums.limitedColumn[tally] = COLUMN[limit?.period ?? "month"]
  setNextReminder(sums, tally, null)
}

/** Says at which sum the limit on a tally next reaches a reminder; null for none. */
export function setNextReminder(sums: CounterSums, tally: CounterIndex, next: Micros | null): void {
  const { sideColumns } = sums
  const at = tally * SIDE_WIDTH
  sideColumns[at + SIDE_COLUMN.reminder] = next ?? Infinity
  // Sums are whole micros: below the limit and one is at the limit at most.
  const beyond = (sideColumns[at + SIDE_COLUMN.limit] as number) + 1
  sums.rows[tally * WIDTH + COLUMN.edge] = Math.min(beyond, next ?? Infinity)
}

/** Adds tallies without spending or limit; answers the first. */
export function addCounters(sums: CounterSums, count: number): CounterIndex {
  const first = sums.size
  sums.size += count
  if (sums.size > sums.limitedColumn.length) {
    const room = Math.ceil(sums.size * GROWTH) + MIN_SPARE_ROWS
    const rows = new Float64Array(room * WIDTH)
    rows.set(sums.rows)
    const beside = new Float64Array(room * SIDE_WIDTH)
    beside.set(sums.sideColumns)
    const watched = new Uint8Array(room)
    watched.set(sums.limitedColumn)
    sums.rows = rows
    sums.sideColumns = beside
    sums.limitedColumn = watched
  }
  for (let tally = first; tally < sums.size; tally += 1) setCounterLimit(sums, tally, null)
  return first
}

/** What was spent of some tallies in day, week and month, one after the other. */
export function readCounterSums(sums: CounterSums, first: CounterIndex, count: number): number[] {
  const out: number[] = []
  for (let tally = first; tally < first + count; tally += 1) {
    for (const sum of SUMS) out.push(sums.rows[tally * WIDTH + sum] as number)
  }
  return out
}

/** Puts what `readCounterSums` read in its place. */
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
