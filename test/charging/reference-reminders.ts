/** Reminders derived from a list of facts: which were sent, and which are due. */
import type { LedgerEvent, ReminderReached } from "../../domain/charging/ledger-events.ts"
import type { Limit } from "../../domain/charging/limits.ts"
import type { LedgerFacts, ProcessKnowledge, ReferenceRules } from "./reference-views.ts"
import {
  REFERENCE_RULES,
  isSameLimit,
  limitsOnSpending,
  limitReadingOf,
} from "./reference-views.ts"

/** The reminders that a fact reaches, for every limit it counts in, the smallest amount first. */
export function remindersAfter(
  known: ProcessKnowledge,
  fact: LedgerEvent,
  rules: ReferenceRules = REFERENCE_RULES,
): readonly ReminderReached[] {
  const after = { ...known, facts: [...known.facts, fact] }
  return limitsAffectedBy(known.facts, fact).flatMap((limit) => {
    const reading = limitReadingOf(after, limit, fact.at, 0, rules)
    const { holder, holderId, class: limited, period, usedMicros, windowStart, resetsAt } = reading
    const since = rules.firstRemindedIndex(known.facts, limit)
    return [...new Set(limit.remindersMicros)]
      .toSorted((a, b) => a - b)
      .filter((amount) => amount <= usedMicros)
      .filter((amount) => !wasReminded(known.facts.slice(since), limit, amount, windowStart))
      .map((reminderMicros) => ({
        type: "ReminderReached",
        at: fact.at,
        holder,
        holderId,
        class: limited,
        period,
        limitMicros: limit.amountMicros,
        reminderMicros,
        usedMicros,
        windowStart,
        resetsAt,
      }))
  })
}

/** The limits that a fact counts in, without duplicates, in the fact's order. */
export function limitsAffectedBy(facts: LedgerFacts, fact: LedgerEvent): readonly Limit[] {
  if (fact.type === "Charged") return fact.isAlreadyCounted ? [] : limitsOnSpending(facts, fact)
  if (fact.type !== "ApiCallsCounted") return []
  const touched = fact.counters.flatMap((counter) =>
    limitsOnSpending(facts, { ...counter, class: "general" }),
  )
  return touched.filter((limit, i) => touched.findIndex((one) => isSameLimit(one, limit)) === i)
}

function wasReminded(
  facts: LedgerFacts,
  limit: Limit,
  amount: number,
  windowStart: number,
): boolean {
  return facts.some((fact) => {
    if (fact.type !== "ReminderReached" || !isSameLimit(fact, limit)) return false
    const isSame = fact.period === limit.period && fact.windowStart === windowStart
    return isSame && fact.reminderMicros === amount
  })
}
