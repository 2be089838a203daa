/**
 * Served API calls in the ledger: buffered in memory, recorded, charged at night.
 *
 * Buffered calls count in every decision immediately, so a limit holds at the moment of the call. They are not part
 * of the folded state and precede the next append as `ApiCallsCounted`.
 */
import type { Micros } from "../kernel/money.ts"
import { isMicros } from "../kernel/money.ts"
import { dayStart } from "../kernel/window.ts"
import type { ServedApiCall } from "./api-calls.ts"
import {
  addUnchargedCalls,
  spenderOfCalls,
  dueApiCallCharges,
  dayToRecordCalls,
  bufferCall,
  isBufferedDayOver,
  apiCallPriceOfDay,
  drainBufferedCalls,
} from "./api-calls.ts"
import type { ChargeApiCalls, LedgerRefused, RecordApiCalls } from "./ledger-commands.ts"
import type { ApiCallsCounted, ApiCallCounter, LedgerEvent } from "./ledger-events.ts"
import type { LedgerState } from "./ledger-state.ts"
import type { AmountInPeriod } from "./limit-book.ts"
import { readLimitsOfCounters, reachedReminderEvents } from "./limit-book.ts"
import type { LimitReading, Spender } from "./limits.ts"
import { fitsLimit } from "./limits.ts"
import { canAddToMonthSum } from "./months.ts"
import type { CounterIndex } from "./counter-sums.ts"
import {
  addBuffered,
  addToCounterSince,
  clearBuffered,
  usedInWindow,
  currentWindowsOf,
} from "./counter-sums.ts"
import { existingCounters, ensureCounters } from "./counters.ts"
import { accountOf, exhaustedLimit } from "./ledger-views.ts"

/** Returns the first limit, in the order key, person, company, that one more call exceeds; null if it fits. */
export function exceededLimitOfCall(
  state: LedgerState,
  call: ServedApiCall,
  at: number,
): LimitReading | null {
  const { unitPriceMicros } = apiCallPriceOfDay(state.apiCalls, call, at)
  const applicable = existingCounters(state.counters, spenderOfCalls(call), "general")
  const readings = readLimitsOfCounters(
    state.limitBook,
    state.counters,
    applicable,
    at,
    unitPriceMicros,
  )
  return readings.find((reading) => !fitsLimit(reading)) ?? null
}

/** Buffers a served call. If it exceeds a limit, returns the limit and changes nothing. */
export function bufferServedCall(
  state: LedgerState,
  call: ServedApiCall,
  at: number,
): LimitReading | null {
  const fault = exceededLimitOfCall(state, call, at)
  if (fault !== null) return fault
  const { unitPriceMicros } = apiCallPriceOfDay(state.apiCalls, call, at)
  bufferCall(state.apiCalls, call, at)
  for (const counter of ensureCounters(state.counters, spenderOfCalls(call), "general")) {
    addBuffered(state.counters, counter, unitPriceMicros, dayStart(at))
  }
  return null
}

/** Empties the buffer and returns the command that records its calls; null if it is empty. */
export function drainServedCalls(state: LedgerState): RecordApiCalls | null {
  clearBuffered(state.counters)
  return drainBufferedCalls(state.apiCalls)
}

/** Whether the buffered calls belong to a day that has ended at `at`; they must be recorded before any decision. */
export function mustFlushCalls(state: LedgerState, at: number): boolean {
  return isBufferedDayOver(state.apiCalls, at)
}

/** Decides the recording of served calls. They happened already, so only invalid numbers are refused. */
export function decideRecordCalls(
  command: RecordApiCalls,
  state: LedgerState,
  at: number,
): readonly LedgerEvent[] | LedgerRefused {
  const { counters } = command
  if (counters.length === 0) return []
  const { limitBook } = state
  const day = dayToRecordCalls(state.apiCalls, command.day, at)
  const price = apiCallPriceOfDay(state.apiCalls, command, day)
  const weights = weightsOf(state, counters, price.unitPriceMicros)
  if (weights === null) {
    const message =
      "The number of calls must be a whole number above 0, and their price $0 or more."
    return { type: "LedgerRefused", at, code: "bad_calls", message }
  }
  const windows = currentWindowsOf(state.counters, at)
  const spent = [...weights].map(([counter, weight]) => {
    const amountIn: AmountInPeriod = (period) => (day >= windows[period] ? weight : 0)
    return [counter, amountIn] as const
  })
  const exceedsLimit = spent.some(([counter, amountIn]) => {
    const limit = limitBook.limits.get(counter)
    if (limit === undefined) return false
    const { period, amountMicros } = limit
    return usedInWindow(state.counters, counter, period, windows) + amountIn(period) > amountMicros
  })
  const exemption = exceedsLimit ? "limits" : null
  const counted: ApiCallsCounted = {
    type: "ApiCallsCounted",
    at,
    day,
    ...price,
    counters,
    exemption,
  }
  return [counted, ...reachedReminderEvents(limitBook, state.counters, spent, at)]
}

/** The amount that each existing counter gets from these calls; null if a count or price is invalid. */
function weightsOf(
  state: LedgerState,
  callCounters: readonly ApiCallCounter[],
  unitPriceMicros: Micros,
): ReadonlyMap<CounterIndex, Micros> | null {
  const weights = new Map<CounterIndex, Micros>()
  for (const counter of callCounters) {
    const weight = counter.calls * unitPriceMicros
    const isCount = Number.isSafeInteger(counter.calls) && counter.calls > 0
    if (!isCount || unitPriceMicros < 0 || !isMicros(weight)) return null
    for (const index of existingCounters(state.counters, spenderOfCalls(counter), "general")) {
      weights.set(index, (weights.get(index) ?? 0) + weight)
    }
  }
  return weights
}

/** Applies recorded calls: they count in the current windows that contain their day. */
export function evolveCallsCounted(state: LedgerState, fact: ApiCallsCounted): void {
  addUnchargedCalls(state.apiCalls, fact)
  for (const counter of fact.counters) {
    const weight = counter.calls * fact.unitPriceMicros
    for (const index of ensureCounters(state.counters, spenderOfCalls(counter), "general")) {
      addToCounterSince(state.counters, index, weight, fact.day)
    }
  }
}

/** Decides the charges of days that have ended. Funds and limits are not checked again. */
export function decideChargeCalls(
  command: ChargeApiCalls,
  state: LedgerState,
  at: number,
): readonly LedgerEvent[] {
  const charges: LedgerEvent[] = []
  let chargedMicros = 0
  for (const charge of dueApiCallCharges(state.apiCalls, at)) {
    if (charges.length >= command.maxCharges) break
    const sum = chargedMicros + charge.amountMicros
    // A charge beyond exact arithmetic waits until an operator corrects the funds.
    const isSumExact = canAddToMonthSum(state.month, "chargedMicros", sum, at)
    if (!isMicros(state.fundsMicros - sum) || !isSumExact) continue
    charges.push(charge)
    chargedMicros = sum
  }
  return charges
}

/** What blocks a call: the exhausted limit, or the state of the company. */
export type ApiCallBlocker = "closed" | "locked" | LimitReading

/** Which checks apply to a call; a deleted company always blocks it. */
export interface ApiCallChecks {
  readonly spender: Spender
  readonly checksLock: boolean
  readonly checksLimits: boolean
  readonly checksKeyLimit: boolean
}

/** Returns what blocks a call first, in the order of checks (docs/api.md); null if nothing does. */
export function findApiCallBlocker(
  state: LedgerState,
  { spender, checksLock, checksLimits, checksKeyLimit }: ApiCallChecks,
  at: number,
): ApiCallBlocker | null {
  const { closed, locked } = accountOf(state)
  if (closed) return "closed"
  const limit = exhaustedLimit(state, spender, at)
  if (checksKeyLimit && limit?.holder === "key") return limit
  if (checksLock && locked) return "locked"
  return checksLimits ? limit : null
}

interface IncomingApiCall extends ServedApiCall {
  readonly checks?: ApiCallChecks
}

/** Admits and buffers a call. If it is blocked, returns the blocker and changes nothing. */
export function admitCall(
  state: LedgerState,
  call: IncomingApiCall,
  at: number,
): ApiCallBlocker | null {
  return findBlocker(state, call, at) ?? bufferServedCall(state, call, at)
}

/** Returns what `admitCall` would return, without changing anything. */
export function checkAdmission(
  state: LedgerState,
  call: IncomingApiCall,
  at: number,
): ApiCallBlocker | null {
  return findBlocker(state, call, at) ?? exceededLimitOfCall(state, call, at)
}

function findBlocker(
  state: LedgerState,
  { checks }: IncomingApiCall,
  at: number,
): ApiCallBlocker | null {
  return checks === undefined ? null : findApiCallBlocker(state, checks, at)
}
