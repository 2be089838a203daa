/**
 * Served API calls and the ledger: gathered in the writer's memory, recorded, charged at night.
 *
 * What is gathered weighs in every decision at once, so a limit holds at the moment of the call; it
 * is no part of the state that facts fold to, and leads the next append as `ApiCallsCounted`.
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
import { isMonthSumExact } from "./months.ts"
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

/** The first limit, of key, person and company, under which one more call does not fit; or null. */
export function exceededLimitOfCall(
  state: LedgerState,
  call: ServedApiCall,
  at: number,
): LimitReading | null {
  const { unitPriceMicros } = apiCallPriceOfDay(state.apiCalls, call, at)
  const on = existingCounters(state.counters, spenderOfCalls(call), "general")
  const readings = readLimitsOfCounters(state.limitBook, state.counters, on, at, unitPriceMicros)
  return readings.find((reading) => !fitsLimit(reading)) ?? null
}

/** Gathers a served call, unless it does not fit: then nothing changes, and the limit is answered. */
export function bufferServedCall(
  state: LedgerState,
  call: ServedApiCall,
  at: number,
): LimitReading | null {
  const fault = exceededLimitOfCall(state, call, at)
  if (fault !== null) return fault
  const { unitPriceMicros } = apiCallPriceOfDay(state.apiCalls, call, at)
  bufferCall(state.apiCalls, call, at)
  for (const tally of ensureCounters(state.counters, spenderOfCalls(call), "general")) {
    addBuffered(state.counters, tally, unitPriceMicros, dayStart(at))
  }
  return null
}

/** Takes out what is gathered, as the command that records it; null where nothing is. */
export function drainServedCalls(state: LedgerState): RecordApiCalls | null {
  clearBuffered(state.counters)
  return drainBufferedCalls(state.apiCalls)
}

/** Whether calls of a day that is over at `at` are gathered: they are recorded before any decision. */
export function mustFlushCalls(state: LedgerState, at: number): boolean {
  return isBufferedDayOver(state.apiCalls, at)
}

/** Decides the recording of served calls. They are facts already: nothing refuses them but nonsense. */
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
    const message = "Calls are counted in whole numbers, at a price of 0 or more."
    return { type: "LedgerRefused", at, code: "bad_calls", message }
  }
  const windows = currentWindowsOf(state.counters, at)
  const weighing = [...weights].map(([tally, weight]) => {
    const weightIn: AmountInPeriod = (period) => (day >= windows[period] ? weight : 0)
    return [tally, weightIn] as const
  })
  const passes = weighing.some(([tally, weightIn]) => {
    const limit = limitBook.limits.get(tally)
    if (limit === undefined) return false
    const { period, amountMicros } = limit
    return usedInWindow(state.counters, tally, period, windows) + weightIn(period) > amountMicros
  })
  const exempt = passes ? "limits" : null
  const counted: ApiCallsCounted = {
    type: "ApiCallsCounted",
    at,
    day,
    ...price,
    counters,
    exemption: exempt,
  }
  return [counted, ...reachedReminderEvents(limitBook, state.counters, weighing, at)]
}

/** What each tally that there is gets of these calls; null where a number is no number of calls. */
function weightsOf(
  state: LedgerState,
  tallies: readonly ApiCallCounter[],
  unitPriceMicros: Micros,
): ReadonlyMap<CounterIndex, Micros> | null {
  const weights = new Map<CounterIndex, Micros>()
  for (const tally of tallies) {
    const weight = tally.calls * unitPriceMicros
    const isCount = Number.isSafeInteger(tally.calls) && tally.calls > 0
    if (!isCount || unitPriceMicros < 0 || !isMicros(weight)) return null
    for (const index of existingCounters(state.counters, spenderOfCalls(tally), "general")) {
      weights.set(index, (weights.get(index) ?? 0) + weight)
    }
  }
  return weights
}

/** Folds recorded calls: they weigh in those windows of their day that are still current. */
export function evolveCallsCounted(state: LedgerState, fact: ApiCallsCounted): void {
  addUnchargedCalls(state.apiCalls, fact)
  for (const tally of fact.counters) {
    const weight = tally.calls * fact.unitPriceMicros
    for (const index of ensureCounters(state.counters, spenderOfCalls(tally), "general")) {
      addToCounterSince(state.counters, index, weight, fact.day)
    }
  }
}

/** Decides the charges of the days that are over: neither funds nor limits are asked again. */
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
    // Beyond exact arithmetic it waits: an operator must see to the funds first.
    const holdsSum = isMonthSumExact(state.month, "chargedMicros", sum, at)
    if (!isMicros(state.fundsMicros - sum) || !holdsSum) continue
    charges.push(charge)
    chargedMicros = sum
  }
  return charges
}

/** What stands against a call: the limit that is used up, or what became of the company. */
export type ApiCallBlocker = "closed" | "locked" | LimitReading

/** Which of them stop a call; that a company was deleted always does. */
export interface ApiCallChecks {
  readonly spender: Spender
  readonly checksLock: boolean
  readonly checksLimits: boolean
  readonly checksKeyLimit: boolean
}

/** The first that stands against a call, in the order of the checks (decisions.md §1); null where nothing does. */
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

/** A call that is let in and counted at once; `checks` are left out where they were made before. */
interface IncomingApiCall extends ServedApiCall {
  readonly checks?: ApiCallChecks
}

/** Lets a call in and counts it, unless something stands against it: then nothing changes. */
export function admitCall(
  state: LedgerState,
  call: IncomingApiCall,
  at: number,
): ApiCallBlocker | null {
  return findBlocker(state, call, at) ?? bufferServedCall(state, call, at)
}

/** What `admitCall` would say. Changes nothing. */
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
