/**
 * Months: the sums of the current one, and its closing. The bill of a closed month never changes; a later refund is
 * a line of the month in which it happens (docs/decisions/charging.md).
 */
import type { Micros } from "../kernel/money.ts"
import { isMicros } from "../kernel/money.ts"
import { monthEnd, formatMonth, monthStart } from "../kernel/window.ts"
import type { MonthClosed } from "./ledger-events.ts"

export type MonthSumName =
  "addedMicros" | "purchasedMicros" | "correctedMicros" | "chargedMicros" | "reducedMicros"

export interface MonthSums extends Record<MonthSumName, Micros> {
  charges: number
}

/** The sums of an empty month. */
export const ZERO_MONTH_SUMS: Readonly<MonthSums> = {
  addedMicros: 0,
  purchasedMicros: 0,
  correctedMicros: 0,
  chargedMicros: 0,
  reducedMicros: 0,
  charges: 0,
}

/** The current month of a ledger, with its sums so far. */
export interface LedgerMonth extends MonthSums {
  start: number
  end: number
  openingMicros: Micros
}

/** Starts the month of `at`. */
export function startMonth(at: number, fundsMicros: Micros): LedgerMonth {
  return {
    start: monthStart(at),
    end: monthEnd(at),
    openingMicros: fundsMicros,
    ...ZERO_MONTH_SUMS,
  }
}

/** Whether adding an amount keeps a sum of the month that contains `at` within 2^53. */
export function canAddToMonthSum(
  month: LedgerMonth | null,
  sum: MonthSumName,
  amountMicros: Micros,
  at: number,
): boolean {
  // A month that has ended is closed first, so the sums of the next start at zero.
  const isCurrent = month !== null && at < month.end
  return isMicros((isCurrent ? month[sum] : 0) + amountMicros)
}

/** Returns the closings due at `at`: one for each month that has ended, oldest first. */
export function monthClosingsDueAt(
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
