/** How the reference ledger decides charges and refunds. */
import type {
  ChargeCommand,
  ChargeToRefund,
  RefundPendingCharge,
  RefundSettledCharge,
  LedgerRefused,
} from "../../domain/charging/ledger-commands.ts"
import type {
  ChargeReduced,
  ChargeRefusalCode,
  ChargeRefused,
  Charged,
  LedgerEvent,
} from "../../domain/charging/ledger-events.ts"
import type { DecisionStamp } from "../../domain/kernel/decider.ts"
import type { LedgerFacts, ProcessKnowledge, ReferenceRules } from "./reference-views.ts"
import {
  limitReadingsFor,
  creditLineIn,
  fundsIn,
  hasRoom,
  isSwitchedOn,
  lastChargeOf,
  pendingChargesIn,
  windowStartOf,
  termsIn,
} from "./reference-views.ts"
import { nameStatusIn, isNamePossiblyUsedSince } from "./reference-names.ts"
import { remindersAfter } from "./reference-reminders.ts"

/** A decision: facts, or a refusal. */
type ReferenceDecision<R> = readonly LedgerEvent[] | R

const MAX_PENDING = 10_000

/** A refusal of a command other than a charge; only the real ledger writes its message. */
export function ledgerRefused(at: number, code: LedgerRefused["code"]): LedgerRefused {
  return { type: "LedgerRefused", at, code, message: "" }
}

/** Decides a charge from the facts. */
export function referenceCharge(
  known: ProcessKnowledge,
  command: ChargeCommand & DecisionStamp,
  rules: ReferenceRules,
): ReferenceDecision<ChargeRefused | LedgerRefused> {
  const { facts } = known
  const { type: _type, headHash: _headHash, searchedUpTo, ...request } = command
  const { at, chargeId, quantity, unitPriceMicros, amountMicros } = request
  if (pendingChargesIn(facts).includes(chargeId)) return []
  const isWhole = Number.isInteger(quantity) && quantity >= 0 && amountMicros >= 0
  if (!isWhole || quantity * unitPriceMicros !== amountMicros)
    return ledgerRefused(at, "bad_amount")
  const name =
    searchedUpTo === null ? "new" : nameStatusIn(facts, `charge ${chargeId}`, searchedUpTo)
  if (name === "used") return []
  if (name === "unsure") return ledgerRefused(at, "search_again")
  const code = chargeFaultIn(known, command, rules)
  if (code !== null) return chargeRefused(known, command, code, rules)
  const once = searchedUpTo !== null
  const charged: Charged = {
    type: "Charged",
    ...request,
    isExternalId: once,
    isAlreadyCounted: false,
  }
  return [charged, ...remindersAfter(known, charged, rules)]
}

/** The first rule that rejects a charge; null if none does. */
function chargeFaultIn(
  known: ProcessKnowledge,
  charge: ChargeCommand & DecisionStamp,
  rules: ReferenceRules,
): ChargeRefusalCode | null {
  const { facts } = known
  const { at, amountMicros, exemption, isPending } = charge
  if (isSwitchedOn(facts, "LedgerClosed", "LedgerReopened")) return "ledger_closed"
  if (isSwitchedOn(facts, "AccountLocked", "AccountUnlocked")) return "account_locked"
  const limits = limitReadingsFor(known, charge, at, amountMicros, rules)
  if (!limits.every(hasRoom)) return "spend_limit_reached"
  const isOnce = exemption === "funds_while_above_zero" && fundsIn(facts) > 0
  const mayGoBelow = exemption === "funds" || isOnce || amountMicros === 0
  if (!mayGoBelow && fundsIn(facts) + creditLineIn(facts) < amountMicros) return "payment_required"
  return isPending && pendingChargesIn(facts).length >= MAX_PENDING ? "too_many_open_charges" : null
}

function chargeRefused(
  known: ProcessKnowledge,
  command: ChargeCommand & DecisionStamp,
  code: ChargeRefusalCode,
  rules: ReferenceRules,
): ChargeRefused {
  const { facts, buffered } = known
  const { type: _type, searchedUpTo: _searchedTo, headHash: _headHash, ...request } = command
  const { at, amountMicros } = command
  const limits = limitReadingsFor(known, command, at, amountMicros, rules)
  const pending = buffered.filter(({ day }) => day === windowStartOf("day", at, rules))
  return {
    type: "ChargeRefused",
    ...request,
    code,
    ledgerRevision: facts.length - 1,
    fundsMicros: fundsIn(facts),
    creditLineMicros: creditLineIn(facts),
    prepaidOnly: termsIn(facts).prepaidOnly,
    unrecordedMicros: pending.reduce((sum, { unitPriceMicros }) => sum + unitPriceMicros, 0),
    limits,
    refusingLimit: code === "spend_limit_reached" ? limits.findIndex((one) => !hasRoom(one)) : null,
  }
}

/** Decides the refund of a pending charge from the facts. */
export function referenceRefund(
  facts: LedgerFacts,
  { at, chargeId, amountMicros, reason }: RefundPendingCharge & DecisionStamp,
): ReferenceDecision<LedgerRefused> {
  const charged = lastChargeOf(facts, chargeId)
  if (charged === undefined || !pendingChargesIn(facts).includes(chargeId)) return []
  const { via, keyId, personId, class: charging, item, resource } = charged
  const spent = { via, keyId, personId, class: charging, item, resource }
  const charge = { ...spent, chargeId, amountMicros: charged.amountMicros, countedAt: charged.at }
  return refundFacts(at, charge, amountMicros, reason)
}

/** Decides an operator's refund of a settled charge from the facts. */
export function referenceOperatorRefund(
  facts: LedgerFacts,
  command: RefundSettledCharge & DecisionStamp,
): ReferenceDecision<LedgerRefused> {
  const { at, charge, refundableMicros, amountMicros, reason, searchedUpTo } = command
  const { chargeId } = charge
  if (pendingChargesIn(facts).includes(chargeId)) {
    return referenceRefund(facts, {
      type: "RefundPendingCharge",
      at,
      chargeId,
      amountMicros,
      reason,
    })
  }
  if (isNamePossiblyUsedSince(facts, `back ${chargeId}`, searchedUpTo))
    return ledgerRefused(at, "search_again")
  const left = Math.max(0, Math.min(refundableMicros, charge.amountMicros))
  if (left === 0 && amountMicros === null) return []
  return refundFacts(at, { ...charge, amountMicros: left }, amountMicros, reason)
}

function refundFacts(
  at: number,
  charge: ChargeToRefund,
  part: number | null,
  reason: string,
): readonly [ChargeReduced] | LedgerRefused {
  if (part !== null && (part <= 0 || part > charge.amountMicros))
    return ledgerRefused(at, "bad_amount")
  const amountMicros = part ?? charge.amountMicros
  return [{ type: "ChargeReduced", at, ...charge, amountMicros, reason }]
}
