/** API calls as a list of facts tells them: which are not charged yet, and what a day's calls cost. */
import type { CallPrice, ServedCall } from "../../domain/charging/calls.ts"
import type { RecordCalls } from "../../domain/charging/ledger-commands.ts"
import type { CallTally, Charged } from "../../domain/charging/ledger-formats.ts"
import type { LimitReading } from "../../domain/charging/limits.ts"
import type { ChargeId } from "../../domain/kernel/ids.ts"
import type { Facts, GatheredCall, Known, Rules } from "./plain-facts.ts"
import { RULES, applyingTo, hasRoom, startOf } from "./plain-facts.ts"

/** The calls of a key for a person on a day that nobody paid for yet. */
export interface UnchargedCalls extends CallTally, CallPrice {
  readonly chargeId: ChargeId
  readonly day: number
}

/** The id of the charge for a day's calls. */
export function callsId({ keyId, personId }: CallTally | ServedCall, day: number): ChargeId {
  const [date] = new Date(day).toISOString().split("T")
  return `${keyId}:${personId === null ? "-" : personId}:${date}`
}

/** The calls that are counted and not charged, in the order in which they were first counted. */
export function unchargedIn(facts: Facts): readonly UnchargedCalls[] {
  let uncharged: UnchargedCalls[] = []
  for (const fact of facts) {
    if (fact.type === "Charged" && fact.isAlreadyCounted) {
      uncharged = uncharged.filter(({ chargeId }) => chargeId !== fact.chargeId)
    }
    if (fact.type !== "ApiCallsCounted") continue
    const { day, unitPriceMicros, priceVersion } = fact
    for (const tally of fact.counters) {
      const chargeId = callsId(tally, day)
      const place = uncharged.findIndex((one) => one.chargeId === chargeId)
      const calls = (uncharged[place]?.calls ?? 0) + tally.calls
      const sum = { ...tally, calls, chargeId, day, unitPriceMicros, priceVersion }
      if (place === -1) uncharged.push(sum)
      else uncharged[place] = sum
    }
  }
  return uncharged
}

/** What a call costs on a day: what the first one of that day did. */
export function priceOn({ facts, gathered }: Known, given: CallPrice, day: number): CallPrice {
  const first = gathered.find((call) => call.day === day)
  const counted = unchargedIn(facts).find((calls) => calls.day === day)
  const { unitPriceMicros, priceVersion } = first ?? counted ?? given
  return { unitPriceMicros, priceVersion }
}

/** A call as it is gathered at an instant: with its day, and that day's price. */
export function gatheredAt(known: Known, call: ServedCall, at: number): GatheredCall {
  const day = startOf("day", at)
  return { ...call, ...priceOn(known, call, day), day }
}

/** The first limit under which a call does not fit at an instant; null where it fits. */
export function callFaultIn(
  known: Known,
  call: ServedCall,
  at: number,
  rules: Rules = RULES,
): LimitReading | null {
  const { unitPriceMicros } = gatheredAt(known, call, at)
  const spending = { ...call, class: "general" } as const
  const readings = applyingTo(known, spending, at, unitPriceMicros, rules)
  return readings.find((reading) => !hasRoom(reading)) ?? null
}

/** The command that records what is gathered; null where nothing is. */
export function recordingOf(gathered: readonly GatheredCall[]): RecordCalls | null {
  const [first] = gathered
  if (first === undefined) return null
  const places = [...new Set(gathered.map((call) => callsId(call, call.day)))]
  const tallies = places.map((place): CallTally => {
    const calls = gathered.filter((call) => callsId(call, call.day) === place)
    const { via, keyId, personId } = calls[0] as GatheredCall
    return { via, keyId, personId, calls: calls.length }
  })
  const { day, unitPriceMicros, priceVersion } = first
  return { type: "RecordCalls", day, unitPriceMicros, priceVersion, counters: tallies }
}

/** The latest day of which calls were charged; -1 for none. */
export function chargedThrough(facts: Facts): number {
  const days = facts.flatMap((fact) => {
    return fact.type === "Charged" && fact.isAlreadyCounted ? [fact.servedFrom ?? -1] : []
  })
  return Math.max(-1, ...days)
}

/** The charges of the days that are over, the oldest first. */
export function callChargesDue(facts: Facts, at: number, most: number): readonly Charged[] {
  const over = unchargedIn(facts).filter(({ day }) => day < startOf("day", at))
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
