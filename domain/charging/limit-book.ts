/**
 * The limits of a company as they stand: each watches one tally. Reminders are kept with them: which
 * amounts were reached in the current window, so that each is told once (decisions.md §4).
 */
import type { Micros } from "../kernel/money.ts"
import type { Period } from "../kernel/window.ts"
import { windowEnd } from "../kernel/window.ts"
import type { ReminderReached } from "./ledger-formats.ts"
import type { Limit, LimitName, LimitReading } from "./limits.ts"
import type { TallyIndex } from "./sums.ts"
import { pendingAt, remind, usedAt, watch, windowsOf } from "./sums.ts"
import type { Tallies } from "./tallies.ts"
import { talliesNamed, tallyOfLimit } from "./tallies.ts"

/** Which reminders of a limit were reached in one window. */
interface Reached extends LimitName, Pick<Limit, "period"> {
  readonly windowStart: number
  readonly amounts: readonly Micros[]
}

/** The limits of one company. */
export interface LimitBook {
  readonly limits: Map<TallyIndex, Limit>
  /** By limit and period. It outlives the limit: removed and set again, it reminds no second time. */
  readonly reached: Map<string, Reached>
}

/** No limits. */
export function emptyLimitBook(): LimitBook {
  return { limits: new Map(), reached: new Map() }
}

/** The limit of this name; null where there is none. */
export function findLimit(book: LimitBook, tallies: Tallies, name: LimitName): Limit | null {
  for (const tally of talliesNamed(tallies, name)) {
    const limit = book.limits.get(tally)
    if (limit !== undefined) return limit
  }
  return null
}

/** Puts a limit in its place, instead of the one of its name. */
export function placeLimit(book: LimitBook, tallies: Tallies, limit: Limit): void {
  dropLimit(book, tallies, limit)
  const tally = tallyOfLimit(tallies, limit)
  book.limits.set(tally, limit)
  watch(tallies, tally, limit)
  setReminder(book, tallies, tally, limit)
}

/** Takes the limit of this name away. */
export function dropLimit(book: LimitBook, tallies: Tallies, name: LimitName): void {
  for (const tally of talliesNamed(tallies, name)) {
    if (book.limits.delete(tally)) watch(tallies, tally, null)
  }
}

/** A limit with what is used of it in the window around `at`. */
export function readLimit(
  tallies: Tallies,
  tally: TallyIndex,
  limit: Limit,
  at: number,
  askedMicros: Micros,
): LimitReading {
  const windows = windowsOf(tallies, at)
  const { holder, holderId, class: limited, period, amountMicros } = limit
  const usedMicros = usedAt(tallies, tally, period, windows)
  return {
    holder,
    holderId,
    class: limited,
    period,
    amountMicros,
    usedMicros,
    unrecordedMicros: pendingAt(tallies, tally, period, windows),
    remainingMicros: Math.max(0, amountMicros - usedMicros),
    askedMicros,
    windowStart: windows[period],
    resetsAt: windowEnd(windows, period),
  }
}

/** Every limit on these tallies, in their order, with what is used of it. */
export function readLimitsOn(
  book: LimitBook,
  tallies: Tallies,
  on: Iterable<TallyIndex>,
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
export type WeightIn = (period: Period) => Micros

/** The reminders that spending so much on these tallies at `at` reaches, smallest first. */
export function remindersReached(
  book: LimitBook,
  tallies: Tallies,
  spent: Iterable<readonly [TallyIndex, WeightIn]>,
  at: number,
): readonly ReminderReached[] {
  const facts: ReminderReached[] = []
  const windows = windowsOf(tallies, at)
  for (const [tally, weightIn] of spent) {
    const limit = book.limits.get(tally)
    if (limit === undefined) continue
    const { holder, holderId, class: limited, period } = limit
    const usedMicros = usedAt(tallies, tally, period, windows) + weightIn(period)
    for (const reminderMicros of waiting(book, limit, windows[period])) {
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
export function markReached(book: LimitBook, tallies: Tallies, fact: ReminderReached): void {
  const place = placeOf(fact)
  const { holder, holderId, class: limited, period, windowStart, reminderMicros } = fact
  const former = book.reached.get(place)
  const told = former?.windowStart === windowStart ? former.amounts : []
  const amounts = [...told, reminderMicros]
  book.reached.set(place, { holder, holderId, class: limited, period, windowStart, amounts })
  setRemindersOf(book, tallies, fact)
}

/** Makes ready for the windows that have begun: what was told in those that ended is told again. */
export function renewReminders(book: LimitBook, tallies: Tallies): void {
  for (const [place, reached] of book.reached) {
    if (reached.windowStart === tallies.windows[reached.period]) continue
    book.reached.delete(place)
    setRemindersOf(book, tallies, reached)
  }
}

function setRemindersOf(book: LimitBook, tallies: Tallies, name: LimitName): void {
  for (const tally of talliesNamed(tallies, name)) {
    const limit = book.limits.get(tally)
    if (limit !== undefined) setReminder(book, tallies, tally, limit)
  }
}

function setReminder(book: LimitBook, tallies: Tallies, tally: TallyIndex, limit: Limit): void {
  if (limit.remindersMicros.length === 0) return
  remind(tallies, tally, waiting(book, limit, tallies.windows[limit.period])[0] ?? null)
}

/** The reminders of a limit that were not told in this window, smallest first. */
function waiting(book: LimitBook, limit: Limit, windowStart: number): readonly Micros[] {
  const reached = book.reached.get(placeOf(limit))
  const told = reached?.windowStart === windowStart ? reached.amounts : []
  return [...new Set(limit.remindersMicros)]
    .filter((amount) => !told.includes(amount))
    .toSorted((a, b) => a - b)
}

function placeOf(limit: LimitName & Pick<Limit, "period">): string {
  return `${limit.holder}:${limit.holderId ?? ""}:${limit.class}:${limit.period}`
}
