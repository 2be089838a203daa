/**
 * Served API calls and the ledger: gathered in the writer's memory, recorded, charged at night.
 *
 * What is gathered weighs in every decision at once, so a limit holds at the moment of the call; it
 * is no part of the state that facts fold to, and leads the next append as `ApiCallsCounted`.
 */
import type { Micros } from "../kernel/money.ts"
import { isMicros } from "../kernel/money.ts"
import { dayStart } from "../kernel/window.ts"
import type { ServedCall } from "./calls.ts"
import {
  addUncharged,
  callerOf,
  chargesOfCalls,
  dayToRecord,
  gatherCall,
  isGatheredOver,
  priceOfDay,
  takeGathered,
} from "./calls.ts"
import type { ChargeCalls, LedgerRefused, RecordCalls } from "./ledger-commands.ts"
import type { ApiCallsCounted, CallTally, LedgerEvent } from "./ledger-formats.ts"
import type { Ledger } from "./ledger-state.ts"
import type { WeightIn } from "./limit-book.ts"
import { readLimitsOn, remindersReached } from "./limit-book.ts"
import type { LimitReading, Spender } from "./limits.ts"
import { fits } from "./limits.ts"
import { holds } from "./months.ts"
import type { TallyIndex } from "./sums.ts"
import { addPending, addToTallySince, clearPending, usedAt, windowsOf } from "./sums.ts"
import { knownTallies, touchedTallies } from "./tallies.ts"
import { accountOf, usedUpLimit } from "./ledger-views.ts"

/** The first limit, of key, person and company, under which one more call does not fit; or null. */
export function callFault(state: Ledger, call: ServedCall, at: number): LimitReading | null {
  const { unitPriceMicros } = priceOfDay(state.calls, call, at)
  const on = knownTallies(state.tallies, callerOf(call), "general")
  const readings = readLimitsOn(state.book, state.tallies, on, at, unitPriceMicros)
  return readings.find((reading) => !fits(reading)) ?? null
}

/** Gathers a served call, unless it does not fit: then nothing changes, and the limit is answered. */
export function serveCall(state: Ledger, call: ServedCall, at: number): LimitReading | null {
  const fault = callFault(state, call, at)
  if (fault !== null) return fault
  const { unitPriceMicros } = priceOfDay(state.calls, call, at)
  gatherCall(state.calls, call, at)
  for (const tally of touchedTallies(state.tallies, callerOf(call), "general")) {
    addPending(state.tallies, tally, unitPriceMicros, dayStart(at))
  }
  return null
}

/** Takes out what is gathered, as the command that records it; null where nothing is. */
export function takeServedCalls(state: Ledger): RecordCalls | null {
  clearPending(state.tallies)
  return takeGathered(state.calls)
}

/** Whether calls of a day that is over at `at` are gathered: they are recorded before any decision. */
export function mustRecordCalls(state: Ledger, at: number): boolean {
  return isGatheredOver(state.calls, at)
}

/** Decides the recording of served calls. They are facts already: nothing refuses them but nonsense. */
export function recordCalls(
  command: RecordCalls,
  state: Ledger,
  at: number,
): readonly LedgerEvent[] | LedgerRefused {
  const { counters } = command
  if (counters.length === 0) return []
  const { book } = state
  const day = dayToRecord(state.calls, command.day, at)
  const price = priceOfDay(state.calls, command, day)
  const weights = weightsOf(state, counters, price.unitPriceMicros)
  if (weights === null) {
    const message = "Calls are counted in whole numbers, at a price of 0 or more."
    return { type: "LedgerRefused", at, code: "bad_calls", message }
  }
  const windows = windowsOf(state.tallies, at)
  const weighing = [...weights].map(([tally, weight]) => {
    const weightIn: WeightIn = (period) => (day >= windows[period] ? weight : 0)
    return [tally, weightIn] as const
  })
  const passes = weighing.some(([tally, weightIn]) => {
    const limit = book.limits.get(tally)
    if (limit === undefined) return false
    const { period, amountMicros } = limit
    return usedAt(state.tallies, tally, period, windows) + weightIn(period) > amountMicros
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
  return [counted, ...remindersReached(book, state.tallies, weighing, at)]
}

/** What each tally that there is gets of these calls; null where a number is no number of calls. */
function weightsOf(
  state: Ledger,
  tallies: readonly CallTally[],
  unitPriceMicros: Micros,
): ReadonlyMap<TallyIndex, Micros> | null {
  const weights = new Map<TallyIndex, Micros>()
  for (const tally of tallies) {
    const weight = tally.calls * unitPriceMicros
    const isCount = Number.isSafeInteger(tally.calls) && tally.calls > 0
    if (!isCount || unitPriceMicros < 0 || !isMicros(weight)) return null
    for (const index of knownTallies(state.tallies, callerOf(tally), "general")) {
      weights.set(index, (weights.get(index) ?? 0) + weight)
    }
  }
  return weights
}

/** Folds recorded calls: they weigh in those windows of their day that are still current. */
export function evolveCounted(state: Ledger, fact: ApiCallsCounted): void {
  addUncharged(state.calls, fact)
  for (const tally of fact.counters) {
    const weight = tally.calls * fact.unitPriceMicros
    for (const index of touchedTallies(state.tallies, callerOf(tally), "general")) {
      addToTallySince(state.tallies, index, weight, fact.day)
    }
  }
}

/** Decides the charges of the days that are over: neither funds nor limits are asked again. */
export function chargeCalls(
  command: ChargeCalls,
  state: Ledger,
  at: number,
): readonly LedgerEvent[] {
  const charges: LedgerEvent[] = []
  let chargedMicros = 0
  for (const charge of chargesOfCalls(state.calls, at)) {
    if (charges.length >= command.most) break
    const sum = chargedMicros + charge.amountMicros
    // Beyond exact arithmetic it waits: an operator must see to the funds first.
    const holdsSum = holds(state.month, "chargedMicros", sum, at)
    if (!isMicros(state.fundsMicros - sum) || !holdsSum) continue
    charges.push(charge)
    chargedMicros = sum
  }
  return charges
}

/** What stands against a call: the limit that is used up, or what became of the company. */
export type Obstacle = "closed" | "locked" | LimitReading

/** Which of them stop a call; that a company was deleted always does. */
export interface CallChecks {
  readonly spender: Spender
  readonly lockStops: boolean
  readonly limitsStop: boolean
  readonly ownLimitStops: boolean
}

/** The first that stands against a call, in the order of the checks (decisions.md §1); null where nothing does. */
export function obstacleTo(
  state: Ledger,
  { spender, lockStops, limitsStop, ownLimitStops }: CallChecks,
  at: number,
): Obstacle | null {
  const { closed, locked } = accountOf(state)
  if (closed) return "closed"
  const limit = usedUpLimit(state, spender, at)
  if (ownLimitStops && limit?.holder === "key") return limit
  if (lockStops && locked) return "locked"
  return limitsStop ? limit : null
}

/** A call that is let in and counted at once; `checks` are left out where they were made before. */
interface EnteringCall extends ServedCall {
  readonly checks?: CallChecks
}

/** Lets a call in and counts it, unless something stands against it: then nothing changes. */
export function enterCall(state: Ledger, call: EnteringCall, at: number): Obstacle | null {
  return checked(state, call, at) ?? serveCall(state, call, at)
}

/** What `enterCall` would say. Changes nothing. */
export function entryFault(state: Ledger, call: EnteringCall, at: number): Obstacle | null {
  return checked(state, call, at) ?? callFault(state, call, at)
}

function checked(state: Ledger, { checks }: EnteringCall, at: number): Obstacle | null {
  return checks === undefined ? null : obstacleTo(state, checks, at)
}
