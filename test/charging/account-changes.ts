/** Turns intentions that change an account into commands, with their amounts. */
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import { MAX_MICROS } from "../../domain/kernel/money.ts"
import type { KeyId } from "../../domain/kernel/ids.ts"
import type { LedgerFacts } from "./reference-views.ts"
import { fundsIn } from "./reference-views.ts"
import { purchaseTermsIn, allowanceUsedBy } from "./reference-purchase-views.ts"
import type { AccountChange, CentsChoice, DecisionMoment } from "./history.ts"

const CENT = 10_000

/** The command of an intention that changes the account. */
export function accountChangeCommand(
  facts: LedgerFacts,
  change: AccountChange,
  { at, unitMicros }: DecisionMoment,
): LedgerCommand {
  switch (change.do) {
    case "funds":
      return {
        type: "AddFunds",
        amountMicros: change.micros * unitMicros,
        reference: change.reference,
      }
    case "correct": {
      const amountMicros =
        "by" in change ? change.by * unitMicros : change.to * unitMicros - fundsIn(facts)
      return { type: "CorrectFunds", amountMicros, reason: "a reason" }
    }
    case "top": {
      const amountMicros = MAX_MICROS - change.lessMicros - fundsIn(facts)
      return { type: "CorrectFunds", amountMicros, reason: "a reason" }
    }
    case "notice":
      return {
        type: "SetLowFundsAlert",
        belowMicros: lowFundsLimitOf(facts, change.below, unitMicros),
      }
    case "open":
    case "terms": {
      const { prepaidOnly, creditMicros: creditLineMicros } = change
      const type = change.do === "open" ? "OpenLedger" : "ChangeCreditTerms"
      return { type, prepaidOnly, creditLineMicros }
    }
    case "purchase terms": {
      const { do: _do, ...terms } = change
      return { type: "SetPurchaseTerms", ...terms }
    }
    case "buy": {
      const { purchaseId, keyId } = change
      const amountMicros = centsOf(facts, keyId, change.cents, at) * CENT + change.odd
      const personId = keyId === null ? "per_a" : null
      return { type: "StartPurchase", purchaseId, keyId, personId, amountMicros }
    }
    case "pay":
      return { type: "PayPurchase", purchaseId: change.purchaseId, paymentId: "pi_1" }
    case "order":
      return { type: "OrderPurchase", purchaseId: change.purchaseId, paymentId: "pi_1" }
    case "decline":
      return {
        type: "FailPurchase",
        purchaseId: change.purchaseId,
        code: "declined",
        paymentId: null,
      }
    default:
      return { type: SWITCHES[change.do] }
  }
}

const SWITCHES = {
  lock: "LockAccount",
  unlock: "UnlockAccount",
  shut: "CloseLedger",
  reopen: "ReopenLedger",
  erase: "StartErasure",
  "close month": "CloseMonth",
} as const

function lowFundsLimitOf(
  facts: LedgerFacts,
  below: Extract<AccountChange, { do: "notice" }>["below"],
  unitMicros: number,
): number | null {
  if (below === null) return null
  return "micros" in below ? below.micros * unitMicros : fundsIn(facts) + below.off
}

function centsOf(facts: LedgerFacts, keyId: KeyId | null, choice: CentsChoice, at: number): number {
  if ("cents" in choice) return choice.cents
  const terms = purchaseTermsIn(facts, keyId)
  if (terms === null) return 500
  const left =
    choice.left === "purchase"
      ? terms.perPurchaseMicros
      : terms.perMonthMicros - allowanceUsedBy(facts, keyId, at)
  return Math.floor(left / CENT) + choice.off
}
