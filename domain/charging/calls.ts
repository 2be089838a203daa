/**
 * API calls: counted when they are served, charged the next night (decisions.md §5).
 *
 * Three places hold them on their way. *Gathered*: in the writer's memory, weighed in the limits at
 * once, recorded by its next append or after a few seconds. *Uncharged*: recorded in the ledger.
 * *Charged*: one charge per (key, person, UTC day), whose id is that.
 */
import type { ChargeId, KeyId, PersonId } from "../kernel/ids.ts"
import type { Micros } from "../kernel/money.ts"
import { dayStart } from "../kernel/window.ts"
import type { RecordCalls } from "./ledger-commands.ts"
import type { ApiCallsCounted, CallTally, Charged } from "./ledger-formats.ts"
import type { Spender } from "./limits.ts"

/** The item that calls are billed as. */
export const API_CALL = "api_call"

const DAY_MS = 86_400_000

/** What a call costs. */
export interface CallPrice {
  readonly unitPriceMicros: Micros
  readonly priceVersion: number
}

/** The calls of one key for one person on one day. */
interface DayTally extends CallTally, CallPrice {
  readonly day: number
}

/** Calls in the writer's memory: no fold has them and no checkpoint. */
interface Gathered extends CallPrice {
  readonly day: number
  readonly tallies: Map<string, CallTally>
}

/** The calls of one company that are not charged yet. */
export interface Calls {
  /** By the id of the charge that they will be. */
  readonly uncharged: Map<ChargeId, DayTally>
  /** The latest day of which calls were charged; -1 for none. */
  chargedThrough: number
  gathered: Gathered | null
}

/** No calls. */
export function noCalls(): Calls {
  return { uncharged: new Map(), chargedThrough: -1, gathered: null }
}

/** One call that is served. */
export interface ServedCall extends CallPrice {
  readonly via: "own_key" | "app_key"
  readonly keyId: KeyId
  readonly personId: PersonId | null
}

/** Adds a served call to what is gathered for the UTC day of `at`. */
export function gatherCall(calls: Calls, call: ServedCall, at: number): void {
  const price = priceOfDay(calls, call, at)
  calls.gathered ??= { day: dayStart(at), ...price, tallies: new Map() }
  const { tallies } = calls.gathered
  const { via, keyId, personId } = call
  const place = `${keyId}:${personId ?? "-"}`
  const former = tallies.get(place)
  tallies.set(place, { via, keyId, personId, calls: (former?.calls ?? 0) + 1 })
}

/** What is gathered, as the command that records it; null where nothing is. */
export function takeGathered(calls: Calls): RecordCalls | null {
  const { gathered } = calls
  if (gathered === null) return null
  calls.gathered = null
  const { day, unitPriceMicros, priceVersion } = gathered
  const tallies = [...gathered.tallies.values()]
  return { type: "RecordCalls", day, unitPriceMicros, priceVersion, counters: tallies }
}

/** Whether calls are gathered of a day that is over at `at`: they are recorded before any decision. */
export function isGatheredOver(calls: Calls, at: number): boolean {
  return calls.gathered !== null && at >= calls.gathered.day + DAY_MS
}

/** The price of a day is that of its first call: so what weighs is what will be charged. */
export function priceOfDay(calls: Calls, given: CallPrice, at: number): CallPrice {
  const day = dayStart(at)
  const found = calls.gathered?.day === day ? calls.gathered : findDay(calls, day)
  const { unitPriceMicros, priceVersion } = found ?? given
  return { unitPriceMicros, priceVersion }
}

function findDay(calls: Calls, day: number): DayTally | undefined {
  for (const tally of calls.uncharged.values()) if (tally.day === day) return tally
  return undefined
}

/**
 * The day for which calls of `day` are recorded: their own, or, where that day was charged already,
 * the day of `at`. No day is ever charged twice, and no call is lost.
 */
export function dayToRecord(calls: Calls, day: number, at: number): number {
  return day <= calls.chargedThrough ? dayStart(at) : day
}

/** Folds recorded calls. */
export function addUncharged(calls: Calls, fact: ApiCallsCounted): void {
  const { day, unitPriceMicros, priceVersion } = fact
  for (const tally of fact.counters) {
    const id = callChargeId(tally, day)
    const former = calls.uncharged.get(id)?.calls ?? 0
    const sum = { ...tally, calls: former + tally.calls, day, unitPriceMicros, priceVersion }
    calls.uncharged.set(id, sum)
  }
}

/** Folds the charge of a day's calls. */
export function markCharged(calls: Calls, fact: Charged): void {
  const day = calls.uncharged.get(fact.chargeId)?.day ?? fact.servedFrom ?? -1
  calls.uncharged.delete(fact.chargeId)
  calls.chargedThrough = Math.max(calls.chargedThrough, day)
}

/** The charges of all days that are over at `at`, the oldest first. */
export function* chargesOfCalls(calls: Calls, at: number): Generator<Charged> {
  const today = dayStart(at)
  const due = [...calls.uncharged].filter(([, { day }]) => day < today)
  for (const [chargeId, tally] of due.toSorted(([, a], [, b]) => a.day - b.day)) {
    const { via, keyId, personId, calls: quantity, unitPriceMicros, priceVersion, day } = tally
    yield {
      type: "Charged",
      at,
      chargeId,
      via,
      keyId,
      personId,
      class: "general",
      item: API_CALL,
      quantity,
      unitPriceMicros,
      priceVersion,
      amountMicros: quantity * unitPriceMicros,
      resource: null,
      requestedAt: at,
      dueAt: day + DAY_MS,
      servedFrom: day,
      isPending: false,
      exemption: "funds",
      isExternalId: false,
      isAlreadyCounted: true,
    }
  }
}

/** `<keyId>:<personId or ->:<day>`: one charge a night for each. */
function callChargeId(tally: Pick<CallTally, "keyId" | "personId">, day: number): ChargeId {
  return `${tally.keyId}:${tally.personId ?? "-"}:${new Date(day).toISOString().slice(0, 10)}`
}

/** Who made these calls, as the limits see it. */
export function callerOf(tally: Pick<CallTally, "via" | "keyId" | "personId">): Spender {
  const { via, keyId, personId } = tally
  return { via, keyId, personId } as Spender
}
