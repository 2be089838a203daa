/**
 * Months: what moved the funds in the current one, and its closing. Once a month is closed its bill
 * never changes; what is given back later is a line of the month in which it was (decisions.md §4).
 */
import type { Micros } from "../kernel/money.ts"
import { isMicros } from "../kernel/money.ts"
import { monthEnd, formatMonth, monthStart } from "../kernel/window.ts"
import type { MonthClosed } from "./ledger-events.ts"

/** What a month adds up. */
export type MonthSumName =
  "addedMicros" | "purchasedMicros" | "correctedMicros" | "chargedMicros" | "reducedMicros"

/** All that a month adds up, and how many charges there were. */
export interface MonthSums extends Record<MonthSumName, Micros> {
  charges: number
}

/** The sums of a month in which nothing happened. */
export const ZERO_MONTH_SUMS: Readonly<MonthSums> = {
  addedMicros: 0,
  purchasedMicros: 0,
  correctedMicros: 0,
  chargedMicros: 0,
  reducedMicros: 0,
  charges: 0,
}

/** The current month of a ledger: sums since it began. */
export interface LedgerMonth extends MonthSums {
  /** Its first millisecond, UTC. */
  start: number
  /** The first millisecond after it. */
  end: number
  openingMicros: Micros
}

/** A month that begins. */
export function startMonth(at: number, fundsMicros: Micros): LedgerMonth {
  return {
    start: monthStart(at),
    end: monthEnd(at),
    openingMicros: fundsMicros,
    ...ZERO_MONTH_SUMS,
  }
}

/** Whether a sum of the month around `at` stays exact with this added. */
export function isMonthSumExact(
  month: LedgerMonth | null,
  sum: MonthSumName,
  amountMicros: Micros,
  at: number,
): boolean {
  // A month that is over is closed first: the sums of the next begin at nothing.
  const isKept = month !== null && at < month.end
  return isMicros((isKept ? month[sum] : 0) + amountMicros)
}

/** The closings that are due at `at`: one for each month that is over, the oldest first. */
export function closingsOfEndedMonths(
  month: LedgerMonth,
  at: number,
  fundsMicros: Micros,
  head: { readonly headRevision: number; readonly headHash: string },
): readonly MonthClosed[] {
  const facts: MonthClosed[] = []
  let { start, openingMicros } = month
  let sums: Readonly<MonthSums> = month
  while (monthEnd(start) <= at) {
    const { addedMicros, purchasedMicros, correctedMicros, chargedMicros, reducedMicros } = sums
    facts.push({
      type: "MonthClosed",
      at,
      month: formatMonth(start),
      openingMicros,
      addedMicros,
      purchasedMicros,
      correctedMicros,
      chargedMicros,
      reducedMicros,
      fundsMicros,
      charges: sums.charges,
      ...head,
    })
    start = monthEnd(start)
    openingMicros = fundsMicros
    sums = startMonth(start, fundsMicros)
  }
  return facts
}
