/** Reminders as a list of facts tells them: what was told, and what is to be told next. */
import type { LedgerEvent, ReminderReached } from "../../domain/charging/ledger-formats.ts"
import type { Limit } from "../../domain/charging/limits.ts"
import type { Facts, Known, Rules } from "./plain-facts.ts"
import { RULES, isSameName, limitsOn, readingOf } from "./plain-facts.ts"

/** The reminders that a fact reaches: of each limit that it weighs on, the smallest amount first. */
export function remindersAfter(
  known: Known,
  fact: LedgerEvent,
  rules: Rules = RULES,
): readonly ReminderReached[] {
  const after = { ...known, facts: [...known.facts, fact] }
  return touchedBy(known.facts, fact).flatMap((limit) => {
    const reading = readingOf(after, limit, fact.at, 0, rules)
    const { holder, holderId, class: limited, period, usedMicros, windowStart, resetsAt } = reading
    const since = rules.toldSince(known.facts, limit)
    return [...new Set(limit.remindersMicros)]
      .toSorted((a, b) => a - b)
      .filter((amount) => amount <= usedMicros)
      .filter((amount) => !wasTold(known.facts.slice(since), limit, amount, windowStart))
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

/** The limits that a fact weighs on, each once, in the order in which the fact comes to them. */
export function touchedBy(facts: Facts, fact: LedgerEvent): readonly Limit[] {
  if (fact.type === "Charged") return fact.isAlreadyCounted ? [] : limitsOn(facts, fact)
  if (fact.type !== "ApiCallsCounted") return []
  const touched = fact.counters.flatMap((tally) => limitsOn(facts, { ...tally, class: "general" }))
  return touched.filter((limit, i) => touched.findIndex((one) => isSameName(one, limit)) === i)
}

function wasTold(facts: Facts, limit: Limit, amount: number, windowStart: number): boolean {
  return facts.some((fact) => {
    if (fact.type !== "ReminderReached" || !isSameName(fact, limit)) return false
    const isSame = fact.period === limit.period && fact.windowStart === windowStart
    return isSame && fact.reminderMicros === amount
  })
}
