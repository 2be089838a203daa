/**
 * Asking again: the command that a stored fact, or a stored no, must have come from. An auditor gives
 * it to the decider on the state before it and compares what comes out, field for field.
 */
import { unreachable } from "../kernel/decider.ts"
import type { ChargeId } from "../kernel/ids.ts"
import type { Micros } from "../kernel/money.ts"
import { dayStart } from "../kernel/window.ts"
import type { Charge, LedgerCommand } from "./ledger-commands.ts"
import type { ChargeReduced, ChargeRefused, Charged, LedgerEvent } from "./ledger-formats.ts"
import type { Ledger } from "./ledger-state.ts"
import { ledger } from "./ledger.ts"
import type { LimitName } from "./limits.ts"
import { addPending, clearPending } from "./sums.ts"
import { talliesNamed } from "./tallies.ts"

/** Every revision there can be: whoever was stored was not found before. */
const SEARCHED_ALL = Number.MAX_SAFE_INTEGER
const COMPANY_GENERAL: LimitName = { holder: "company", holderId: null, class: "general" }

/** What is left of a charge after the refunds before, in micros: it is in no state. */
export type LeftOf = (chargeId: ChargeId, countedAt: number) => Micros

/**
 * The command whose first fact this is, or whose only one, on the state before it; null for a fact
 * that only ever follows another.
 */
export function commandOfFact(
  fact: LedgerEvent,
  state: Ledger,
  leftOf: LeftOf,
): LedgerCommand | null {
  switch (fact.type) {
    case "Charged":
      // One night's charge at a time: the next is the first of those that are left.
      return fact.isAlreadyCounted ? { type: "ChargeCalls", most: 1 } : commandOfCharge(fact)
    case "ChargeReduced":
      return commandOfGiveBack(fact, state, leftOf)
    case "ReminderReached":
    case "LowFundsReached":
      return null
    case "MonthClosed":
      return { type: "CloseMonth" }
    case "LedgerOpened":
      return { ...fact, type: "OpenLedger" }
    case "TermsChanged":
      return { ...fact, type: "ChangeTerms" }
    case "FundsAdded":
      return { ...fact, type: "AddFunds" }
    case "FundsCorrected":
      return { ...fact, type: "CorrectFunds" }
    case "LowFundsAlertSet":
      return { type: "SetFundsNotice", belowMicros: fact.belowMicros }
    case "LimitSet":
      return limitCommand(fact)
    case "LimitRemoved":
      return { ...fact, type: "RemoveLimit" }
    case "ChargesSettled":
      return { ...fact, type: "CloseCharges" }
    case "ApiCallsCounted":
      return { ...fact, type: "RecordCalls" }
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
      return { type: "BeginErasure" }
    default:
      return unreachable(fact)
  }
}

/** The charge that was asked for, by its fact or by the evidence of its no. */
export function commandOfCharge(asked: Charged | ChargeRefused): Charge {
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
    searchedTo: isNamed ? SEARCHED_ALL : null,
  }
}

function limitCommand(fact: Extract<LedgerEvent, { type: "LimitSet" }>): LedgerCommand {
  // Field by field: whatever stands in the command beside them would become part of the fact.
  const { holder, holderId, class: limited, period, amountMicros, remindersMicros } = fact
  const { leaveKeysOut } = fact
  const limit = { holder, holderId, class: limited, period, amountMicros, remindersMicros }
  return { type: "SetLimit", ...limit, leaveKeysOut }
}

function commandOfGiveBack(fact: ChargeReduced, state: Ledger, leftOf: LeftOf): LedgerCommand {
  const { chargeId, amountMicros, reason } = fact
  const open = state.open.get(chargeId)
  if (open !== undefined) {
    const part = amountMicros === open.amountMicros ? null : amountMicros
    return { type: "GiveBack", chargeId, amountMicros: part, reason }
  }
  const { via, keyId, personId, class: charging, item, resource, countedAt } = fact
  const spent = { via, keyId, personId, class: charging, item, resource }
  return {
    type: "GiveBackEnded",
    charge: { chargeId, amountMicros, countedAt, ...spent },
    leftMicros: leftOf(chargeId, countedAt),
    amountMicros,
    reason,
    searchedTo: SEARCHED_ALL,
  }
}

/** What is decided of a refused charge on the state that it was refused by. */
export function decideAgain(state: Ledger, refused: ChargeRefused) {
  const { at } = refused
  return withPending(state, refused, () => ledger.decide(commandOfCharge(refused), state, { at }))
}

/**
 * Does something with a state in which the calls weigh that a no was decided with: they were served
 * and not recorded yet, so no fact has them and the evidence names them.
 */
export function withPending<T>(state: Ledger, refused: ChargeRefused, work: () => T): T {
  const { tallies } = state
  const weights = new Map<number, Micros>()
  for (const tally of talliesNamed(tallies, COMPANY_GENERAL)) {
    weights.set(tally, refused.unrecordedMicros)
  }
  for (const limit of refused.limits) {
    for (const tally of talliesNamed(tallies, limit)) {
      if (state.book.limits.has(tally)) weights.set(tally, limit.unrecordedMicros)
    }
  }
  const day = dayStart(refused.at)
  for (const [tally, micros] of weights) if (micros > 0) addPending(tallies, tally, micros, day)
  try {
    return work()
  } finally {
    clearPending(tallies)
  }
}
