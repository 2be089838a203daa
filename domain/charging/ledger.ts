/**
 * The ledger of a company: every charge is decided here, against the funds and against each limit
 * that applies, and the yes is the reservation (decisions.md §4).
 *
 * Stream `ledger-<companyId>`. It grows with every charge and is never cut: a checkpoint bounds the
 * time to load it. The state is bounded by the company's people, keys, open charges and purchases.
 *
 * The law: no charge was ever accepted at a revision where it did not fit the funds and every limit
 * then in force. A charge with `exemption: "funds"` is not asked for funds and says so in its fact; one
 * that is `isAlreadyCounted` was held against the limits when its calls were counted.
 *
 * Facts `ledger-formats.ts`, commands `ledger-commands.ts`, state `ledger-state.ts`. The rules that
 * have a name of their own have a file of their own: `charge.ts`, `limit-book.ts`, `calls.ts`,
 * `purchases.ts`, `months.ts`, `postings.ts`, `recent.ts`.
 */
import type { Decider, Stamp } from "../kernel/decider.ts"
import { isRefusal, unreachable } from "../kernel/decider.ts"
import type { ChargeId } from "../kernel/ids.ts"
import type { Micros } from "../kernel/money.ts"
import { isMicros } from "../kernel/money.ts"
import { monthStart } from "../kernel/window.ts"
import { markCharged } from "./calls.ts"
import { chargeName, decideCharge, searchAgain, spenderOf } from "./charge.ts"
import { decideDeletion } from "./deletion.ts"
import type {
  AddFunds,
  ChangeTerms,
  CloseCharges,
  CorrectFunds,
  EndedCharge,
  FailPurchase,
  GiveBack,
  GiveBackEnded,
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
import type { ChargeReduced, Charged, LedgerEvent, LedgerFact } from "./ledger-formats.ts"
import type { Ledger } from "./ledger-state.ts"
import { initialLedger } from "./ledger-state.ts"
import { dropLimit, findLimit, markReached, placeLimit, renewReminders } from "./limit-book.ts"
import { limitFault, sameLimit } from "./limits.ts"
import { setFundsNotice, withLowFunds } from "./postings.ts"
import type { MonthSum } from "./months.ts"
import { closings, holds, newMonth } from "./months.ts"
import { evolvePurchases, purchaseFault, takenIn } from "./purchases.ts"
import { mayBeUsedSince, remember } from "./recent.ts"
import { chargeCalls, evolveCounted, recordCalls } from "./served-calls.ts"
import { addToTally, addToTallySince, moveWindows } from "./sums.ts"
import { touchedTallies } from "./tallies.ts"

/** The rules of the ledger. */
export const ledger: Decider<LedgerCommand, Ledger, LedgerEvent, LedgerRefusal> = {
  initial: initialLedger,
  decide,
  evolve,
}

/** What the runner chains the first fact of a stream to. */
const NO_HASH = "0".repeat(64)

type Decision = readonly LedgerEvent[] | LedgerRefusal

/**
 * The closings of the months that are over lead whatever a command records, and the notice of low
 * funds follows what lowers them.
 */
function decide(command: LedgerCommand, state: Ledger, { at, headHash }: Stamp): Decision {
  const decided = decideInMonth(command, state, at)
  if (isRefusal(decided)) return decided
  const facts = withLowFunds(decided, state)
  const { month } = state
  if (month === null || at < month.end) return facts
  if (facts.length === 0 && command.type !== "CloseMonth") return facts
  const head = { headRevision: state.facts - 1, headHash: headHash ?? NO_HASH }
  return [...closings(month, at, state.fundsMicros, head), ...facts]
}

function decideInMonth(command: LedgerCommand, state: Ledger, at: number): Decision {
  switch (command.type) {
    case "Charge":
      return decideCharge(command, state, at)
    case "CloseCharges":
      return closeCharges(command, state, at)
    case "GiveBack":
      return giveBack(command, state, at)
    case "GiveBackEnded":
      return giveBackEnded(command, state, at)
    case "RecordCalls":
      return recordCalls(command, state, at)
    case "ChargeCalls":
      return chargeCalls(command, state, at)
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
    case "BeginErasure":
      return decideDeletion(command, state, at)
    case "OpenLedger":
      return openLedger(command, state, at)
    case "ChangeTerms":
    case "AddFunds":
    case "SetLimit":
    case "RemoveLimit":
    case "SetPurchaseTerms":
    case "SetFundsNotice":
      if (state.closedAt !== null) return refuse(at, "ledger_closed", "This company was deleted.")
      return arrange(command, state, at)
    default:
      return unreachable(command)
  }
}

/** What people arrange for a company that is not deleted. */
function arrange(
  command: Extract<
    LedgerCommand,
    {
      type:
        | "ChangeTerms"
        | "AddFunds"
        | "SetLimit"
        | "RemoveLimit"
        | "SetPurchaseTerms"
        | "SetFundsNotice"
    }
  >,
  state: Ledger,
  at: number,
): Decision {
  switch (command.type) {
    case "ChangeTerms":
      return changeTerms(command, state, at)
    case "AddFunds":
      return addFunds(command, state, at)
    case "SetLimit":
      return setLimit(command, state, at)
    case "RemoveLimit": {
      const { holder, holderId, class: limited } = command
      if (findLimit(state.book, state.tallies, command) === null) {
        return refuse(at, "no_such_limit", "There is no such limit.")
      }
      return [{ type: "LimitRemoved", at, holder, holderId, class: limited }]
    }
    case "SetPurchaseTerms":
      return setPurchaseTerms(command, state, at)
    case "SetFundsNotice":
      return setFundsNotice(command, state, at)
    default:
      return unreachable(command)
  }
}

function evolve(state: Ledger, event: LedgerEvent): Ledger {
  state.facts += 1
  if (moveWindows(state.tallies, event.at)) renewReminders(state.book, state.tallies)
  switch (event.type) {
    case "Charged":
      return evolveCharged(state, event)
    case "ChargesSettled":
      return evolveClosed(state, event)
    case "ChargeReduced":
      return evolveGivenBack(state, event)
    case "ApiCallsCounted":
      evolveCounted(state, event)
      return state
    case "ReminderReached":
      markReached(state.book, state.tallies, event)
      return state
    case "MonthClosed":
      state.month = newMonth(state.month?.end ?? event.at, event.fundsMicros)
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
      placeLimit(state.book, state.tallies, limit)
      return state
    }
    case "LimitRemoved":
      dropLimit(state.book, state.tallies, event)
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
      state.month = newMonth(event.at, state.fundsMicros)
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

function openLedger(command: OpenLedger, state: Ledger, at: number): Decision {
  if (state.opened) return []
  const { prepaidOnly, creditLineMicros } = command
  const fault = creditFault(command, at)
  return fault ?? [{ type: "LedgerOpened", at, prepaidOnly, creditLineMicros }]
}

function changeTerms(command: ChangeTerms, state: Ledger, at: number): Decision {
  const { prepaidOnly, creditLineMicros } = command
  const fault = creditFault(command, at)
  if (fault !== null) return fault
  const isSame = prepaidOnly === state.prepaidOnly && creditLineMicros === state.creditLineMicros
  return isSame ? [] : [{ type: "TermsChanged", at, prepaidOnly, creditLineMicros }]
}

function creditFault(
  { creditLineMicros }: OpenLedger | ChangeTerms,
  at: number,
): LedgerRefused | null {
  if (creditLineMicros >= 0 && isMicros(creditLineMicros)) return null
  const message = "A credit line is 0 or more, at most nine thousand million dollars."
  return refuse(at, "bad_amount", message)
}

function addFunds(command: AddFunds, state: Ledger, at: number): Decision {
  const { amountMicros, reference } = command
  if (reference !== null && state.references.has(reference)) return []
  const isAmount = amountMicros > 0 && isMicros(amountMicros)
  if (
    !isAmount ||
    !mayRise(state, amountMicros) ||
    !holds(state.month, "addedMicros", amountMicros, at)
  ) {
    const message = "Funds are more than 0, and at most nine thousand million dollars in all."
    return refuse(at, "bad_amount", message)
  }
  return [{ type: "FundsAdded", at, amountMicros, reference }]
}

function correctFunds(command: CorrectFunds, state: Ledger, at: number): Decision {
  const { amountMicros, reason } = command
  const isAmount = amountMicros !== 0 && isMicros(amountMicros)
  const isExact = mayRise(state, amountMicros) && isMicros(state.fundsMicros + amountMicros)
  if (!isAmount || !isExact || !holds(state.month, "correctedMicros", amountMicros, at)) {
    const message =
      "A correction is not 0, and leaves the funds within nine thousand million dollars."
    return refuse(at, "bad_amount", message)
  }
  return [{ type: "FundsCorrected", at, amountMicros, reason }]
}

/** Whether the funds stay exact with this added, and with all that may come back or be paid. */
function mayRise(state: Ledger, amountMicros: Micros): boolean {
  const { fundsMicros, openMicros, purchases } = state
  return isMicros(fundsMicros + openMicros + purchases.pendingMicros + amountMicros)
}

function setLimit(command: SetLimit, state: Ledger, at: number): Decision {
  const { type: _type, ...limit } = command
  const message = limitFault(limit)
  if (message !== null) return refuse(at, "bad_limit", message)
  const former = findLimit(state.book, state.tallies, limit)
  if (former !== null && sameLimit(former, limit)) return []
  return [{ type: "LimitSet", at, ...limit }]
}

function closeCharges(command: CloseCharges, state: Ledger, at: number): Decision {
  const chargeIds: ChargeId[] = []
  for (const id of new Set(command.chargeIds)) if (state.open.has(id)) chargeIds.push(id)
  return chargeIds.length === 0 ? [] : [{ type: "ChargesSettled", at, chargeIds }]
}

function giveBack(command: GiveBack, state: Ledger, at: number): Decision {
  const { chargeId, reason } = command
  const open = state.open.get(chargeId)
  if (open === undefined) return []
  const { via, keyId, personId, class: charging, item, resource, amountMicros } = open
  const spent = { via, keyId, personId, class: charging, item, resource }
  const charge: EndedCharge = { ...spent, chargeId, amountMicros, countedAt: open.at }
  return givenBack(at, charge, command.amountMicros, reason)
}

function giveBackEnded(command: GiveBackEnded, state: Ledger, at: number): Decision {
  const { charge, leftMicros, amountMicros, reason, searchedTo } = command
  const { chargeId } = charge
  if (state.open.has(chargeId)) {
    return giveBack({ type: "GiveBack", chargeId, amountMicros, reason }, state, at)
  }
  if (mayBeUsedSince(state.recent, backName(chargeId), searchedTo)) return searchAgain(at)
  const left = {
    ...charge,
    amountMicros: Math.max(0, Math.min(leftMicros, charge.amountMicros)),
  }
  const asked = amountMicros ?? left.amountMicros
  const backMicros = state.openMicros + asked
  if (!mayRise(state, asked) || !holds(state.month, "reducedMicros", backMicros, at)) {
    return refuse(at, "bad_amount", "The funds would pass nine thousand million dollars.")
  }
  // Nothing is left of a charge of nothing, or of one that was refunded whole.
  if (amountMicros === null && asked === 0) return []
  return givenBack(at, left, amountMicros, reason)
}

/** The name under which the refunds of a charge are remembered. */
function backName(chargeId: string): string {
  return `back ${chargeId}`
}

/** @param charge with the amount that may still be refunded */
function givenBack(
  at: number,
  charge: EndedCharge,
  part: Micros | null,
  reason: string,
): readonly [ChargeReduced] | LedgerRefused {
  const isPart = part !== null && part > 0 && part <= charge.amountMicros && isMicros(part)
  if (part !== null && !isPart) {
    const message = "A refund is more than 0 and at most what is left of the charge."
    return refuse(at, "bad_amount", message)
  }
  const amountMicros = part ?? charge.amountMicros
  return [{ type: "ChargeReduced", at, ...charge, amountMicros, reason }]
}

function startPurchase(command: StartPurchase, state: Ledger, at: number): Decision {
  const { purchaseId, keyId, personId, amountMicros } = command
  const { purchases } = state
  if (purchases.pending.has(purchaseId) || purchases.ended.has(purchaseId)) return []
  const month = monthStart(at)
  const isExact =
    mayRise(state, amountMicros) && holds(state.month, "purchasedMicros", amountMicros, at)
  const beyond = isExact ? null : "bad_amount"
  const code =
    state.closedAt !== null ? "ledger_closed" : (beyond ?? purchaseFault(purchases, command, month))
  if (code === null)
    return [{ type: "PurchaseStarted", at, purchaseId, keyId, personId, amountMicros }]
  const { paidMicros, pendingMicros } = takenIn(purchases, keyId, month)
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

function orderPurchase(command: OrderPurchase, state: Ledger, at: number): Decision {
  const { purchaseId, paymentId } = command
  const pending = state.purchases.pending.get(purchaseId)
  // One purchase is one payment: the first name that is heard of it stands.
  if (pending === undefined || pending.paymentId !== null) return []
  return [{ type: "PurchaseOrdered", at, purchaseId, paymentId }]
}

function settlePurchase(command: PayPurchase | FailPurchase, state: Ledger, at: number): Decision {
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

function setPurchaseTerms(command: SetPurchaseTerms, state: Ledger, at: number): Decision {
  const { keyId, mode, perPurchaseMicros, perMonthMicros } = command
  const isAmount = (amount: Micros) => amount >= 0 && isMicros(amount)
  if (!isAmount(perPurchaseMicros) || !isAmount(perMonthMicros)) {
    return refuse(at, "bad_amount", "A purchase limit is 0 or more.")
  }
  const former = state.purchases.terms.get(keyId)
  const isSame =
    former?.mode === mode &&
    former.perPurchaseMicros === perPurchaseMicros &&
    former.perMonthMicros === perMonthMicros
  if (isSame) return []
  return [{ type: "PurchaseTermsSet", at, keyId, mode, perPurchaseMicros, perMonthMicros }]
}

function evolveTerms(state: Ledger, event: LedgerFact<"LedgerOpened" | "TermsChanged">): Ledger {
  state.prepaidOnly = event.prepaidOnly
  state.creditLineMicros = event.creditLineMicros
  return state
}

function moveFunds(state: Ledger, amountMicros: Micros, sum: MonthSum): Ledger {
  state.fundsMicros += amountMicros
  if (state.month !== null) state.month[sum] += amountMicros
  return state
}

function evolveCharged(state: Ledger, event: Charged): Ledger {
  const { amountMicros, chargeId } = event
  state.fundsMicros -= amountMicros
  if (state.month !== null) {
    state.month.chargedMicros += amountMicros
    state.month.charges += 1
  }
  if (event.isAlreadyCounted) {
    markCharged(state.calls, event)
    return state
  }
  for (const tally of touchedTallies(state.tallies, spenderOf(event), event.class)) {
    addToTally(state.tallies, tally, amountMicros)
  }
  if (event.isPending) {
    // The fact itself is kept: it has all that its end needs, and nothing is copied.
    state.open.set(chargeId, event)
    state.openMicros += amountMicros
  }
  if (event.isExternalId) remember(state.recent, chargeName(chargeId), state.facts - 1)
  return state
}

function evolveClosed(state: Ledger, event: LedgerFact<"ChargesSettled">): Ledger {
  for (const id of event.chargeIds) {
    state.openMicros -= state.open.get(id)?.amountMicros ?? 0
    state.open.delete(id)
  }
  return state
}

function evolveGivenBack(state: Ledger, event: ChargeReduced): Ledger {
  const { chargeId, amountMicros, countedAt } = event
  const open = state.open.get(chargeId)
  if (open !== undefined) {
    state.openMicros -= open.amountMicros
    state.open.delete(chargeId)
  }
  // Also what its work gave back: an operator may have looked it up while it was open.
  remember(state.recent, backName(chargeId), state.facts - 1)
  for (const tally of touchedTallies(state.tallies, spenderOf(event), event.class)) {
    addToTallySince(state.tallies, tally, -amountMicros, countedAt)
  }
  return moveFunds(state, amountMicros, "reducedMicros")
}
