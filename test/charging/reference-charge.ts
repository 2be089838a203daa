/** How the plain ledger decides charges and what comes back of them. */
import type {
  Charge,
  EndedCharge,
  GiveBack,
  GiveBackEnded,
  LedgerRefused,
} from "../../domain/charging/ledger-commands.ts"
import type {
  ChargeReduced,
  ChargeRefusalCode,
  ChargeRefused,
  Charged,
  LedgerEvent,
} from "../../domain/charging/ledger-formats.ts"
import type { Stamp } from "../../domain/kernel/decider.ts"
import type { Facts, Known, Rules } from "./plain-facts.ts"
import {
  applyingTo,
  creditLineIn,
  fundsIn,
  hasRoom,
  isLast,
  lastCharge,
  openIn,
  startOf,
  termsIn,
} from "./plain-facts.ts"
import { knownOf, mayBeUsedSince } from "./plain-names.ts"
import { remindersAfter } from "./plain-reminders.ts"

/** What a ledger answers: facts, or a no of some kind. */
type Said<R> = readonly LedgerEvent[] | R

const MAX_OPEN = 10_000

/** A refusal of a command that is no charge; its sentence is the real ledger's affair. */
export function refused(at: number, code: LedgerRefused["code"]): LedgerRefused {
  return { type: "LedgerRefused", at, code, message: "" }
}

/** What the facts say to a charge. */
export function referenceCharge(
  known: Known,
  command: Charge & Stamp,
  rules: Rules,
): Said<ChargeRefused | LedgerRefused> {
  const { facts } = known
  const { type: _type, headHash: _headHash, searchedTo, ...request } = command
  const { at, chargeId, quantity, unitPriceMicros, amountMicros } = request
  if (openIn(facts).includes(chargeId)) return []
  const isWhole = Number.isInteger(quantity) && quantity >= 0 && amountMicros >= 0
  if (!isWhole || quantity * unitPriceMicros !== amountMicros) return refused(at, "bad_amount")
  const name = searchedTo === null ? "new" : knownOf(facts, `charge ${chargeId}`, searchedTo)
  if (name === "used") return []
  if (name === "unsure") return refused(at, "search_again")
  const code = chargeFaultIn(known, command, rules)
  if (code !== null) return chargeRefused(known, command, code, rules)
  const once = searchedTo !== null
  const charged: Charged = {
    type: "Charged",
    ...request,
    isExternalId: once,
    isAlreadyCounted: false,
  }
  return [charged, ...remindersAfter(known, charged, rules)]
}

/** The first rule that stands against a charge; null for none. */
function chargeFaultIn(
  known: Known,
  charge: Charge & Stamp,
  rules: Rules,
): ChargeRefusalCode | null {
  const { facts } = known
  const { at, amountMicros, exemption, isPending } = charge
  if (isLast(facts, "LedgerClosed", "LedgerReopened")) return "ledger_closed"
  if (isLast(facts, "AccountLocked", "AccountUnlocked")) return "account_locked"
  const limits = applyingTo(known, charge, at, amountMicros, rules)
  if (!limits.every(hasRoom)) return "spend_limit_reached"
  const isOnce = exemption === "funds_while_above_zero" && fundsIn(facts) > 0
  const mayGoBelow = exemption === "funds" || isOnce || amountMicros === 0
  if (!mayGoBelow && fundsIn(facts) + creditLineIn(facts) < amountMicros) return "payment_required"
  return isPending && openIn(facts).length >= MAX_OPEN ? "too_many_open_charges" : null
}

function chargeRefused(
  known: Known,
  command: Charge & Stamp,
  code: ChargeRefusalCode,
  rules: Rules,
): ChargeRefused {
  const { facts, gathered } = known
  const { type: _type, searchedTo: _searchedTo, headHash: _headHash, ...request } = command
  const { at, amountMicros } = command
  const limits = applyingTo(known, command, at, amountMicros, rules)
  const pending = gathered.filter(({ day }) => day === startOf("day", at, rules))
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

/** What the facts say to the end of an open charge. */
export function referenceGiveBack(
  facts: Facts,
  { at, chargeId, amountMicros, reason }: GiveBack & Stamp,
): Said<LedgerRefused> {
  const charged = lastCharge(facts, chargeId)
  if (charged === undefined || !openIn(facts).includes(chargeId)) return []
  const { via, keyId, personId, class: charging, item, resource } = charged
  const spent = { via, keyId, personId, class: charging, item, resource }
  const charge = { ...spent, chargeId, amountMicros: charged.amountMicros, countedAt: charged.at }
  return givenBack(at, charge, amountMicros, reason)
}

/** What the facts say to an operator who gives a charge back. */
export function referenceGiveBackEnded(
  facts: Facts,
  command: GiveBackEnded & Stamp,
): Said<LedgerRefused> {
  const { at, charge, leftMicros, amountMicros, reason, searchedTo } = command
  const { chargeId } = charge
  if (openIn(facts).includes(chargeId)) {
    return referenceGiveBack(facts, { type: "GiveBack", at, chargeId, amountMicros, reason })
  }
  if (mayBeUsedSince(facts, `back ${chargeId}`, searchedTo)) return refused(at, "search_again")
  const left = Math.max(0, Math.min(leftMicros, charge.amountMicros))
  if (left === 0 && amountMicros === null) return []
  return givenBack(at, { ...charge, amountMicros: left }, amountMicros, reason)
}

function givenBack(
  at: number,
  charge: EndedCharge,
  part: number | null,
  reason: string,
): readonly [ChargeReduced] | LedgerRefused {
  if (part !== null && (part <= 0 || part > charge.amountMicros)) return refused(at, "bad_amount")
  const amountMicros = part ?? charge.amountMicros
  return [{ type: "ChargeReduced", at, ...charge, amountMicros, reason }]
}
