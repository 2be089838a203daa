/** API calls derived from a list of facts: which are not charged yet, and the price of a day's calls. */
import type { ApiCallPrice, ServedApiCall } from "../../domain/charging/api-calls.ts"
import type { RecordApiCalls } from "../../domain/charging/ledger-commands.ts"
import type { ApiCallCounter, Charged } from "../../domain/charging/ledger-events.ts"
import type { LimitReading } from "../../domain/charging/limits.ts"
import type { ChargeId } from "../../domain/kernel/ids.ts"
import type {
  LedgerFacts,
  BufferedCall,
  ProcessKnowledge,
  ReferenceRules,
} from "./reference-views.ts"
import { REFERENCE_RULES, limitReadingsFor, hasRoom, windowStartOf } from "./reference-views.ts"

/** The uncharged calls of a key for a person on a day. */
export interface UnchargedCalls extends ApiCallCounter, ApiCallPrice {
  readonly chargeId: ChargeId
  readonly day: number
}

/** The id of the charge for a day's calls. */
export function callsChargeId(
  { keyId, personId }: ApiCallCounter | ServedApiCall,
  day: number,
): ChargeId {
  const [date] = new Date(day).toISOString().split("T")
  return `${keyId}:${personId === null ? "-" : personId}:${date}`
}

/** Calls that are counted and not charged, in the order in which they were first counted. */
export function unchargedCallsIn(facts: LedgerFacts): readonly UnchargedCalls[] {
  let uncharged: UnchargedCalls[] = []
  for (const fact of facts) {
    if (fact.type === "Charged" && fact.isAlreadyCounted) {
      uncharged = uncharged.filter(({ chargeId }) => chargeId !== fact.chargeId)
    }
    if (fact.type !== "ApiCallsCounted") continue
    const { day, unitPriceMicros, priceVersion } = fact
    for (const counter of fact.counters) {
      const chargeId = callsChargeId(counter, day)
      const index = uncharged.findIndex((one) => one.chargeId === chargeId)
      const calls = (uncharged[index]?.calls ?? 0) + counter.calls
      const sum = { ...counter, calls, chargeId, day, unitPriceMicros, priceVersion }
      if (index === -1) uncharged.push(sum)
      else uncharged[index] = sum
    }
  }
  return uncharged
}

/** The price of calls on a day: that of the day's first call. */
export function callPriceOn(
  { facts, buffered }: ProcessKnowledge,
  given: ApiCallPrice,
  day: number,
): ApiCallPrice {
  const first = buffered.find((call) => call.day === day)
  const counted = unchargedCallsIn(facts).find((calls) => calls.day === day)
  const { unitPriceMicros, priceVersion } = first ?? counted ?? given
  return { unitPriceMicros, priceVersion }
}

/** A call as it is buffered at an instant, with its day and that day's price. */
export function bufferedCallAt(
  known: ProcessKnowledge,
  call: ServedApiCall,
  at: number,
): BufferedCall {
  const day = windowStartOf("day", at)
  return { ...call, ...callPriceOn(known, call, day), day }
}

/** The first limit that a call would exceed at an instant; null if it fits. */
export function exceededLimitIn(
  known: ProcessKnowledge,
  call: ServedApiCall,
  at: number,
  rules: ReferenceRules = REFERENCE_RULES,
): LimitReading | null {
  const { unitPriceMicros } = bufferedCallAt(known, call, at)
  const spending = { ...call, class: "general" } as const
  const readings = limitReadingsFor(known, spending, at, unitPriceMicros, rules)
  return readings.find((reading) => !hasRoom(reading)) ?? null
}

/** The command that stores buffered calls; null if there are none. */
export function recordCommandOf(buffered: readonly BufferedCall[]): RecordApiCalls | null {
  const [first] = buffered
  if (first === undefined) return null
  const chargeIds = [...new Set(buffered.map((call) => callsChargeId(call, call.day)))]
  const counters = chargeIds.map((chargeId): ApiCallCounter => {
    const calls = buffered.filter((call) => callsChargeId(call, call.day) === chargeId)
    const { via, keyId, personId } = calls[0] as BufferedCall
    return { via, keyId, personId, calls: calls.length }
  })
  const { day, unitPriceMicros, priceVersion } = first
  return { type: "RecordApiCalls", day, unitPriceMicros, priceVersion, counters }
}

/** The latest day whose calls were charged; -1 for none. */
export function lastChargedDay(facts: LedgerFacts): number {
  const days = facts.flatMap((fact) => {
    return fact.type === "Charged" && fact.isAlreadyCounted ? [fact.servedFrom ?? -1] : []
  })
  return Math.max(-1, ...days)
}

/** The charges of past days, the oldest first, at most this many. */
export function dueCallCharges(facts: LedgerFacts, at: number, most: number): readonly Charged[] {
  const over = unchargedCallsIn(facts).filter(({ day }) => day < windowStartOf("day", at))
  const days = [...new Set(over.map(({ day }) => day))].toSorted((a, b) => a - b)
  const due = days.flatMap((day) => over.filter((calls) => calls.day === day)).slice(0, most)
  return due.map(({ calls, day, ...one }) => ({
    type: "Charged",
    at,
    ...one,
    class: "general",
    item: "api_call",
    quantity: calls,
    amountMicros: calls * one.unitPriceMicros,
    resource: null,
    requestedAt: at,
    dueAt: day + 24 * 3_600_000,
    servedFrom: day,
    isPending: false,
    exemption: "funds",
    isExternalId: false,
    isAlreadyCounted: true,
  }))
}
