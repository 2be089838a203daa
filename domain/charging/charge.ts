/**
 * Whether a charge is accepted: the rules in the order of decisions.md §1 and §4, and the evidence
 * of a no. Every charge of every company passes here, so the common way makes no object but its fact.
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
import { isMonthSumExact } from "./months.ts"
import { lookUpRecentName } from "./recent-names.ts"
import type { LimitVerdict } from "./counter-sums.ts"
import { evaluateLimit, usedInWindow, currentWindowsOf } from "./counter-sums.ts"
import { bufferedCompanyMicros, existingCounters } from "./counters.ts"

/** No company may have more charges open than this: the next is refused until some end. */
export const MAX_OPEN_CHARGES = 10_000

/** Decides a charge: its fact and the reminders it reaches, nothing new, or a no. */
export function decideCharge(
  command: ChargeCommand,
  state: LedgerState,
  at: number,
): readonly LedgerEvent[] | ChargeRefused | LedgerRefused {
  const { chargeId, amountMicros, quantity, searchedUpTo } = command
  if (state.pendingCharges.has(chargeId)) return []
  const isProduct = amountMicros === quantity * command.unitPriceMicros
  if (amountMicros < 0 || quantity < 0 || !isProduct || !Number.isSafeInteger(quantity)) {
    // Below zero it would add to the funds; else the bill's line would not multiply out.
    const message = "A charge is 0 or more, and its quantity times its unit price."
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

/** The name under which a charge of a caller's own id is remembered. */
export function recentNameOfCharge(chargeId: string): string {
  return `charge ${chargeId}`
}

/** The answer to a name that must be looked for once more. */
export function searchAgainRefusal(at: number): LedgerRefused {
  const message = "Too much has happened since this id was looked for: look again."
  return { type: "LedgerRefused", at, code: "search_again", message }
}

/** The worst that any limit which applies says of the charge. */
function evaluateLimits(command: ChargeCommand, state: LedgerState, at: number): LimitVerdict {
  const { counters } = state
  const { amountMicros } = command
  const isCurrent = at < counters.windows.dayEnd
  let worst: LimitVerdict = "fits"
  for (const tally of existingCounters(counters, spenderOf(command), command.class)) {
    const verdict = isCurrent
      ? evaluateLimit(counters, tally, amountMicros)
      : evaluateLimitLater(state, tally, at, amountMicros)
    if (verdict === "does not fit") return verdict
    if (verdict === "is not exact" || worst === "fits") worst = verdict
  }
  return worst
}

/** The same once a window has ended since the last fact. */
function evaluateLimitLater(
  state: LedgerState,
  tally: number,
  at: number,
  asked: Micros,
): LimitVerdict {
  const { counters, limitBook } = state
  const windows = currentWindowsOf(counters, at)
  const reading = readLimitsOfCounters(limitBook, counters, [tally], at, asked)[0]
  if (reading !== undefined && !fitsLimit(reading)) return "does not fit"
  const isExact =
    isMicros(usedInWindow(counters, tally, "month", windows) + asked) &&
    isMicros(usedInWindow(counters, tally, "week", windows) + asked)
  if (!isExact) return "is not exact"
  const reached = reachedReminderEvents(limitBook, counters, [[tally, () => asked]], at)
  return reached.length > 0 ? "reaches a reminder" : "fits"
}

/** The first rule that stands against a charge, in the order of decisions.md §1. */
function refusalCode(
  command: ChargeCommand,
  state: LedgerState,
  at: number,
  verdict: LimitVerdict,
): ChargeRefusalCode | null {
  const { amountMicros: asked, isPending } = command
  if (state.closedAt !== null) return "ledger_closed"
  if (state.locked) return "account_locked"
  if (verdict === "does not fit") return "spend_limit_reached"
  const { fundsMicros } = state
  if (hasInsufficientFunds(command, { fundsMicros, creditLineMicros: availableCreditOf(state) }))
    return "payment_required"
  if (isPending && state.pendingCharges.size >= MAX_OPEN_CHARGES) return "too_many_open_charges"
  const isExact = verdict !== "is not exact" && isMicros(state.fundsMicros - asked)
  // What is open may come back within this month, beside what came back already.
  const holdsBack =
    !isPending || isMonthSumExact(state.month, "reducedMicros", state.openMicros + asked, at)
  const holdsSums = holdsBack && isMonthSumExact(state.month, "chargedMicros", asked, at)
  return isExact && holdsSums ? null : "amount_too_large"
}

/** Whether the funds are not enough for a charge that asks for them (decisions.md §4). */
export function hasInsufficientFunds(
  { amountMicros, exemption }: Pick<ChargeCommand, "amountMicros" | "exemption">,
  { fundsMicros, creditLineMicros }: { readonly [K in "fundsMicros" | "creditLineMicros"]: Micros },
): boolean {
  // What costs nothing needs no funds, even where a correction took them below zero.
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
  const spent = touched.map((tally) => [tally, () => amountMicros] as const)
  return reachedReminderEvents(state.limitBook, state.counters, spent, at)
}

/** Written out field by field: copying the command would be the dearest part of a decision. */
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
  const on = existingCounters(state.counters, spenderOf(command), command.class)
  const limits = readLimitsOfCounters(state.limitBook, state.counters, on, at, amountMicros)
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

/** The spender of a request or fact, as the union whose cases say what may be null. */
export function spenderOf(request: Pick<ChargeCommand, "via" | "keyId" | "personId">): Spender {
  return request as Spender
}
