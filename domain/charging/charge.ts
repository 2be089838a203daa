/**
 * Decides charges in the order of checks of docs/api.md, and collects the evidence of a refusal.
 * Every charge passes here, so the common path allocates nothing but its event.
 */
import { availableCreditOf } from "./ledger-views.ts"
import type { Micros } from "../kernel/money.ts"
import { isMicros } from "../kernel/money.ts"
import type { ChargeCommand, LedgerRefused } from "./ledger-commands.ts"
import type { ChargeRefusalCode, ChargeRefused, Charged, LedgerEvent } from "./ledger-events.ts"
import type { LedgerState } from "./ledger-state.ts"
import { readLimitsOfCounters, reachedReminderEvents } from "./limit-book.ts"
import type { Spender } from "./limits.ts"
import { fitsLimit } from "./limits.ts"
import { canAddToMonthSum } from "./months.ts"
import { lookUpRecentName } from "./recent-names.ts"
import type { LimitVerdict } from "./counter-sums.ts"
import { evaluateLimit, usedInWindow, currentWindowsOf } from "./counter-sums.ts"
import { bufferedCompanyMicros, existingCounters } from "./counters.ts"

/** Maximum number of pending charges of a company; further ones are refused. */
export const MAX_OPEN_CHARGES = 10_000

/** Decides a charge: its event and the reminders that it reaches, nothing if it exists, or a refusal. */
export function decideCharge(
  command: ChargeCommand,
  state: LedgerState,
  at: number,
): readonly LedgerEvent[] | ChargeRefused | LedgerRefused {
  const { chargeId, amountMicros, quantity, searchedUpTo } = command
  if (state.pendingCharges.has(chargeId)) return []
  const isProduct = amountMicros === quantity * command.unitPriceMicros
  if (amountMicros < 0 || quantity < 0 || !isProduct || !Number.isSafeInteger(quantity)) {
    // A negative amount would add funds; a wrong product would break the line of the bill.
    const message = "A charge must be 0 or more and equal its quantity times its unit price."
    return { type: "LedgerRefused", at, code: "bad_amount", message }
  }
  if (searchedUpTo !== null) {
    const found = lookUpRecentName(state.recentNames, recentNameOfCharge(chargeId), searchedUpTo)
    if (found === "used") return []
    if (found === "unsure") return searchAgainRefusal(at)
  }
  const verdict = evaluateLimits(command, state, at)
  const code = refusalCode(command, state, at, verdict)
  if (code !== null) return chargeRefusal(command, state, at, code)
  const charged = chargedEvent(command, at)
  return verdict === "reaches a reminder"
    ? [charged, ...reachedReminders(command, state, at)]
    : [charged]
}

/** Returns the recent name of a charge whose id the caller chose. */
export function recentNameOfCharge(chargeId: string): string {
  return `charge ${chargeId}`
}

/** Returns the refusal of an id that must be looked up again. */
export function searchAgainRefusal(at: number): LedgerRefused {
  const message = "The ledger changed too much since this id was looked up; look it up again."
  return { type: "LedgerRefused", at, code: "search_again", message }
}

function evaluateLimits(command: ChargeCommand, state: LedgerState, at: number): LimitVerdict {
  const { counters } = state
  const { amountMicros } = command
  const isCurrent = at < counters.windows.dayEnd
  let worst: LimitVerdict = "fits"
  for (const counter of existingCounters(counters, spenderOf(command), command.class)) {
    const verdict = isCurrent
      ? evaluateLimit(counters, counter, amountMicros)
      : evaluateLimitLater(state, counter, at, amountMicros)
    if (verdict === "does not fit") return verdict
    if (verdict === "is not exact" || worst === "fits") worst = verdict
  }
  return worst
}

/** The same after a window has ended since the last event. */
function evaluateLimitLater(
  state: LedgerState,
  counter: number,
  at: number,
  amount: Micros,
): LimitVerdict {
  const { counters, limitBook } = state
  const windows = currentWindowsOf(counters, at)
  const reading = readLimitsOfCounters(limitBook, counters, [counter], at, amount)[0]
  if (reading !== undefined && !fitsLimit(reading)) return "does not fit"
  const isExact =
    isMicros(usedInWindow(counters, counter, "month", windows) + amount) &&
    isMicros(usedInWindow(counters, counter, "week", windows) + amount)
  if (!isExact) return "is not exact"
  const reached = reachedReminderEvents(limitBook, counters, [[counter, () => amount]], at)
  return reached.length > 0 ? "reaches a reminder" : "fits"
}

/** The first rule that refuses the charge, in the order of checks (docs/api.md). */
function refusalCode(
  command: ChargeCommand,
  state: LedgerState,
  at: number,
  verdict: LimitVerdict,
): ChargeRefusalCode | null {
  const { amountMicros: amount, isPending } = command
  if (state.closedAt !== null) return "ledger_closed"
  if (state.locked) return "account_locked"
  if (verdict === "does not fit") return "spend_limit_reached"
  const { fundsMicros } = state
  if (hasInsufficientFunds(command, { fundsMicros, creditLineMicros: availableCreditOf(state) }))
    return "payment_required"
  if (isPending && state.pendingCharges.size >= MAX_OPEN_CHARGES) return "too_many_open_charges"
  const isExact = verdict !== "is not exact" && isMicros(state.fundsMicros - amount)
  // Pending charges may be refunded within this month, in addition to earlier refunds.
  const areRefundsExact =
    !isPending || canAddToMonthSum(state.month, "reducedMicros", state.openMicros + amount, at)
  const areSumsExact = areRefundsExact && canAddToMonthSum(state.month, "chargedMicros", amount, at)
  return isExact && areSumsExact ? null : "amount_too_large"
}

/** Whether funds are missing for a charge that requires them (docs/decisions/charging.md). */
export function hasInsufficientFunds(
  { amountMicros, exemption }: Pick<ChargeCommand, "amountMicros" | "exemption">,
  { fundsMicros, creditLineMicros }: { readonly [K in "fundsMicros" | "creditLineMicros"]: Micros },
): boolean {
  // A free charge needs no funds, even if a correction made them negative.
  if (amountMicros === 0 || amountMicros <= fundsMicros + creditLineMicros) return false
  return exemption === null || (exemption === "funds_while_above_zero" && fundsMicros <= 0)
}

function reachedReminders(
  command: ChargeCommand,
  state: LedgerState,
  at: number,
): readonly LedgerEvent[] {
  const { amountMicros } = command
  const touched = existingCounters(state.counters, spenderOf(command), command.class)
  const spent = touched.map((counter) => [counter, () => amountMicros] as const)
  return reachedReminderEvents(state.limitBook, state.counters, spent, at)
}

/** Fields are listed one by one: spreading the command would be the slowest part of a decision. */
function chargedEvent(command: ChargeCommand, at: number): Charged {
  return {
    type: "Charged",
    at,
    chargeId: command.chargeId,
    via: command.via,
    keyId: command.keyId,
    personId: command.personId,
    class: command.class,
    item: command.item,
    quantity: command.quantity,
    unitPriceMicros: command.unitPriceMicros,
    priceVersion: command.priceVersion,
    amountMicros: command.amountMicros,
    resource: command.resource,
    requestedAt: command.requestedAt,
    dueAt: command.dueAt,
    servedFrom: command.servedFrom,
    isPending: command.isPending,
    exemption: command.exemption,
    isExternalId: command.searchedUpTo !== null,
    isAlreadyCounted: false,
  }
}

function chargeRefusal(
  command: ChargeCommand,
  state: LedgerState,
  at: number,
  code: ChargeRefusalCode,
): ChargeRefused {
  const { amountMicros } = command
  const applicable = existingCounters(state.counters, spenderOf(command), command.class)
  const limits = readLimitsOfCounters(state.limitBook, state.counters, applicable, at, amountMicros)
  const first =
    code === "spend_limit_reached" ? limits.findIndex((limit) => !fitsLimit(limit)) : null
  return {
    type: "ChargeRefused",
    at,
    chargeId: command.chargeId,
    via: command.via,
    keyId: command.keyId,
    personId: command.personId,
    class: command.class,
    item: command.item,
    quantity: command.quantity,
    unitPriceMicros: command.unitPriceMicros,
    priceVersion: command.priceVersion,
    amountMicros,
    resource: command.resource,
    requestedAt: command.requestedAt,
    dueAt: command.dueAt,
    servedFrom: command.servedFrom,
    isPending: command.isPending,
    exemption: command.exemption,
    code,
    ledgerRevision: state.facts - 1,
    fundsMicros: state.fundsMicros,
    creditLineMicros: availableCreditOf(state),
    prepaidOnly: state.prepaidOnly,
    unrecordedMicros: bufferedCompanyMicros(state.counters, currentWindowsOf(state.counters, at)),
    limits,
    refusingLimit: first,
  }
}

/** Views a request or event as a spender, whose cases say which ids may be null. */
export function spenderOf(request: Pick<ChargeCommand, "via" | "keyId" | "personId">): Spender {
  return request as Spender
}
