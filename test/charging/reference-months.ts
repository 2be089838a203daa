/** Months derived from a list of facts: which are over, and their totals. */
import type { LedgerEvent, MonthClosed } from "../../domain/charging/ledger-events.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import { naiveCalendar } from "../kernel/naive-calendar.ts"
import type { LedgerFacts } from "./reference-views.ts"
import { fundsIn } from "./reference-views.ts"

/** The closings that come before a fact at an instant: one for each month that has ended. */
export function dueMonthClosings(
  facts: LedgerFacts,
  at: number,
  headHash: string,
): readonly MonthClosed[] {
  const opening = facts.findIndex(({ type }) => type === "LedgerOpened")
  if (opening === -1) return []
  const closed = facts.flatMap(({ type }, place) => (type === "MonthClosed" ? [place] : []))
  const begun = closed.at(-1) ?? opening
  let month = naiveCalendar.month((facts[opening] as LedgerEvent).at)
  for (const _ of closed) month = naiveCalendar.month(month.to)
  const due: MonthClosed[] = []
  let movements = facts.slice(begun + 1)
  let openingMicros = fundsIn(facts.slice(0, begun + 1))
  const fundsMicros = fundsIn(facts)
  while (month.to <= at) {
    due.push({
      type: "MonthClosed",
      at,
      month: new Date(month.from).toISOString().slice(0, 7),
      openingMicros,
      addedMicros: sumOf(movements, "FundsAdded"),
      purchasedMicros: sumOf(movements, "PurchasePaid"),
      correctedMicros: sumOf(movements, "FundsCorrected"),
      chargedMicros: sumOf(movements, "Charged"),
      reducedMicros: sumOf(movements, "ChargeReduced"),
      fundsMicros,
      charges: movements.filter(({ type }) => type === "Charged").length,
      headRevision: facts.length - 1,
      headHash,
    })
    movements = []
    openingMicros = fundsMicros
    month = naiveCalendar.month(month.to)
  }
  return due
}

type Movement = Extract<LedgerEvent, { readonly amountMicros: Micros }>["type"]

function sumOf(facts: LedgerFacts, type: Movement): Micros {
  return facts.reduce((sum, fact) => {
    return fact.type === type && "amountMicros" in fact ? sum + fact.amountMicros : sum
  }, 0)
}
