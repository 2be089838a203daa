/**
 * What a list of facts says about a ledger, found out the slow way: for every question all of them
 * are gone through again. No sum is kept, nothing moves, and nothing of the real ledger is used.
 */
import type { ServedCall } from "../../domain/charging/calls.ts"
import type {
  ApiCallsCounted,
  ChargeRequest,
  Charged,
  LedgerEvent,
} from "../../domain/charging/ledger-formats.ts"
import type { Limit, LimitName, LimitReading } from "../../domain/charging/limits.ts"
import type { ChargeId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type { Period } from "../../domain/kernel/window.ts"
import { type Calendar, type Span, naiveCalendar } from "../kernel/naive-calendar.ts"

/** Facts of a ledger, oldest first. */
export type Facts = readonly LedgerEvent[]

/** A call that was served by one process and is not recorded yet. */
export interface GatheredCall extends ServedCall {
  /** The first millisecond of its UTC day. */
  readonly day: number
}

/** What one process knows of a ledger: every fact, and the calls that it gathered itself. */
export interface Known {
  readonly facts: Facts
  readonly gathered: readonly GatheredCall[]
}

/** What a ledger's rules leave to be set, so that a wrong one can be made of the right one. */
export interface Rules {
  readonly calendar: Calendar
  /** The place of the first fact that a limit sums: 0, for what was spent stays summed. */
  readonly sumsBegin: (facts: Facts, name: LimitName) => number
  /** The instant whose windows calls weigh in. */
  readonly callsWeighAt: (counted: ApiCallsCounted) => number
  /** Whether calls weigh that were served and not recorded yet. */
  readonly gatheredWeigh: boolean
  /** The place of the first fact that counts as told: 0, for what was told stays told. */
  readonly toldSince: (facts: Facts, name: LimitName) => number
}

/** The rules as they are. */
export const RULES: Rules = {
  calendar: naiveCalendar,
  sumsBegin: () => 0,
  callsWeighAt: ({ day }) => day,
  gatheredWeigh: true,
  toldSince: () => 0,
}

/** Added + bought + corrected − charged + given back. */
export function fundsIn(facts: Facts): Micros {
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
export interface Terms {
  readonly prepaidOnly: boolean
  readonly creditLineMicros: Micros
}

/** The terms as they were last arranged: before any were, nothing may be spent beyond the funds. */
export function termsIn(facts: Facts): Terms {
  const last = facts.findLast(({ type }) => type === "LedgerOpened" || type === "TermsChanged")
  if (last?.type !== "LedgerOpened" && last?.type !== "TermsChanged") {
    return { prepaidOnly: false, creditLineMicros: 0 }
  }
  return { prepaidOnly: last.prepaidOnly, creditLineMicros: last.creditLineMicros }
}

/** How far below zero the funds may go: not at all for a company that only spends prepaid funds. */
export function creditLineIn(facts: Facts): Micros {
  const terms = termsIn(facts)
  return terms.prepaidOnly ? 0 : terms.creditLineMicros
}

/** Whether the last of two kinds of facts was of the first kind. */
export function isLast(facts: Facts, on: LedgerEvent["type"], off: LedgerEvent["type"]): boolean {
  return facts.findLast(({ type }) => type === on || type === off)?.type === on
}

/** Whether two limits are of the same holder and class. */
export function isSameName(a: LimitName, b: LimitName): boolean {
  return a.holder === b.holder && a.holderId === b.holderId && a.class === b.class
}

/** The limits in force, in the order in which they were set. */
export function limitsIn(facts: Facts): readonly Limit[] {
  let limits: Limit[] = []
  for (const fact of facts) {
    if (fact.type !== "LimitSet" && fact.type !== "LimitRemoved") continue
    limits = limits.filter((limit) => !isSameName(limit, fact))
    if (fact.type === "LimitSet") {
      const { type: _type, at: _at, ...limit } = fact
      limits.push(limit)
    }
  }
  return limits
}

/** What of a request, or of a call, says whose spending it is. */
export type Spending = Pick<ChargeRequest, "via" | "keyId" | "personId" | "class">

/** Whether a limit counts this spending (specification, "Spending limits"). */
function counts(
  limit: LimitName & Pick<Limit, "leaveKeysOut">,
  { via, keyId, personId, class: charged }: Spending,
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
export function limitsOn(facts: Facts, spending: Spending): readonly Limit[] {
  const limits = limitsIn(facts).filter((limit) => counts(limit, spending))
  return (["key", "person", "company"] as const).flatMap((holder) =>
    limits.filter((limit) => limit.holder === holder),
  )
}

const isWithin = ({ from, to }: Span, instant: number): boolean => instant >= from && instant < to

/** What one fact weighs in a limit's window; below zero for what is given back. */
function weightOf(fact: LedgerEvent, limit: Limit, window: Span, rules: Rules): Micros {
  switch (fact.type) {
    case "Charged":
      if (fact.isAlreadyCounted || !isWithin(window, fact.at)) return 0
      return counts(limit, fact) ? fact.amountMicros : 0
    case "ChargeReduced":
      if (!isWithin(window, fact.countedAt)) return 0
      return counts(limit, fact) ? -fact.amountMicros : 0
    case "ApiCallsCounted":
      if (!isWithin(window, rules.callsWeighAt(fact))) return 0
      return fact.counters
        .filter((tally) => counts(limit, { ...tally, class: "general" }))
        .reduce((sum, { calls }) => sum + calls * fact.unitPriceMicros, 0)
    default:
      return 0
  }
}

/** A limit with what is used of it around an instant, as evidence shows it. */
export function readingOf(
  { facts, gathered }: Known,
  limit: Limit,
  at: number,
  askedMicros: Micros,
  rules: Rules = RULES,
): LimitReading {
  const { holder, holderId, class: limited, period, amountMicros } = limit
  const window = rules.calendar[period](at)
  let spentMicros = 0
  for (let place = rules.sumsBegin(facts, limit); place < facts.length; place += 1) {
    spentMicros += weightOf(facts[place] as LedgerEvent, limit, window, rules)
  }
  let pendingMicros = 0
  for (const call of rules.gatheredWeigh ? gathered : []) {
    const isCounted = isWithin(window, call.day) && counts(limit, { ...call, class: "general" })
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
export function applyingTo(
  known: Known,
  spending: Spending,
  at: number,
  askedMicros: Micros,
  rules: Rules = RULES,
): readonly LimitReading[] {
  return limitsOn(known.facts, spending).map((limit) =>
    readingOf(known, limit, at, askedMicros, rules),
  )
}

/** Whether a limit leaves room for what is asked. */
export function hasRoom(reading: LimitReading): boolean {
  return reading.amountMicros - reading.usedMicros >= reading.askedMicros
}

/** The ids of charges whose work has not ended, oldest first. */
export function openIn(facts: Facts): readonly ChargeId[] {
  let open: ChargeId[] = []
  for (const fact of facts) {
    if (fact.type === "Charged" && fact.isPending) open.push(fact.chargeId)
    if (fact.type === "ChargesSettled") open = open.filter((id) => !fact.chargeIds.includes(id))
    if (fact.type === "ChargeReduced") open = open.filter((id) => id !== fact.chargeId)
  }
  return open
}

/** The last charge of an id; undefined where there is none. */
export function lastCharge(facts: Facts, chargeId: ChargeId): Charged | undefined {
  const found = facts.findLast((fact) => fact.type === "Charged" && fact.chargeId === chargeId)
  return found?.type === "Charged" ? found : undefined
}

/** The newest charge's amount less its refunds, in micros: what a read model of these facts shows. */
export function leftIn(facts: Facts, charged: Charged): Micros {
  let left = charged.amountMicros
  for (const fact of facts.slice(facts.indexOf(charged))) {
    const isRefund = fact.type === "ChargeReduced" && fact.chargeId === charged.chargeId
    if (isRefund) left -= fact.amountMicros
  }
  return left
}

/** The ids that were charged, newest first, each as often as it was. */
export function chargedIds(facts: Facts): readonly ChargeId[] {
  return facts.flatMap((fact) => (fact.type === "Charged" ? [fact.chargeId] : [])).toReversed()
}

/** The first millisecond of the window of a period. */
export function startOf(period: Period, at: number, rules: Rules = RULES): number {
  return rules.calendar[period](at).from
}
