/** What the reference ledger answers to what is asked about purchases. */
import type {
  FailPurchase,
  OrderPurchase,
  PayPurchase,
  PurchaseRefused,
  StartPurchase,
} from "../../domain/charging/ledger-commands.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import type { Stamp } from "../../domain/kernel/decider.ts"
import type { Facts } from "./plain-facts.ts"
import {
  endOfPurchase,
  orderOfPurchase,
  purchaseFaultIn,
  purchaseTermsIn,
  startOfPurchase,
  takenOf,
} from "./plain-purchases.ts"

/** What the facts say to a command about a purchase. */
export function referencePurchase(
  facts: Facts,
  command: (StartPurchase | OrderPurchase | PayPurchase | FailPurchase) & Stamp,
): readonly LedgerEvent[] | PurchaseRefused {
  const { at, purchaseId } = command
  const begun = startOfPurchase(facts, purchaseId)
  if (command.type === "StartPurchase") {
    return begun === undefined ? startPurchase(facts, command) : []
  }
  if (begun === undefined || endOfPurchase(facts, purchaseId) !== undefined) return []
  const named = orderOfPurchase(facts, purchaseId)
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
  facts: Facts,
  command: StartPurchase & Stamp,
): readonly LedgerEvent[] | PurchaseRefused {
  const { at, purchaseId, keyId, personId, amountMicros } = command
  const code = purchaseFaultIn(facts, command, at)
  if (code === null) {
    return [{ type: "PurchaseStarted", at, purchaseId, keyId, personId, amountMicros }]
  }
  const evidence = { terms: purchaseTermsIn(facts, keyId), takenMicros: takenOf(facts, keyId, at) }
  return { type: "PurchaseRefused", at, code, purchaseId, keyId, amountMicros, ...evidence }
}
