/** What of the intentions people and operators arrange, and how much they mean. */
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import { MAX_MICROS } from "../../domain/kernel/money.ts"
import type { KeyId } from "../../domain/kernel/ids.ts"
import type { Facts } from "./plain-facts.ts"
import { fundsIn } from "./plain-facts.ts"
import { purchaseTermsIn, takenOf } from "./plain-purchases.ts"
import type { Arrangement, Cents, Moment } from "./turns.ts"

const CENT = 10_000

/** What an intention comes to that arranges something. */
export function arrangement(
  facts: Facts,
  meant: Arrangement,
  { at, unitMicros }: Moment,
): LedgerCommand {
  switch (meant.do) {
    case "funds":
      return {
        type: "AddFunds",
        amountMicros: meant.micros * unitMicros,
        reference: meant.reference,
      }
    case "correct": {
      const amountMicros =
        "by" in meant ? meant.by * unitMicros : meant.to * unitMicros - fundsIn(facts)
      return { type: "CorrectFunds", amountMicros, reason: "a reason" }
    }
    case "top": {
      const amountMicros = MAX_MICROS - meant.lessMicros - fundsIn(facts)
      return { type: "CorrectFunds", amountMicros, reason: "a reason" }
    }
    case "notice":
      return { type: "SetFundsNotice", belowMicros: noticeOf(facts, meant.below, unitMicros) }
    case "open":
    case "terms": {
      const { prepaidOnly, creditMicros: creditLineMicros } = meant
      const type = meant.do === "open" ? "OpenLedger" : "ChangeTerms"
      return { type, prepaidOnly, creditLineMicros }
    }
    case "purchase terms": {
      const { do: _do, ...terms } = meant
      return { type: "SetPurchaseTerms", ...terms }
    }
    case "buy": {
      const { purchaseId, keyId } = meant
      const amountMicros = centsOf(facts, keyId, meant.cents, at) * CENT + meant.odd
      const personId = keyId === null ? "per_a" : null
      return { type: "StartPurchase", purchaseId, keyId, personId, amountMicros }
    }
    case "pay":
      return { type: "PayPurchase", purchaseId: meant.purchaseId, paymentId: "pi_1" }
    case "order":
      return { type: "OrderPurchase", purchaseId: meant.purchaseId, paymentId: "pi_1" }
    case "decline":
      return {
        type: "FailPurchase",
        purchaseId: meant.purchaseId,
        code: "declined",
        paymentId: null,
      }
    default:
      return { type: SWITCHES[meant.do] }
  }
}

const SWITCHES = {
  lock: "LockAccount",
  unlock: "UnlockAccount",
  shut: "CloseLedger",
  reopen: "ReopenLedger",
  erase: "BeginErasure",
  "close month": "CloseMonth",
} as const

function noticeOf(
  facts: Facts,
  below: Extract<Arrangement, { do: "notice" }>["below"],
  unitMicros: number,
): number | null {
  if (below === null) return null
  return "micros" in below ? below.micros * unitMicros : fundsIn(facts) + below.off
}

function centsOf(facts: Facts, keyId: KeyId | null, meant: Cents, at: number): number {
  if ("cents" in meant) return meant.cents
  const terms = purchaseTermsIn(facts, keyId)
  if (terms === null) return 500
  const left =
    meant.left === "purchase"
      ? terms.perPurchaseMicros
      : terms.perMonthMicros - takenOf(facts, keyId, at)
  return Math.floor(left / CENT) + meant.off
}
