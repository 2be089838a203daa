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
import type { RecordApiCalls } from "./ledger-commands.ts"
import type { ApiCallsCounted, ApiCallCounter, Charged } from "./ledger-events.ts"
import type { Spender } from "./limits.ts"

/** The item that calls are billed as. */
export const API_CALL_ITEM = "api_call"

const DAY_MS = 86_400_000

/** What a call costs. */
export interface ApiCallPrice {
  readonly unitPriceMicros: Micros
  readonly priceVersion: number
}

/** The calls of one key for one person on one day. */
interface DayCallCounter extends ApiCallCounter, ApiCallPrice {
  readonly day: number
}

/** Calls in the writer's memory: no fold has them and no checkpoint. */
interface BufferedCalls extends ApiCallPrice {
  readonly day: number
  readonly counters: Map<string, ApiCallCounter>
}

/** The calls of one company that are not charged yet. */
export interface ApiCallsState {
  /** By the id of the charge that they will be. */
  readonly uncharged: Map<ChargeId, DayCallCounter>
  /** The latest day of which calls were charged; -1 for none. */
  chargedThrough: number
  buffered: BufferedCalls | null
}

/** No calls. */
export function emptyApiCalls(): ApiCallsState {
  return { uncharged: new Map(), chargedThrough: -1, buffered: null }
}

/** One call that is served. */
export interface ServedApiCall extends ApiCallPrice {
  readonly via: "own_key" | "app_key"
  readonly keyId: KeyId
  readonly personId: PersonId | null
}

/** Adds a served call to what is gathered for the UTC day of `at`. */
export function bufferCall(calls: ApiCallsState, call: ServedApiCall, at: number): void {
  const price = apiCallPriceOfDay(calls, call, at)
  calls.buffered ??= { day: dayStart(at), ...price, counters: new Map() }
  const { counters } = calls.buffered
  const { via, keyId, personId } = call
  const place = `${keyId}:${personId ?? "-"}`
  const former = counters.get(place)
  counters.set(place, { via, keyId, personId, calls: (former?.calls ?? 0) + 1 })
}

/** What is gathered, as the command that records it; null where nothing is. */
export function drainBufferedCalls(calls: ApiCallsState): RecordApiCalls | null {
  const { buffered } = calls
  if (buffered === null) return null
  calls.buffered = null
  const { day, unitPriceMicros, priceVersion } = buffered
  const counters = [...buffered.counters.values()]
  return { type: "RecordApiCalls", day, unitPriceMicros, priceVersion, counters }
}

/** Whether calls are gathered of a day that is over at `at`: they are recorded before any decision. */
export function isBufferedDayOver(calls: ApiCallsState, at: number): boolean {
  return calls.buffered !== null && at >= calls.buffered.day + DAY_MS
}

/** The price of a day is that of its first call: so what weighs is what will be charged. */
export function apiCallPriceOfDay(
  calls: ApiCallsState,
  given: ApiCallPrice,
  at: number,
): ApiCallPrice {
  const day = dayStart(at)
  const found = calls.buffered?.day === day ? calls.buffered : findDay(calls, day)
  const { unitPriceMicros, priceVersion } = found ?? given
  return { unitPriceMicros, priceVersion }
}

function findDay(calls: ApiCallsState, day: number): DayCallCounter | undefined {
  for (const tally of calls.uncharged.values()) if (tally.day === day) return tally
  return undefined
}

/**
 * The day for which calls of `day` are recorded: their own, or, where that day was charged already,
 * the day of `at`. No day is ever charged twice, and no call is lost.
 */
export function dayToRecordCalls(calls: ApiCallsState, day: number, at: number): number {
  return day <= calls.chargedThrough ? dayStart(at) : day
}

/** Folds recorded calls. */
export function addUnchargedCalls(calls: ApiCallsState, fact: ApiCallsCounted): void {
  const { day, unitPriceMicros, priceVersion } = fact
  for (const tally of fact.counters) {
    const id = callChargeId(tally, day)
    const former = calls.uncharged.get(id)?.calls ?? 0
    const sum = { ...tally, calls: former + tally.calls, day, unitPriceMicros, priceVersion }
    calls.uncharged.set(id, sum)
  }
}

/** Folds the charge of a day's calls. */
export function markCallsCharged(calls: ApiCallsState, fact: Charged): void {
  const day = calls.uncharged.get(fact.chargeId)?.day ?? fact.servedFrom ?? -1
  calls.uncharged.delete(fact.chargeId)
  calls.chargedThrough = Math.max(calls.chargedThrough, day)
}

/** The charges of all days that are over at `at`, the oldest first. */
export function* dueApiCallCharges(calls: ApiCallsState, at: number): Generator<Charged> {
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
      item: API_CALL_ITEM,
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
function callChargeId(tally: Pick<ApiCallCounter, "keyId" | "personId">, day: number): ChargeId {
  return `${tally.keyId}:${tally.personId ?? "-"}:${new Date(day).toISOString().slice(0, 10)}`
}

/** Who made these calls, as the limits see it. */
export function spenderOfCalls(tally: Pick<ApiCallCounter, "via" | "keyId" | "personId">): Spender {
  const { via, keyId, personId } = tally
  return { via, keyId, personId } as Spender
}
