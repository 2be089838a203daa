/**
 * The limits of a company as they stand: each watches one tally. Reminders are kept with them: which
 * amounts were reached in the current window, so that each is told once (decisions.md §4).
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

/** Which reminders of a limit were reached in one window. */
interface ReachedReminders extends LimitScope, Pick<Limit, "period"> {
  readonly windowStart: number
  readonly amounts: readonly Micros[]
}

/** The limits of one company. */
export interface LimitBook {
  readonly limits: Map<CounterIndex, Limit>
  /** By limit and period. It outlives the limit: removed and set again, it reminds no second time. */
  readonly reachedReminders: Map<string, ReachedReminders>
}

/** No limits. */
export function emptyLimitBook(): LimitBook {
  return { limits: new Map(), reachedReminders: new Map() }
}

/** The limit of this name; null where there is none. */
export function findLimit(
  book: LimitBook,
  tallies: SpendingCounters,
  name: LimitScope,
): Limit | null {
  for (const tally of countersOfScope(tallies, name)) {
    const limit = book.limits.get(tally)
    if (limit !== undefined) return limit
  }
  return null
}

/** Puts a limit in its place, instead of the one of its name. */
export function putLimit(book: LimitBook, tallies: SpendingCounters, limit: Limit): void {
  removeLimit(book, tallies, limit)
  const tally = counterOfLimit(tallies, limit)
  book.limits.set(tally, limit)
  setCounterLimit(tallies, tally, limit)
  setReminder(book, tallies, tally, limit)
}

/** Takes the limit of this name away. */
export function removeLimit(book: LimitBook, tallies: SpendingCounters, name: LimitScope): void {
  for (const tally of countersOfScope(tallies, name)) {
    if (book.limits.delete(tally)) setCounterLimit(tallies, tally, null)
  }
}

/** A limit with what is used of it in the window around `at`. */
export function readLimit(
  tallies: SpendingCounters,
  tally: CounterIndex,
  limit: Limit,
  at: number,
  askedMicros: Micros,
): LimitReading {
  const windows = currentWindowsOf(tallies, at)
  const { holder, holderId, class: limited, period, amountMicros } = limit
  const usedMicros = usedInWindow(tallies, tally, period, windows)
  return {
    holder,
    holderId,
    class: limited,
    period,
    amountMicros,
    usedMicros,
    unrecordedMicros: bufferedInWindow(tallies, tally, period, windows),
    remainingMicros: Math.max(0, amountMicros - usedMicros),
    askedMicros,
    windowStart: windows[period],
    resetsAt: windowEnd(windows, period),
  }
}

/** Every limit on these tallies, in their order, with what is used of it. */
export function readLimitsOfCounters(
  book: LimitBook,
  tallies: SpendingCounters,
  on: Iterable<CounterIndex>,
  at: number,
  askedMicros: Micros,
): readonly LimitReading[] {
  const readings: LimitReading[] = []
  for (const tally of on) {
    const limit = book.limits.get(tally)
    if (limit !== undefined) readings.push(readLimit(tallies, tally, limit, at, askedMicros))
  }
  return readings
}

/** What spending weighs in the current window of a period. */
export type AmountInPeriod = (period: Period) => Micros

/** The reminders that spending so much on these tallies at `at` reaches, smallest first. */
export function reachedReminderEvents(
  book: LimitBook,
  tallies: SpendingCounters,
  spent: Iterable<readonly [CounterIndex, AmountInPeriod]>,
  at: number,
): readonly ReminderReached[] {
  const facts: ReminderReached[] = []
  const windows = currentWindowsOf(tallies, at)
  for (const [tally, weightIn] of spent) {
    const limit = book.limits.get(tally)
    if (limit === undefined) continue
    const { holder, holderId, class: limited, period } = limit
    const usedMicros = usedInWindow(tallies, tally, period, windows) + weightIn(period)
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

/** Keeps in mind that a reminder was told. */
export function markReminderReached(
  book: LimitBook,
  tallies: SpendingCounters,
  fact: ReminderReached,
): void {
  const place = reminderKey(fact)
  const { holder, holderId, class: limited, period, windowStart, reminderMicros } = fact
  const former = book.reachedReminders.get(place)
  const told = former?.windowStart === windowStart ? former.amounts : []
  const amounts = [...told, reminderMicros]
  book.reachedReminders.set(place, {
    holder,
    holderId,
    class: limited,
    period,
    windowStart,
    amounts,
  })
  setRemindersOf(book, tallies, fact)
}

/** Makes ready for the windows that have begun: what was told in those that ended is told again. */
export function resetReminders(book: LimitBook, tallies: SpendingCounters): void {
  for (const [place, reached] of book.reachedReminders) {
    if (reached.windowStart === tallies.windows[reached.period]) continue
    book.reachedReminders.delete(place)
    setRemindersOf(book, tallies, reached)
  }
}

function setRemindersOf(book: LimitBook, tallies: SpendingCounters, name: LimitScope): void {
  for (const tally of countersOfScope(tallies, name)) {
    const limit = book.limits.get(tally)
    if (limit !== undefined) setReminder(book, tallies, tally, limit)
  }
}

function setReminder(
  book: LimitBook,
  tallies: SpendingCounters,
  tally: CounterIndex,
  limit: Limit,
): void {
  if (limit.remindersMicros.length === 0) return
  setNextReminder(
    tallies,
    tally,
    unreachedReminders(book, limit, tallies.windows[limit.period])[0] ?? null,
  )
}

/** The reminders of a limit that were not told in this window, smallest first. */
function unreachedReminders(book: LimitBook, limit: Limit, windowStart: number): readonly Micros[] {
  const reached = book.reachedReminders.get(reminderKey(limit))
  const told = reached?.windowStart === windowStart ? reached.amounts : []
  return [...new Set(limit.remindersMicros)]
    .filter((amount) => !told.includes(amount))
    .toSorted((a, b) => a - b)
}

function reminderKey(limit: LimitScope & Pick<Limit, "period">): string {
  return `${limit.holder}:${limit.holderId ?? ""}:${limit.class}:${limit.period}`
}
