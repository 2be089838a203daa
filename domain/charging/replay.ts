/**
 * Asking again: the command that a stored fact, or a stored no, must have come from. An auditor gives
 * it to the decider on the state before it and compares what comes out, field for field.
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

/** Every revision there can be: whoever was stored was not found before. */
const ALL_REVISIONS = Number.MAX_SAFE_INTEGER
const COMPANY_GENERAL: LimitScope = { holder: "company", holderId: null, class: "general" }

/** What is left of a charge after the refunds before, in micros: it is in no state. */
export type RefundableAmountOf = (chargeId: ChargeId, countedAt: number) => Micros

/**
 * The command whose first fact this is, or whose only one, on the state before it; null for a fact
 * that only ever follows another.
 */
export function ledgerCommandOf(
  fact: LedgerEvent,
  state: LedgerState,
  leftOf: RefundableAmountOf,
): LedgerCommand | null {
  switch (fact.type) {
    case "Charged":
      // One night's charge at a time: the next is the first of those that are left.
      return fact.isAlreadyCounted
        ? { type: "ChargeApiCalls", maxCharges: 1 }
        : chargeCommandOf(fact)
    case "ChargeReduced":
      return refundCommandOf(fact, state, leftOf)
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

/** The charge that was asked for, by its fact or by the evidence of its no. */
export function chargeCommandOf(asked: Charged | ChargeRefused): ChargeCommand {
  const isNamed = asked.type === "Charged" && asked.isExternalId
  return {
    type: "Charge",
    chargeId: asked.chargeId,
    via: asked.via,
    keyId: asked.keyId,
    personId: asked.personId,
    class: asked.class,
    item: asked.item,
    quantity: asked.quantity,
    unitPriceMicros: asked.unitPriceMicros,
    priceVersion: asked.priceVersion,
    amountMicros: asked.amountMicros,
    resource: asked.resource,
    requestedAt: asked.requestedAt,
    dueAt: asked.dueAt,
    servedFrom: asked.servedFrom,
    isPending: asked.isPending,
    exemption: asked.exemption,
    searchedUpTo: isNamed ? ALL_REVISIONS : null,
  }
}

function limitCommand(fact: Extract<LedgerEvent, { type: "LimitSet" }>): LedgerCommand {
  // Field by field: whatever stands in the command beside them would become part of the fact.
  const { holder, holderId, class: limited, period, amountMicros, remindersMicros } = fact
  const { leaveKeysOut } = fact
  const limit = { holder, holderId, class: limited, period, amountMicros, remindersMicros }
  return { type: "SetLimit", ...limit, leaveKeysOut }
}

function refundCommandOf(
  fact: ChargeReduced,
  state: LedgerState,
  leftOf: RefundableAmountOf,
): LedgerCommand {
  const { chargeId, amountMicros, reason } = fact
  const open = state.pendingCharges.get(chargeId)
  if (open !== undefined) {
    const part = amountMicros === open.amountMicros ? null : amountMicros
    return { type: "RefundPendingCharge", chargeId, amountMicros: part, reason }
  }
  const { via, keyId, personId, class: charging, item, resource, countedAt } = fact
  const spent = { via, keyId, personId, class: charging, item, resource }
  return {
    type: "RefundSettledCharge",
    charge: { chargeId, amountMicros, countedAt, ...spent },
    refundableMicros: leftOf(chargeId, countedAt),
    amountMicros,
    reason,
    searchedUpTo: ALL_REVISIONS,
  }
}

/** What is decided of a refused charge on the state that it was refused by. */
export function replayRefusedCharge(state: LedgerState, refused: ChargeRefused) {
  const { at } = refused
  return withBufferedCalls(state, refused, () =>
    ledgerDecider.decide(chargeCommandOf(refused), state, { at }),
  )
}

/**
 * Does something with a state in which the calls weigh that a no was decided with: they were served
 * and not recorded yet, so no fact has them and the evidence names them.
 */
export function withBufferedCalls<T>(state: LedgerState, refused: ChargeRefused, work: () => T): T {
  const { counters } = state
  const weights = new Map<number, Micros>()
  for (const tally of countersOfScope(counters, COMPANY_GENERAL)) {
    weights.set(tally, refused.unrecordedMicros)
  }
  for (const limit of refused.limits) {
    for (const tally of countersOfScope(counters, limit)) {
      if (state.limitBook.limits.has(tally)) weights.set(tally, limit.unrecordedMicros)
    }
  }
  const day = dayStart(refused.at)
  for (const [tally, micros] of weights) if (micros > 0) addBuffered(counters, tally, micros, day)
  try {
    return work()
  } finally {
    clearBuffered(counters)
  }
}
