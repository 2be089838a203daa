/**
 * API calls: counted when they are served, charged the following night (docs/decisions/charging.md).
 *
 * A call passes three states. *Buffered*: in memory; it counts in the limits immediately and is recorded by the
 * next append or after a few seconds. *Uncharged*: recorded in the ledger. *Charged*: part of one charge per (key,
 * person, UTC day), which is also the charge's id.
 */
import type { ChargeId, KeyId, PersonId } from "../kernel/ids.ts"
import type { Micros } from "../kernel/money.ts"
import { dayStart } from "../kernel/window.ts"
import type { RecordApiCalls } from "./ledger-commands.ts"
import type { ApiCallsCounted, ApiCallCounter, Charged } from "./ledger-events.ts"
import type { Spender } from "./limits.ts"

export const API_CALL_ITEM = "api_call"

const DAY_MS = 86_400_000

export interface ApiCallPrice {
  readonly unitPriceMicros: Micros
  readonly priceVersion: number
}

interface DayCallCounter extends ApiCallCounter, ApiCallPrice {
  readonly day: number
}

/** Calls in memory only: neither events nor checkpoints contain them. */
interface BufferedCalls extends ApiCallPrice {
  readonly day: number
  readonly counters: Map<string, ApiCallCounter>
}

/** The API calls of one company that are not charged yet. */
export interface ApiCallsState {
  /** By the id of their future charge. */
  readonly uncharged: Map<ChargeId, DayCallCounter>
  /** The latest day whose calls were charged; -1 for none. */
  chargedThrough: number
  buffered: BufferedCalls | null
}

/** Returns the state without calls. */
export function emptyApiCalls(): ApiCallsState {
  return { uncharged: new Map(), chargedThrough: -1, buffered: null }
}

export interface ServedApiCall extends ApiCallPrice {
  readonly via: "own_key" | "app_key"
  readonly keyId: KeyId
  readonly personId: PersonId | null
}

/** Adds a served call to the buffer of the UTC day of `at`. */
export function bufferCall(calls: ApiCallsState, call: ServedApiCall, at: number): void {
  const price = apiCallPriceOfDay(calls, call, at)
  calls.buffered ??= { day: dayStart(at), ...price, counters: new Map() }
  const { counters } = calls.buffered
  const { via, keyId, personId } = call
  const counterKey = `${keyId}:${personId ?? "-"}`
  const former = counters.get(counterKey)
  counters.set(counterKey, { via, keyId, personId, calls: (former?.calls ?? 0) + 1 })
}

/** Empties the buffer and returns the command that records its calls; null if it is empty. */
export function drainBufferedCalls(calls: ApiCallsState): RecordApiCalls | null {
  const { buffered } = calls
  if (buffered === null) return null
  calls.buffered = null
  const { day, unitPriceMicros, priceVersion } = buffered
  const counters = [...buffered.counters.values()]
  return { type: "RecordApiCalls", day, unitPriceMicros, priceVersion, counters }
}

/** Whether the buffered calls belong to a day that has ended at `at`; they must be recorded before any decision. */
export function isBufferedDayOver(calls: ApiCallsState, at: number): boolean {
  return calls.buffered !== null && at >= calls.buffered.day + DAY_MS
}

/**
 * Returns the price of a day, which is that of its first call, so that the amount counted in limits equals the
 * later charge.
 */
export function apiCallPriceOfDay(
  calls: ApiCallsState,
  currentPrice: ApiCallPrice,
  at: number,
): ApiCallPrice {
  const day = dayStart(at)
  const dayPrice = calls.buffered?.day === day ? calls.buffered : findDay(calls, day)
  const { unitPriceMicros, priceVersion } = dayPrice ?? currentPrice
  return { unitPriceMicros, priceVersion }
}

function findDay(calls: ApiCallsState, day: number): DayCallCounter | undefined {
  for (const counter of calls.uncharged.values()) if (counter.day === day) return counter
  return undefined
}

/**
 * Returns the day for which calls of `day` are recorded: their own, or the day of `at` if their own was already
 * charged. So no day is charged twice and no call is lost.
 */
export function dayToRecordCalls(calls: ApiCallsState, day: number, at: number): number {
  return day <= calls.chargedThrough ? dayStart(at) : day
}

/** Applies recorded calls to the state. */
export function addUnchargedCalls(calls: ApiCallsState, fact: ApiCallsCounted): void {
  const { day, unitPriceMicros, priceVersion } = fact
  for (const counter of fact.counters) {
    const id = callChargeId(counter, day)
    const former = calls.uncharged.get(id)?.calls ?? 0
    const sum = { ...counter, calls: former + counter.calls, day, unitPriceMicros, priceVersion }
    calls.uncharged.set(id, sum)
  }
}

/** Applies the charge of a day's calls to the state. */
export function markCallsCharged(calls: ApiCallsState, fact: Charged): void {
  const day = calls.uncharged.get(fact.chargeId)?.day ?? fact.servedFrom ?? -1
  calls.uncharged.delete(fact.chargeId)
  calls.chargedThrough = Math.max(calls.chargedThrough, day)
}

/** Yields the charges of all days that have ended at `at`, oldest first. */
export function* dueApiCallCharges(calls: ApiCallsState, at: number): Generator<Charged> {
  const today = dayStart(at)
  const due = [...calls.uncharged].filter(([, { day }]) => day < today)
  for (const [chargeId, counter] of due.toSorted(([, a], [, b]) => a.day - b.day)) {
    const { via, keyId, personId, calls: quantity, unitPriceMicros, priceVersion, day } = counter
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

/** `<keyId>:<personId or ->:<day>`: one charge per night for each. */
function callChargeId(counter: Pick<ApiCallCounter, "keyId" | "personId">, day: number): ChargeId {
  return `${counter.keyId}:${counter.personId ?? "-"}:${new Date(day).toISOString().slice(0, 10)}`
}

/** Returns the spender of counted calls. */
export function spenderOfCalls(
  counter: Pick<ApiCallCounter, "via" | "keyId" | "personId">,
): Spender {
  const { via, keyId, personId } = counter
  return { via, keyId, personId } as Spender
}
