/**
 * Views of a ledger, calculated from all facts for every question: slow, without stored sums, and independent of the
 * real ledger.
 */
import type { ServedApiCall } from "../../domain/charging/api-calls.ts"
import type {
  ApiCallsCounted,
  ChargeRequest,
  Charged,
  LedgerEvent,
} from "../../domain/charging/ledger-events.ts"
import type { Limit, LimitScope, LimitReading } from "../../domain/charging/limits.ts"
import type { ChargeId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type { Period } from "../../domain/kernel/window.ts"
import { type WindowCalendar, type TimeWindow, naiveCalendar } from "../kernel/naive-calendar.ts"

/** Facts of a ledger, oldest first. */
export type LedgerFacts = readonly LedgerEvent[]

/** A call that one process has served and not stored yet. */
export interface BufferedCall extends ServedApiCall {
  /** The first millisecond of its UTC day. */
  readonly day: number
}

/** What one process knows of a ledger: every fact, and its own buffered calls. */
export interface ProcessKnowledge {
  readonly facts: LedgerFacts
  readonly buffered: readonly BufferedCall[]
}

/** Rules of a ledger that a faulty ledger may change. */
export interface ReferenceRules {
  readonly calendar: WindowCalendar
  /** Index of the first fact that a limit counts: 0 in the correct ledger. */
  readonly firstSummedIndex: (facts: LedgerFacts, name: LimitScope) => number
  /** The instant whose windows count the calls. */
  readonly callsCountedAt: (counted: ApiCallsCounted) => number
  /** Whether buffered calls count. */
  readonly isBufferedIncluded: boolean
  /** Index of the first fact whose reminders count as sent: 0 in the correct ledger. */
  readonly firstRemindedIndex: (facts: LedgerFacts, name: LimitScope) => number
}

/** The correct rules. */
export const REFERENCE_RULES: ReferenceRules = {
  calendar: naiveCalendar,
  firstSummedIndex: () => 0,
  callsCountedAt: ({ day }) => day,
  isBufferedIncluded: true,
  firstRemindedIndex: () => 0,
}

/** Added + bought + corrected − charged + refunded. */
export function fundsIn(facts: LedgerFacts): Micros {
  let funds = 0
  for (const fact of facts) {
    switch (fact.type) {
      case "FundsAdded":
      case "PurchasePaid":
      case "FundsCorrected":
      case "ChargeReduced":
        funds += fact.amountMicros
        break
      case "Charged":
        funds -= fact.amountMicros
        break
      default:
    }
  }
  return funds
}

/** How far the funds may fall below zero. */
export interface SpendingTerms {
  readonly prepaidOnly: boolean
  readonly creditLineMicros: Micros
}

/** The current terms; before any were set, the funds may not fall below zero. */
export function termsIn(facts: LedgerFacts): SpendingTerms {
  const last = facts.findLast(({ type }) => type === "LedgerOpened" || type === "TermsChanged")
  if (last?.type !== "LedgerOpened" && last?.type !== "TermsChanged") {
    return { prepaidOnly: false, creditLineMicros: 0 }
  }
  return { prepaidOnly: last.prepaidOnly, creditLineMicros: last.creditLineMicros }
}

/** How far below zero the funds may fall: not at all for a prepaid-only company. */
export function creditLineIn(facts: LedgerFacts): Micros {
  const terms = termsIn(facts)
  return terms.prepaidOnly ? 0 : terms.creditLineMicros
}

/** Whether the last fact of two types has the first type. */
export function isSwitchedOn(
  facts: LedgerFacts,
  on: LedgerEvent["type"],
  off: LedgerEvent["type"],
): boolean {
  return facts.findLast(({ type }) => type === on || type === off)?.type === on
}

/** Whether two limits have the same holder and class. */
export function isSameLimit(a: LimitScope, b: LimitScope): boolean {
  return a.holder === b.holder && a.holderId === b.holderId && a.class === b.class
}

/** The current limits, in the order in which they were set. */
export function limitsIn(facts: LedgerFacts): readonly Limit[] {
  let limits: Limit[] = []
  for (const fact of facts) {
    if (fact.type !== "LimitSet" && fact.type !== "LimitRemoved") continue
    limits = limits.filter((limit) => !isSameLimit(limit, fact))
    if (fact.type === "LimitSet") {
      const { type: _type, at: _at, ...limit } = fact
      limits.push(limit)
    }
  }
  return limits
}

/** The fields of a request or call that identify its spender. */
export type SpendingSource = Pick<ChargeRequest, "via" | "keyId" | "personId" | "class">

/** Whether a limit counts this spending (specification, "Spending limits"). */
function isLimitOn(
  limit: LimitScope & Pick<Limit, "leaveKeysOut">,
  { via, keyId, personId, class: charged }: SpendingSource,
): boolean {
  switch (limit.holder) {
    case "company":
      return charged === limit.class
    case "person":
      if (personId !== limit.holderId || charged !== limit.class) return false
      return !(limit.leaveKeysOut && via === "own_key")
    case "key":
      return keyId === limit.holderId
  }
}

/** The limits that spending must fit, in their order in refusals. */
export function limitsOnSpending(facts: LedgerFacts, spending: SpendingSource): readonly Limit[] {
  const limits = limitsIn(facts).filter((limit) => isLimitOn(limit, spending))
  return (["key", "person", "company"] as const).flatMap((holder) =>
    limits.filter((limit) => limit.holder === holder),
  )
}

const isWithin = ({ from, to }: TimeWindow, instant: number): boolean =>
  instant >= from && instant < to

/** The amount that a fact adds to a limit's window; below zero for refunds. */
function usageOf(
  fact: LedgerEvent,
  limit: Limit,
  window: TimeWindow,
  rules: ReferenceRules,
): Micros {
  switch (fact.type) {
    case "Charged":
      if (fact.isAlreadyCounted || !isWithin(window, fact.at)) return 0
      return isLimitOn(limit, fact) ? fact.amountMicros : 0
    case "ChargeReduced":
      if (!isWithin(window, fact.countedAt)) return 0
      return isLimitOn(limit, fact) ? -fact.amountMicros : 0
    case "ApiCallsCounted":
      if (!isWithin(window, rules.callsCountedAt(fact))) return 0
      return fact.counters
        .filter((counter) => isLimitOn(limit, { ...counter, class: "general" }))
        .reduce((sum, { calls }) => sum + calls * fact.unitPriceMicros, 0)
    default:
      return 0
  }
}

/** A limit with its used amount at an instant, as refusals show it. */
export function limitReadingOf(
  { facts, buffered }: ProcessKnowledge,
  limit: Limit,
  at: number,
  askedMicros: Micros,
  rules: ReferenceRules = REFERENCE_RULES,
): LimitReading {
  const { holder, holderId, class: limited, period, amountMicros } = limit
  const window = rules.calendar[period](at)
  let spentMicros = 0
  for (let place = rules.firstSummedIndex(facts, limit); place < facts.length; place += 1) {
    spentMicros += usageOf(facts[place] as LedgerEvent, limit, window, rules)
  }
  let pendingMicros = 0
  for (const call of rules.isBufferedIncluded ? buffered : []) {
    const isCounted = isWithin(window, call.day) && isLimitOn(limit, { ...call, class: "general" })
    if (isCounted) pendingMicros += call.unitPriceMicros
  }
  const usedMicros = spentMicros + pendingMicros
  return {
    holder,
    holderId,
    class: limited,
    period,
    amountMicros,
    usedMicros,
    unrecordedMicros: pendingMicros,
    remainingMicros: Math.max(amountMicros - usedMicros, 0),
    askedMicros,
    windowStart: window.from,
    resetsAt: window.to,
  }
}

/** The readings of the limits that spending must fit, in their order in refusals. */
export function limitReadingsFor(
  known: ProcessKnowledge,
  spending: SpendingSource,
  at: number,
  askedMicros: Micros,
  rules: ReferenceRules = REFERENCE_RULES,
): readonly LimitReading[] {
  return limitsOnSpending(known.facts, spending).map((limit) =>
    limitReadingOf(known, limit, at, askedMicros, rules),
  )
}

/** Whether a limit has room for the requested amount. */
export function hasRoom(reading: LimitReading): boolean {
  return reading.amountMicros - reading.usedMicros >= reading.askedMicros
}

/** The ids of pending charges, oldest first. */
export function pendingChargesIn(facts: LedgerFacts): readonly ChargeId[] {
  let open: ChargeId[] = []
  for (const fact of facts) {
    if (fact.type === "Charged" && fact.isPending) open.push(fact.chargeId)
    if (fact.type === "ChargesSettled") open = open.filter((id) => !fact.chargeIds.includes(id))
    if (fact.type === "ChargeReduced") open = open.filter((id) => id !== fact.chargeId)
  }
  return open
}

/** The last charge of an id; undefined if there is none. */
export function lastChargeOf(facts: LedgerFacts, chargeId: ChargeId): Charged | undefined {
  const found = facts.findLast((fact) => fact.type === "Charged" && fact.chargeId === chargeId)
  return found?.type === "Charged" ? found : undefined
}

/** A charge's amount minus its refunds, in micros, as a read model of these facts shows it. */
export function unrefundedAmountIn(facts: LedgerFacts, charged: Charged): Micros {
  let left = charged.amountMicros
  for (const fact of facts.slice(facts.indexOf(charged))) {
    const isRefund = fact.type === "ChargeReduced" && fact.chargeId === charged.chargeId
    if (isRefund) left -= fact.amountMicros
  }
  return left
}

/** The charged ids, newest first, with repetitions. */
export function chargedIds(facts: LedgerFacts): readonly ChargeId[] {
  return facts.flatMap((fact) => (fact.type === "Charged" ? [fact.chargeId] : [])).toReversed()
}

/** The first millisecond of a period's window. */
export function windowStartOf(
  period: Period,
  at: number,
  rules: ReferenceRules = REFERENCE_RULES,
): number {
  return rules.calendar[period](at).from
}
