/** How the reference ledger decides commands about purchases. */
import type {
  FailPurchase,
  OrderPurchase,
  PayPurchase,
  PurchaseRefused,
  StartPurchase,
} from "../../domain/charging/ledger-commands.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { DecisionStamp } from "../../domain/kernel/decider.ts"
import type { LedgerFacts } from "./reference-views.ts"
import {
  endOfPurchase,
  paymentOfPurchase,
  purchaseRefusalIn,
  purchaseTermsIn,
  startOfPurchase,
  allowanceUsedBy,
} from "./reference-purchase-views.ts"

/** Decides a command about a purchase from the facts. */
export function referencePurchase(
  facts: LedgerFacts,
  command: (StartPurchase | OrderPurchase | PayPurchase | FailPurchase) & DecisionStamp,
): readonly LedgerEvent[] | PurchaseRefused {
  const { at, purchaseId } = command
  const begun = startOfPurchase(facts, purchaseId)
  if (command.type === "StartPurchase") {
    return begun === undefined ? startPurchase(facts, command) : []
  }
  if (begun === undefined || endOfPurchase(facts, purchaseId) !== undefined) return []
  const named = paymentOfPurchase(facts, purchaseId)
  const { keyId, personId, amountMicros, at: startedAt } = begun
  const purchase = { at, purchaseId, keyId, personId, amountMicros, startedAt }
  switch (command.type) {
    case "OrderPurchase": {
      const { paymentId } = command
      return named === null ? [{ type: "PurchaseOrdered", at, purchaseId, paymentId }] : []
    }
    case "PayPurchase":
      return [{ type: "PurchasePaid", ...purchase, paymentId: command.paymentId }]
    case "FailPurchase": {
      const { code, paymentId } = command
      return [{ type: "PurchaseFailed", ...purchase, code, paymentId: paymentId ?? named }]
    }
  }
}

function startPurchase(
  facts: LedgerFacts,
  command: StartPurchase & DecisionStamp,
): readonly LedgerEvent[] | PurchaseRefused {
  const { at, purchaseId, keyId, personId, amountMicros } = command
  const code = purchaseRefusalIn(facts, command, at)
  if (code === null) {
    return [{ type: "PurchaseStarted", at, purchaseId, keyId, personId, amountMicros }]
  }
  const evidence = {
    terms: purchaseTermsIn(facts, keyId),
    takenMicros: allowanceUsedBy(facts, keyId, at),
  }
  return { type: "PurchaseRefused", at, code, purchaseId, keyId, amountMicros, ...evidence }
}
