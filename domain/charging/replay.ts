/**
 * Replay: the command that a stored event or refusal must have come from. An auditor decides it on the state before
 * the event and compares the result field by field.
 */
import { unreachable } from "../kernel/decider.ts"
import type { ChargeId } from "../kernel/ids.ts"
import type { Micros } from "../kernel/money.ts"
import { dayStart } from "../kernel/window.ts"
import type { ChargeCommand, LedgerCommand } from "./ledger-commands.ts"
import type { ChargeReduced, ChargeRefused, Charged, LedgerEvent } from "./ledger-events.ts"
import type { LedgerState } from "./ledger-state.ts"
import { ledgerDecider } from "./ledger.ts"
import type { LimitScope } from "./limits.ts"
import { addBuffered, clearBuffered } from "./counter-sums.ts"
import { countersOfScope } from "./counters.ts"

/** Higher than any revision: a stored id was not found by its lookup. */
const ALL_REVISIONS = Number.MAX_SAFE_INTEGER
const COMPANY_GENERAL: LimitScope = { holder: "company", holderId: null, class: "general" }

/** Returns what is left of a charge after earlier refunds, in micro-dollars; no state contains it. */
export type RefundableAmountOf = (chargeId: ChargeId, countedAt: number) => Micros

/**
 * Returns the command whose first or only event this is, given the state before it; null for an event that only
 * follows another.
 */
export function ledgerCommandOf(
  fact: LedgerEvent,
  state: LedgerState,
  refundableOf: RefundableAmountOf,
): LedgerCommand | null {
  switch (fact.type) {
    case "Charged":
      // One nightly charge at a time: the next is the first of the remaining ones.
      return fact.isAlreadyCounted
        ? { type: "ChargeApiCalls", maxCharges: 1 }
        : chargeCommandOf(fact)
    case "ChargeReduced":
      return refundCommandOf(fact, state, refundableOf)
    case "ReminderReached":
    case "LowFundsReached":
      return null
    case "MonthClosed":
      return { type: "CloseMonth" }
    case "LedgerOpened":
      return { ...fact, type: "OpenLedger" }
    case "TermsChanged":
      return { ...fact, type: "ChangeCreditTerms" }
    case "FundsAdded":
      return { ...fact, type: "AddFunds" }
    case "FundsCorrected":
      return { ...fact, type: "CorrectFunds" }
    case "LowFundsAlertSet":
      return { type: "SetLowFundsAlert", belowMicros: fact.belowMicros }
    case "LimitSet":
      return limitCommand(fact)
    case "LimitRemoved":
      return { ...fact, type: "RemoveLimit" }
    case "ChargesSettled":
      return { ...fact, type: "SettleCharges" }
    case "ApiCallsCounted":
      return { ...fact, type: "RecordApiCalls" }
    case "PurchaseTermsSet":
      return { ...fact, type: "SetPurchaseTerms" }
    case "PurchaseStarted":
      return { ...fact, type: "StartPurchase" }
    case "PurchaseOrdered":
      return { ...fact, type: "OrderPurchase" }
    case "PurchasePaid":
      return { ...fact, type: "PayPurchase" }
    case "PurchaseFailed":
      return { ...fact, type: "FailPurchase" }
    case "AccountLocked":
      return { type: "LockAccount" }
    case "AccountUnlocked":
      return { type: "UnlockAccount" }
    case "LedgerClosed":
      return { type: "CloseLedger" }
    case "LedgerReopened":
      return { type: "ReopenLedger" }
    case "ErasureStarted":
      return { type: "StartErasure" }
    default:
      return unreachable(fact)
  }
}

/** Returns the charge command of a charge or of a refusal. */
export function chargeCommandOf(charge: Charged | ChargeRefused): ChargeCommand {
  const isNamed = charge.type === "Charged" && charge.isExternalId
  return {
    type: "Charge",
    chargeId: charge.chargeId,
    via: charge.via,
    keyId: charge.keyId,
    personId: charge.personId,
    class: charge.class,
    item: charge.item,
    quantity: charge.quantity,
    unitPriceMicros: charge.unitPriceMicros,
    priceVersion: charge.priceVersion,
    amountMicros: charge.amountMicros,
    resource: charge.resource,
    requestedAt: charge.requestedAt,
    dueAt: charge.dueAt,
    servedFrom: charge.servedFrom,
    isPending: charge.isPending,
    exemption: charge.exemption,
    searchedUpTo: isNamed ? ALL_REVISIONS : null,
  }
}

function limitCommand(fact: Extract<LedgerEvent, { type: "LimitSet" }>): LedgerCommand {
  // Field by field: any other field of the command would become part of the event.
  const { holder, holderId, class: limited, period, amountMicros, remindersMicros } = fact
  const { leaveKeysOut } = fact
  const limit = { holder, holderId, class: limited, period, amountMicros, remindersMicros }
  return { type: "SetLimit", ...limit, leaveKeysOut }
}

function refundCommandOf(
  fact: ChargeReduced,
  state: LedgerState,
  refundableOf: RefundableAmountOf,
): LedgerCommand {
  const { chargeId, amountMicros, reason } = fact
  const open = state.pendingCharges.get(chargeId)
  if (open !== undefined) {
    const part = amountMicros === open.amountMicros ? null : amountMicros
    return { type: "RefundPendingCharge", chargeId, amountMicros: part, reason }
  }
  const { via, keyId, personId, class: charging, item, resource, countedAt } = fact
  const spending = { via, keyId, personId, class: charging, item, resource }
  return {
    type: "RefundSettledCharge",
    charge: { chargeId, amountMicros, countedAt, ...spending },
    refundableMicros: refundableOf(chargeId, countedAt),
    amountMicros,
    reason,
    searchedUpTo: ALL_REVISIONS,
  }
}

/** Decides a refused charge again on the state that refused it. */
export function replayRefusedCharge(state: LedgerState, refused: ChargeRefused) {
  const { at } = refused
  return withBufferedCalls(state, refused, () =>
    ledgerDecider.decide(chargeCommandOf(refused), state, { at }),
  )
}

/**
 * Runs `work` with a state that includes the buffered calls a refusal was decided with. They are in no event; only
 * the evidence has them.
 */
export function withBufferedCalls<T>(state: LedgerState, refused: ChargeRefused, work: () => T): T {
  const { counters } = state
  const weights = new Map<number, Micros>()
  for (const counter of countersOfScope(counters, COMPANY_GENERAL)) {
    weights.set(counter, refused.unrecordedMicros)
  }
  for (const limit of refused.limits) {
    for (const counter of countersOfScope(counters, limit)) {
      if (state.limitBook.limits.has(counter)) weights.set(counter, limit.unrecordedMicros)
    }
  }
  const day = dayStart(refused.at)
  for (const [counter, micros] of weights)
    if (micros > 0) addBuffered(counters, counter, micros, day)
  try {
    return work()
  } finally {
    clearBuffered(counters)
  }
}
