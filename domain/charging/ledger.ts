/**
 * The ledger of a company: decides every charge against the funds and each limit that applies, in the same append
 * that reserves the amount (docs/decisions/charging.md).
 *
 * Stream `ledger-<companyId>`. It grows with every charge and is never cut: a checkpoint bounds the time to load
 * it. The state is bounded by the company's people, keys, pending charges and purchases.
 *
 * The invariant: no charge was ever accepted at a revision where it did not fit the funds and every limit in force.
 * A charge with `exemption: "funds"` requires no funds and its event says so; a charge that `isAlreadyCounted` was
 * checked against the limits when its calls were counted.
 *
 * Rules in files of their own: `charge.ts`, `limit-book.ts`, `served-calls.ts`, `purchases.ts`, `months.ts`,
 * `postings.ts`, `recent-names.ts`.
 */
import type { Decider, DecisionStamp } from "../kernel/decider.ts"
import { isRefusal, unreachable } from "../kernel/decider.ts"
import type { ChargeId } from "../kernel/ids.ts"
import type { Micros } from "../kernel/money.ts"
import { isMicros } from "../kernel/money.ts"
import { monthStart } from "../kernel/window.ts"
import { markCallsCharged } from "./api-calls.ts"
import { recentNameOfCharge, decideCharge, searchAgainRefusal, spenderOf } from "./charge.ts"
import { decideDeletion } from "./deletion.ts"
import type {
  AddFunds,
  ChangeCreditTerms,
  SettleCharges,
  CorrectFunds,
  ChargeToRefund,
  FailPurchase,
  RefundPendingCharge,
  RefundSettledCharge,
  LedgerCommand,
  LedgerRefusal,
  LedgerRefusalCode,
  LedgerRefused,
  OpenLedger,
  OrderPurchase,
  PayPurchase,
  SetLimit,
  SetPurchaseTerms,
  StartPurchase,
} from "./ledger-commands.ts"
import type { ChargeReduced, Charged, LedgerEvent, LedgerFact } from "./ledger-events.ts"
import type { LedgerState } from "./ledger-state.ts"
import { initialLedger } from "./ledger-state.ts"
import {
  removeLimit,
  findLimit,
  markReminderReached,
  putLimit,
  resetReminders,
} from "./limit-book.ts"
import { limitFault, areLimitsEqual } from "./limits.ts"
import { decideLowFundsAlert, appendLowFundsAlerts } from "./postings.ts"
import type { MonthSumName } from "./months.ts"
import { monthClosingsDueAt, canAddToMonthSum, startMonth } from "./months.ts"
import { evolvePurchases, purchaseFault, allowanceUsedIn } from "./purchases.ts"
import { isPossiblyUsedAfter, rememberName } from "./recent-names.ts"
import { decideChargeCalls, evolveCallsCounted, decideRecordCalls } from "./served-calls.ts"
import { addToCounter, addToCounterSince, advanceWindows } from "./counter-sums.ts"
import { ensureCounters } from "./counters.ts"

export const ledgerDecider: Decider<LedgerCommand, LedgerState, LedgerEvent, LedgerRefusal> = {
  initial: initialLedger,
  decide,
  evolve,
}

/** The runner chains the first event of a stream to this hash. */
const NO_HASH = "0".repeat(64)

type Decision = readonly LedgerEvent[] | LedgerRefusal

/**
 * Closings of ended months precede the events of a command, and the low-funds alert follows the event that lowers
 * the funds.
 */
function decide(
  command: LedgerCommand,
  state: LedgerState,
  { at, headHash }: DecisionStamp,
): Decision {
  const decided = decideCommand(command, state, at)
  if (isRefusal(decided)) return decided
  const facts = appendLowFundsAlerts(decided, state)
  const { month } = state
  if (month === null || at < month.end) return facts
  if (facts.length === 0 && command.type !== "CloseMonth") return facts
  const head = { headRevision: state.facts - 1, headHash: headHash ?? NO_HASH }
  return [...monthClosingsDueAt(month, at, state.fundsMicros, head), ...facts]
}

function decideCommand(command: LedgerCommand, state: LedgerState, at: number): Decision {
  switch (command.type) {
    case "Charge":
      return decideCharge(command, state, at)
    case "SettleCharges":
      return settleCharges(command, state, at)
    case "RefundPendingCharge":
      return refundPending(command, state, at)
    case "RefundSettledCharge":
      return refundSettled(command, state, at)
    case "RecordApiCalls":
      return decideRecordCalls(command, state, at)
    case "ChargeApiCalls":
      return decideChargeCalls(command, state, at)
    case "OrderPurchase":
      return orderPurchase(command, state, at)
    case "PayPurchase":
    case "FailPurchase":
      return settlePurchase(command, state, at)
    case "StartPurchase":
      return startPurchase(command, state, at)
    case "CorrectFunds":
      return correctFunds(command, state, at)
    case "LockAccount":
      return state.locked ? [] : [{ type: "AccountLocked", at }]
    case "UnlockAccount":
      return state.locked ? [{ type: "AccountUnlocked", at }] : []
    case "CloseMonth":
      return []
    case "CloseLedger":
    case "ReopenLedger":
    case "StartErasure":
      return decideDeletion(command, state, at)
    case "OpenLedger":
      return openLedger(command, state, at)
    case "ChangeCreditTerms":
    case "AddFunds":
    case "SetLimit":
    case "RemoveLimit":
    case "SetPurchaseTerms":
    case "SetLowFundsAlert":
      if (state.closedAt !== null) return refuse(at, "ledger_closed", "This company was deleted.")
      return decideSetting(command, state, at)
    default:
      return unreachable(command)
  }
}

/** Decides settings, which a deleted company cannot change. */
function decideSetting(
  command: Extract<
    LedgerCommand,
    {
      type:
        | "ChangeCreditTerms"
        | "AddFunds"
        | "SetLimit"
        | "RemoveLimit"
        | "SetPurchaseTerms"
        | "SetLowFundsAlert"
    }
  >,
  state: LedgerState,
  at: number,
): Decision {
  switch (command.type) {
    case "ChangeCreditTerms":
      return changeTerms(command, state, at)
    case "AddFunds":
      return addFunds(command, state, at)
    case "SetLimit":
      return setLimit(command, state, at)
    case "RemoveLimit": {
      const { holder, holderId, class: limited } = command
      if (findLimit(state.limitBook, state.counters, command) === null) {
        return refuse(at, "no_such_limit", "There is no such limit.")
      }
      return [{ type: "LimitRemoved", at, holder, holderId, class: limited }]
    }
    case "SetPurchaseTerms":
      return setPurchaseTerms(command, state, at)
    case "SetLowFundsAlert":
      return decideLowFundsAlert(command, state, at)
    default:
      return unreachable(command)
  }
}

function evolve(state: LedgerState, event: LedgerEvent): LedgerState {
  state.facts += 1
  if (advanceWindows(state.counters, event.at)) resetReminders(state.limitBook, state.counters)
  switch (event.type) {
    case "Charged":
      return evolveCharged(state, event)
    case "ChargesSettled":
      return evolveSettled(state, event)
    case "ChargeReduced":
      return evolveRefunded(state, event)
    case "ApiCallsCounted":
      evolveCallsCounted(state, event)
      return state
    case "ReminderReached":
      markReminderReached(state.limitBook, state.counters, event)
      return state
    case "MonthClosed":
      state.month = startMonth(state.month?.end ?? event.at, event.fundsMicros)
      return state
    case "FundsAdded":
      if (event.reference !== null) state.references.add(event.reference)
      return moveFunds(state, event.amountMicros, "addedMicros")
    case "FundsCorrected":
      return moveFunds(state, event.amountMicros, "correctedMicros")
    case "LowFundsAlertSet":
      state.noticeMicros = event.belowMicros
      return state
    case "LowFundsReached":
      return state
    case "LimitSet": {
      const { type: _type, at: _at, ...limit } = event
      putLimit(state.limitBook, state.counters, limit)
      return state
    }
    case "LimitRemoved":
      removeLimit(state.limitBook, state.counters, event)
      return state
    case "PurchasePaid":
      moveFunds(state, event.amountMicros, "purchasedMicros")
      evolvePurchases(state.purchases, event)
      return state
    case "PurchaseTermsSet":
    case "PurchaseStarted":
    case "PurchaseOrdered":
    case "PurchaseFailed":
      evolvePurchases(state.purchases, event)
      return state
    case "LedgerOpened":
      state.opened = true
      state.month = startMonth(event.at, state.fundsMicros)
      return evolveTerms(state, event)
    case "TermsChanged":
      return evolveTerms(state, event)
    case "AccountLocked":
    case "AccountUnlocked":
      state.locked = event.type === "AccountLocked"
      return state
    case "LedgerClosed":
    case "LedgerReopened":
      state.closedAt = event.type === "LedgerClosed" ? event.at : null
      return state
    case "ErasureStarted":
      state.erasing = true
      return state
    default:
      return unreachable(event)
  }
}

function refuse(at: number, code: LedgerRefusalCode, message: string): LedgerRefused {
  return { type: "LedgerRefused", at, code, message }
}

function openLedger(command: OpenLedger, state: LedgerState, at: number): Decision {
  if (state.opened) return []
  const { prepaidOnly, creditLineMicros } = command
  const fault = creditFault(command, at)
  return fault ?? [{ type: "LedgerOpened", at, prepaidOnly, creditLineMicros }]
}

function changeTerms(command: ChangeCreditTerms, state: LedgerState, at: number): Decision {
  const { prepaidOnly, creditLineMicros } = command
  const fault = creditFault(command, at)
  if (fault !== null) return fault
  const isSame = prepaidOnly === state.prepaidOnly && creditLineMicros === state.creditLineMicros
  return isSame ? [] : [{ type: "TermsChanged", at, prepaidOnly, creditLineMicros }]
}

function creditFault(
  { creditLineMicros }: OpenLedger | ChangeCreditTerms,
  at: number,
): LedgerRefused | null {
  if (creditLineMicros >= 0 && isMicros(creditLineMicros)) return null
  const message = "A credit line must be between $0 and $9 billion."
  return refuse(at, "bad_amount", message)
}

function addFunds(command: AddFunds, state: LedgerState, at: number): Decision {
  const { amountMicros, reference } = command
  if (reference !== null && state.references.has(reference)) return []
  const isAmount = amountMicros > 0 && isMicros(amountMicros)
  if (
    !isAmount ||
    !canFundsRise(state, amountMicros) ||
    !canAddToMonthSum(state.month, "addedMicros", amountMicros, at)
  ) {
    const message = "The amount must be more than $0, and the funds may not exceed $9 billion."
    return refuse(at, "bad_amount", message)
  }
  return [{ type: "FundsAdded", at, amountMicros, reference }]
}

function correctFunds(command: CorrectFunds, state: LedgerState, at: number): Decision {
  const { amountMicros, reason } = command
  const isAmount = amountMicros !== 0 && isMicros(amountMicros)
  const isExact = canFundsRise(state, amountMicros) && isMicros(state.fundsMicros + amountMicros)
  if (
    !isAmount ||
    !isExact ||
    !canAddToMonthSum(state.month, "correctedMicros", amountMicros, at)
  ) {
    const message = "A correction must not be $0, and the funds may not exceed $9 billion."
    return refuse(at, "bad_amount", message)
  }
  return [{ type: "FundsCorrected", at, amountMicros, reason }]
}

/** Whether the funds stay exact after adding this amount, all pending refunds and all pending purchases. */
function canFundsRise(state: LedgerState, amountMicros: Micros): boolean {
  const { fundsMicros, openMicros, purchases } = state
  return isMicros(fundsMicros + openMicros + purchases.pendingMicros + amountMicros)
}

function setLimit(command: SetLimit, state: LedgerState, at: number): Decision {
  const { type: _type, ...limit } = command
  const message = limitFault(limit)
  if (message !== null) return refuse(at, "bad_limit", message)
  const former = findLimit(state.limitBook, state.counters, limit)
  if (former !== null && areLimitsEqual(former, limit)) return []
  return [{ type: "LimitSet", at, ...limit }]
}

function settleCharges(command: SettleCharges, state: LedgerState, at: number): Decision {
  const chargeIds: ChargeId[] = []
  for (const id of new Set(command.chargeIds)) if (state.pendingCharges.has(id)) chargeIds.push(id)
  return chargeIds.length === 0 ? [] : [{ type: "ChargesSettled", at, chargeIds }]
}

function refundPending(command: RefundPendingCharge, state: LedgerState, at: number): Decision {
  const { chargeId, reason } = command
  const open = state.pendingCharges.get(chargeId)
  if (open === undefined) return []
  const { via, keyId, personId, class: charging, item, resource, amountMicros } = open
  const spending = { via, keyId, personId, class: charging, item, resource }
  const charge: ChargeToRefund = { ...spending, chargeId, amountMicros, countedAt: open.at }
  return refundEvents(at, charge, command.amountMicros, reason)
}

function refundSettled(command: RefundSettledCharge, state: LedgerState, at: number): Decision {
  const { charge, refundableMicros, amountMicros, reason, searchedUpTo } = command
  const { chargeId } = charge
  if (state.pendingCharges.has(chargeId)) {
    return refundPending({ type: "RefundPendingCharge", chargeId, amountMicros, reason }, state, at)
  }
  if (isPossiblyUsedAfter(state.recentNames, recentNameOfRefunds(chargeId), searchedUpTo))
    return searchAgainRefusal(at)
  const remaining = {
    ...charge,
    amountMicros: Math.max(0, Math.min(refundableMicros, charge.amountMicros)),
  }
  const requestedMicros = amountMicros ?? remaining.amountMicros
  const refundsMicros = state.openMicros + requestedMicros
  if (
    !canFundsRise(state, requestedMicros) ||
    !canAddToMonthSum(state.month, "reducedMicros", refundsMicros, at)
  ) {
    return refuse(at, "bad_amount", "The funds would exceed $9 billion; refund less.")
  }
  // Nothing is left of a free charge or of one that was fully refunded.
  if (amountMicros === null && requestedMicros === 0) return []
  return refundEvents(at, remaining, amountMicros, reason)
}

function recentNameOfRefunds(chargeId: string): string {
  return `back ${chargeId}`
}

/** @param charge with the amount that may still be refunded */
function refundEvents(
  at: number,
  charge: ChargeToRefund,
  part: Micros | null,
  reason: string,
): readonly [ChargeReduced] | LedgerRefused {
  const isPart = part !== null && part > 0 && part <= charge.amountMicros && isMicros(part)
  if (part !== null && !isPart) {
    const message = "A refund must be more than $0 and at most what is left of the charge."
    return refuse(at, "bad_amount", message)
  }
  const amountMicros = part ?? charge.amountMicros
  return [{ type: "ChargeReduced", at, ...charge, amountMicros, reason }]
}

function startPurchase(command: StartPurchase, state: LedgerState, at: number): Decision {
  const { purchaseId, keyId, personId, amountMicros } = command
  const { purchases } = state
  if (purchases.pending.has(purchaseId) || purchases.ended.has(purchaseId)) return []
  const month = monthStart(at)
  const isExact =
    canFundsRise(state, amountMicros) &&
    canAddToMonthSum(state.month, "purchasedMicros", amountMicros, at)
  const amountFault = isExact ? null : "bad_amount"
  const code =
    state.closedAt !== null
      ? "ledger_closed"
      : (amountFault ?? purchaseFault(purchases, command, month))
  if (code === null)
    return [{ type: "PurchaseStarted", at, purchaseId, keyId, personId, amountMicros }]
  const { paidMicros, pendingMicros } = allowanceUsedIn(purchases, keyId, month)
  return {
    type: "PurchaseRefused",
    at,
    code,
    purchaseId,
    keyId,
    amountMicros,
    terms: (keyId === null ? null : purchases.terms.get(keyId)) ?? null,
    takenMicros: paidMicros + pendingMicros,
  }
}

function orderPurchase(command: OrderPurchase, state: LedgerState, at: number): Decision {
  const { purchaseId, paymentId } = command
  const pending = state.purchases.pending.get(purchaseId)
  // A purchase has one payment: the first id wins.
  if (pending === undefined || pending.paymentId !== null) return []
  return [{ type: "PurchaseOrdered", at, purchaseId, paymentId }]
}

function settlePurchase(
  command: PayPurchase | FailPurchase,
  state: LedgerState,
  at: number,
): Decision {
  const { purchaseId } = command
  const pending = state.purchases.pending.get(purchaseId)
  if (pending === undefined) return []
  const purchase = { at, purchaseId, ...pending }
  if (command.type === "PayPurchase") {
    return [{ type: "PurchasePaid", ...purchase, paymentId: command.paymentId }]
  }
  const paymentId = command.paymentId ?? pending.paymentId
  return [{ type: "PurchaseFailed", ...purchase, code: command.code, paymentId }]
}

function setPurchaseTerms(command: SetPurchaseTerms, state: LedgerState, at: number): Decision {
  const { keyId, mode, perPurchaseMicros, perMonthMicros } = command
  const isAmount = (amount: Micros) => amount >= 0 && isMicros(amount)
  if (!isAmount(perPurchaseMicros) || !isAmount(perMonthMicros)) {
    return refuse(at, "bad_amount", "A purchase limit must be between $0 and $9 billion.")
  }
  const former = state.purchases.terms.get(keyId)
  const isSame =
    former?.mode === mode &&
    former.perPurchaseMicros === perPurchaseMicros &&
    former.perMonthMicros === perMonthMicros
  if (isSame) return []
  return [{ type: "PurchaseTermsSet", at, keyId, mode, perPurchaseMicros, perMonthMicros }]
}

function evolveTerms(
  state: LedgerState,
  event: LedgerFact<"LedgerOpened" | "TermsChanged">,
): LedgerState {
  state.prepaidOnly = event.prepaidOnly
  state.creditLineMicros = event.creditLineMicros
  return state
}

function moveFunds(state: LedgerState, amountMicros: Micros, sum: MonthSumName): LedgerState {
  state.fundsMicros += amountMicros
  if (state.month !== null) state.month[sum] += amountMicros
  return state
}

function evolveCharged(state: LedgerState, event: Charged): LedgerState {
  const { amountMicros, chargeId } = event
  state.fundsMicros -= amountMicros
  if (state.month !== null) {
    state.month.chargedMicros += amountMicros
    state.month.charges += 1
  }
  if (event.isAlreadyCounted) {
    markCallsCharged(state.apiCalls, event)
    return state
  }
  for (const counter of ensureCounters(state.counters, spenderOf(event), event.class)) {
    addToCounter(state.counters, counter, amountMicros)
  }
  if (event.isPending) {
    // The event itself is stored: it has everything that ending the charge needs, so nothing is copied.
    state.pendingCharges.set(chargeId, event)
    state.openMicros += amountMicros
  }
  if (event.isExternalId)
    rememberName(state.recentNames, recentNameOfCharge(chargeId), state.facts - 1)
  return state
}

function evolveSettled(state: LedgerState, event: LedgerFact<"ChargesSettled">): LedgerState {
  for (const id of event.chargeIds) {
    state.openMicros -= state.pendingCharges.get(id)?.amountMicros ?? 0
    state.pendingCharges.delete(id)
  }
  return state
}

function evolveRefunded(state: LedgerState, event: ChargeReduced): LedgerState {
  const { chargeId, amountMicros, countedAt } = event
  const open = state.pendingCharges.get(chargeId)
  if (open !== undefined) {
    state.openMicros -= open.amountMicros
    state.pendingCharges.delete(chargeId)
  }
  // Refunds of pending charges too: an operator may have looked the charge up while it was pending.
  rememberName(state.recentNames, recentNameOfRefunds(chargeId), state.facts - 1)
  for (const counter of ensureCounters(state.counters, spenderOf(event), event.class)) {
    addToCounterSince(state.counters, counter, -amountMicros, countedAt)
  }
  return moveFunds(state, amountMicros, "reducedMicros")
}
