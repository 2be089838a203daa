/**
 * What a list of facts says about a ledger, found out the slow way: for every question all of them
 * are gone through again. No sum is kept, nothing moves, and nothing of the real ledger is used.
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

/** A call that was served by one process and is not recorded yet. */
export interface BufferedCall extends ServedApiCall {
  /** The first millisecond of its UTC day. */
  readonly day: number
}

/** What one process knows of a ledger: every fact, and the calls that it gathered itself. */
export interface ProcessKnowledge {
  readonly facts: LedgerFacts
  readonly buffered: readonly BufferedCall[]
}

/** What a ledger's rules leave to be set, so that a wrong one can be made of the right one. */
export interface ReferenceRules {
  readonly calendar: WindowCalendar
  /** The place of the first fact that a limit sums: 0, for what was spent stays summed. */
  readonly firstSummedIndex: (facts: LedgerFacts, name: LimitScope) => number
  /** The instant whose windows calls weigh in. */
  readonly callsCountedAt: (counted: ApiCallsCounted) => number
  /** Whether calls weigh that were served and not recorded yet. */
  readonly isBufferedIncluded: boolean
  /** The place of the first fact that counts as told: 0, for what was told stays told. */
  readonly firstRemindedIndex: (facts: LedgerFacts, name: LimitScope) => number
}

/** The rules as they are. */
export const REFERENCE_RULES: ReferenceRules = {
  calendar: naiveCalendar,
  firstSummedIndex: () => 0,
  callsCountedAt: ({ day }) => day,
  isBufferedIncluded: true,
  firstRemindedIndex: () => 0,
}

/** Added + bought + corrected − charged + given back. */
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

/** What may be spent beyond the funds. */
export interface SpendingTerms {
  readonly prepaidOnly: boolean
  readonly creditLineMicros: Micros
}

/** The terms as they were last arranged: before any were, nothing may be spent beyond the funds. */
export function termsIn(facts: LedgerFacts): SpendingTerms {
  const last = facts.findLast(({ type }) => type === "LedgerOpened" || type === "TermsChanged")
  if (last?.type !== "LedgerOpened" && last?.type !== "TermsChanged") {
    return { prepaidOnly: false, creditLineMicros: 0 }
  }
  return { prepaidOnly: last.prepaidOnly, creditLineMicros: last.creditLineMicros }
}

/** How far below zero the funds may go: not at all for a company that only spends prepaid funds. */
export function creditLineIn(facts: LedgerFacts): Micros {
  const terms = termsIn(facts)
  return terms.prepaidOnly ? 0 : terms.creditLineMicros
}

/** Whether the last of two kinds of facts was of the first kind. */
export function isSwitchedOn(
  facts: LedgerFacts,
  on: LedgerEvent["type"],
  off: LedgerEvent["type"],
): boolean {
  return facts.findLast(({ type }) => type === on || type === off)?.type === on
}

/** Whether two limits are of the same holder and class. */
export function isSameLimit(a: LimitScope, b: LimitScope): boolean {
  return a.holder === b.holder && a.holderId === b.holderId && a.class === b.class
}

/** The limits in force, in the order in which they were set. */
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

/** What of a request, or of a call, says whose spending it is. */
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

/** The limits that spending must fit, in the order in which they are named. */
export function limitsOnSpending(facts: LedgerFacts, spending: SpendingSource): readonly Limit[] {
  const limits = limitsIn(facts).filter((limit) => isLimitOn(limit, spending))
  return (["key", "person", "company"] as const).flatMap((holder) =>
    limits.filter((limit) => limit.holder === holder),
  )
}

const isWithin = ({ from, to }: TimeWindow, instant: number): boolean =>
  instant >= from && instant < to

/** What one fact weighs in a limit's window; below zero for what is given back. */
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
        .filter((tally) => isLimitOn(limit, { ...tally, class: "general" }))
        .reduce((sum, { calls }) => sum + calls * fact.unitPriceMicros, 0)
    default:
      return 0
  }
}

/** A limit with what is used of it around an instant, as evidence shows it. */
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

/** The readings of the limits that spending must fit, in the order in which they are named. */
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

/** Whether a limit leaves room for what is asked. */
export function hasRoom(reading: LimitReading): boolean {
  return reading.amountMicros - reading.usedMicros >= reading.askedMicros
}

/** The ids of charges whose work has not ended, oldest first. */
export function pendingChargesIn(facts: LedgerFacts): readonly ChargeId[] {
  let open: ChargeId[] = []
  for (const fact of facts) {
    if (fact.type === "Charged" && fact.isPending) open.push(fact.chargeId)
    if (fact.type === "ChargesSettled") open = open.filter((id) => !fact.chargeIds.includes(id))
    if (fact.type === "ChargeReduced") open = open.filter((id) => id !== fact.chargeId)
  }
  return open
}

/** The last charge of an id; undefined where there is none. */
export function lastChargeOf(facts: LedgerFacts, chargeId: ChargeId): Charged | undefined {
  const found = facts.findLast((fact) => fact.type === "Charged" && fact.chargeId === chargeId)
  return found?.type === "Charged" ? found : undefined
}

/** The newest charge's amount less its refunds, in micros: what a read model of these facts shows. */
export function unrefundedAmountIn(facts: LedgerFacts, charged: Charged): Micros {
  let left = charged.amountMicros
  for (const fact of facts.slice(facts.indexOf(charged))) {
    const isRefund = fact.type === "ChargeReduced" && fact.chargeId === charged.chargeId
    if (isRefund) left -= fact.amountMicros
  }
  return left
}

/** The ids that were charged, newest first, each as often as it was. */
export function chargedIds(facts: LedgerFacts): readonly ChargeId[] {
  return facts.flatMap((fact) => (fact.type === "Charged" ? [fact.chargeId] : [])).toReversed()
}

/** The first millisecond of the window of a period. */
export function windowStartOf(
  period: Period,
  at: number,
  rules: ReferenceRules = REFERENCE_RULES,
): number {
  return rules.calendar[period](at).from
}
