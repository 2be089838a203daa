/**
 * The limits of a company, each on one counter, and the reminders that were reached in the current window, so that
 * each is sent once (docs/decisions/charging.md).
 */
import type { Micros } from "../kernel/money.ts"
import type { Period } from "../kernel/window.ts"
import { windowEnd } from "../kernel/window.ts"
import type { ReminderReached } from "./ledger-events.ts"
import type { Limit, LimitScope, LimitReading } from "./limits.ts"
import type { CounterIndex } from "./counter-sums.ts"
import {
  bufferedInWindow,
  setNextReminder,
  usedInWindow,
  setCounterLimit,
  currentWindowsOf,
} from "./counter-sums.ts"
import type { SpendingCounters } from "./counters.ts"
import { countersOfScope, counterOfLimit } from "./counters.ts"

interface ReachedReminders extends LimitScope, Pick<Limit, "period"> {
  readonly windowStart: number
  readonly amounts: readonly Micros[]
}

export interface LimitBook {
  readonly limits: Map<CounterIndex, Limit>
  /**
   * By limit and period. It outlives the limit, so removing a limit and setting it again sends no second reminder.
   */
  readonly reachedReminders: Map<string, ReachedReminders>
}

/** Returns a book without limits. */
export function emptyLimitBook(): LimitBook {
  return { limits: new Map(), reachedReminders: new Map() }
}

/** Finds a limit by scope; null if there is none. */
export function findLimit(
  book: LimitBook,
  counters: SpendingCounters,
  name: LimitScope,
): Limit | null {
  for (const counter of countersOfScope(counters, name)) {
    const limit = book.limits.get(counter)
    if (limit !== undefined) return limit
  }
  return null
}

/** Sets a limit and replaces the one of the same scope. */
export function putLimit(book: LimitBook, counters: SpendingCounters, limit: Limit): void {
  removeLimit(book, counters, limit)
  const counter = counterOfLimit(counters, limit)
  book.limits.set(counter, limit)
  setCounterLimit(counters, counter, limit)
  setReminder(book, counters, counter, limit)
}

/** Removes the limit of a scope. */
export function removeLimit(book: LimitBook, counters: SpendingCounters, name: LimitScope): void {
  for (const counter of countersOfScope(counters, name)) {
    if (book.limits.delete(counter)) setCounterLimit(counters, counter, null)
  }
}

/** Reads a limit with its usage in the window that contains `at`. */
export function readLimit(
  counters: SpendingCounters,
  counter: CounterIndex,
  limit: Limit,
  at: number,
  askedMicros: Micros,
): LimitReading {
  const windows = currentWindowsOf(counters, at)
  const { holder, holderId, class: limited, period, amountMicros } = limit
  const usedMicros = usedInWindow(counters, counter, period, windows)
  return {
    holder,
    holderId,
    class: limited,
    period,
    amountMicros,
    usedMicros,
    unrecordedMicros: bufferedInWindow(counters, counter, period, windows),
    remainingMicros: Math.max(0, amountMicros - usedMicros),
    askedMicros,
    windowStart: windows[period],
    resetsAt: windowEnd(windows, period),
  }
}

/** Reads every limit on the given counters, in their order. */
export function readLimitsOfCounters(
  book: LimitBook,
  counters: SpendingCounters,
  selected: Iterable<CounterIndex>,
  at: number,
  askedMicros: Micros,
): readonly LimitReading[] {
  const readings: LimitReading[] = []
  for (const counter of selected) {
    const limit = book.limits.get(counter)
    if (limit !== undefined) readings.push(readLimit(counters, counter, limit, at, askedMicros))
  }
  return readings
}

/** How much an amount counts in the current window of a period. */
export type AmountInPeriod = (period: Period) => Micros

/** Returns the reminders that this spending reaches at `at`, smallest first. */
export function reachedReminderEvents(
  book: LimitBook,
  counters: SpendingCounters,
  spent: Iterable<readonly [CounterIndex, AmountInPeriod]>,
  at: number,
): readonly ReminderReached[] {
  const facts: ReminderReached[] = []
  const windows = currentWindowsOf(counters, at)
  for (const [counter, amountIn] of spent) {
    const limit = book.limits.get(counter)
    if (limit === undefined) continue
    const { holder, holderId, class: limited, period } = limit
    const usedMicros = usedInWindow(counters, counter, period, windows) + amountIn(period)
    for (const reminderMicros of unreachedReminders(book, limit, windows[period])) {
      if (usedMicros < reminderMicros) break
      facts.push({
        type: "ReminderReached",
        at,
        holder,
        holderId,
        class: limited,
        period,
        limitMicros: limit.amountMicros,
        reminderMicros,
        usedMicros,
        windowStart: windows[period],
        resetsAt: windowEnd(windows, period),
      })
    }
  }
  return facts
}

/** Applies a reached reminder to the book. */
export function markReminderReached(
  book: LimitBook,
  counters: SpendingCounters,
  fact: ReminderReached,
): void {
  const key = reminderKey(fact)
  const { holder, holderId, class: limited, period, windowStart, reminderMicros } = fact
  const former = book.reachedReminders.get(key)
  const reachedAmounts = former?.windowStart === windowStart ? former.amounts : []
  const amounts = [...reachedAmounts, reminderMicros]
  book.reachedReminders.set(key, {
    holder,
    holderId,
    class: limited,
    period,
    windowStart,
    amounts,
  })
  setRemindersOf(book, counters, fact)
}

/** Forgets the reminders of windows that ended, so that they are sent again. */
export function resetReminders(book: LimitBook, counters: SpendingCounters): void {
  for (const [key, reached] of book.reachedReminders) {
    if (reached.windowStart === counters.windows[reached.period]) continue
    book.reachedReminders.delete(key)
    setRemindersOf(book, counters, reached)
  }
}

function setRemindersOf(book: LimitBook, counters: SpendingCounters, name: LimitScope): void {
  for (const counter of countersOfScope(counters, name)) {
    const limit = book.limits.get(counter)
    if (limit !== undefined) setReminder(book, counters, counter, limit)
  }
}

function setReminder(
  book: LimitBook,
  counters: SpendingCounters,
  counter: CounterIndex,
  limit: Limit,
): void {
  if (limit.remindersMicros.length === 0) return
  setNextReminder(
    counters,
    counter,
    unreachedReminders(book, limit, counters.windows[limit.period])[0] ?? null,
  )
}

/** The reminders of a limit that were not reached in this window, smallest first. */
function unreachedReminders(book: LimitBook, limit: Limit, windowStart: number): readonly Micros[] {
  const reached = book.reachedReminders.get(reminderKey(limit))
  const reachedAmounts = reached?.windowStart === windowStart ? reached.amounts : []
  return [...new Set(limit.remindersMicros)]
    .filter((amount) => !reachedAmounts.includes(amount))
    .toSorted((a, b) => a - b)
}

function reminderKey(limit: LimitScope & Pick<Limit, "period">): string {
  return `${limit.holder}:${limit.holderId ?? ""}:${limit.class}:${limit.period}`
}
