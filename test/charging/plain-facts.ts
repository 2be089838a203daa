/**
 * What a list of facts says about a ledger, found out the slow way: for every question all of them
 * are gone through again. No sum is kept, nothing moves, and nothing of the real ledger is used.
 */
import type { ChargeId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type { ChargeRequest, Charged, LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { Limit, LimitName, LimitReading } from "../../domain/charging/limits.ts"
import { type Calendar, naiveCalendar } from "../kernel/naive-calendar.ts"

/** Facts of a ledger, oldest first. */
export type Facts = readonly LedgerEvent[]

/** What a ledger's rules leave to be set, so that a wrong one can be made of the right one. */
export interface Rules {
  readonly calendar: Calendar
  /** The place of the first fact that a limit sums: 0, for what was spent stays summed. */
  readonly sumsBegin: (facts: Facts, name: LimitName) => number
}

/** The rules as they are. */
export const RULES: Rules = { calendar: naiveCalendar, sumsBegin: () => 0 }

/** A charge and what became of it. */
export interface Spent {
  readonly charged: Charged
  /** The place of its fact. */
  readonly place: number
  givenBackMicros: Micros
  ended: boolean
}

/** Every charge there was, with what was given back of it. */
export function spentIn(facts: Facts): readonly Spent[] {
  const spent: Spent[] = []
  const last = (id: ChargeId) => spent.findLast(({ charged }) => charged.chargeId === id)
  for (const [place, fact] of facts.entries()) {
    if (fact.type === "Charged") {
      spent.push({ charged: fact, place, givenBackMicros: 0, ended: !fact.open })
    }
    if (fact.type === "ChargesClosed") {
      for (const id of fact.chargeIds) {
        const one = last(id)
        if (one !== undefined) one.ended = true
      }
    }
    if (fact.type === "ChargeGivenBack") {
      const one = last(fact.chargeId)
      if (one !== undefined) Object.assign(one, { ended: true, givenBackMicros: fact.amountMicros })
    }
  }
  return spent
}

/** Added − charged + given back. */
export function fundsIn(facts: Facts): Micros {
  let funds = 0
  for (const fact of facts) {
    if (fact.type === "FundsAdded") funds += fact.amountMicros
    if (fact.type === "Charged") funds -= fact.amountMicros
    if (fact.type === "ChargeGivenBack") funds += fact.amountMicros
  }
  return funds
}

/** How far below zero the funds may go. */
export function creditLineIn(facts: Facts): Micros {
  return facts.find((fact) => fact.type === "LedgerOpened")?.creditLineMicros ?? 0
}

/** Whether the company may only spend prepaid funds. */
export function isPrepaidOnlyIn(facts: Facts): boolean {
  return facts.find((fact) => fact.type === "LedgerOpened")?.prepaidOnly ?? false
}

/** Whether the account is locked. */
export function isLockedIn(facts: Facts): boolean {
  const last = facts.findLast(({ type }) => type === "AccountLocked" || type === "AccountUnlocked")
  return last?.type === "AccountLocked"
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

/** Whether a limit counts what is spent by this request (specification, "Spending limits"). */
function counts(
  limit: LimitName & Pick<Limit, "leaveKeysOut">,
  request: Pick<ChargeRequest, "via" | "keyId" | "personId" | "class">,
): boolean {
  switch (limit.holder) {
    case "company":
      return request.class === limit.class
    case "person":
      if (request.personId !== limit.holderId || request.class !== limit.class) return false
      return !(limit.leaveKeysOut && request.via === "own_key")
    case "key":
      return request.keyId === limit.holderId
  }
}

/** A limit with what is used of it around an instant, as evidence shows it. */
export function readingOf(
  facts: Facts,
  limit: Limit,
  at: number,
  askedMicros: Micros,
  rules: Rules = RULES,
): LimitReading {
  const { holder, holderId, class: limited, period, amountMicros } = limit
  const window = rules.calendar[period](at)
  const begin = rules.sumsBegin(facts, limit)
  const usedMicros = spentIn(facts)
    .filter(({ charged, place }) => place >= begin && counts(limit, charged))
    .filter(({ charged }) => charged.at >= window.from && charged.at < window.to)
    .reduce((sum, { charged, givenBackMicros }) => sum + charged.amountMicros - givenBackMicros, 0)
  return {
    holder,
    holderId,
    class: limited,
    period,
    amountMicros,
    usedMicros,
    pendingMicros: 0,
    remainingMicros: Math.max(amountMicros - usedMicros, 0),
    askedMicros,
    windowStart: window.from,
    resetsAt: window.to,
  }
}

const ORDER = ["key", "person", "company"] as const

/** The limits that a request must fit, in the order in which they are named. */
export function applyingTo(
  facts: Facts,
  request: ChargeRequest,
  at: number,
  rules: Rules = RULES,
): readonly LimitReading[] {
  const limits = limitsIn(facts).filter((limit) => counts(limit, request))
  return ORDER.flatMap((holder) => limits.filter((limit) => limit.holder === holder)).map((limit) =>
    readingOf(facts, limit, at, request.amountMicros, rules),
  )
}

/** Whether a limit leaves room for what is asked. */
export function hasRoom(reading: LimitReading): boolean {
  return reading.amountMicros - reading.usedMicros >= reading.askedMicros
}

/** The ids of charges whose work has not ended, oldest first. */
export function openIn(facts: Facts): readonly ChargeId[] {
  return spentIn(facts)
    .filter(({ ended }) => !ended)
    .map(({ charged }) => charged.chargeId)
}
