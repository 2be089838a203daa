/** What a company's ledger can be asked to do, and what it refuses. */
import type { ChargeId, KeyId, PersonId, PurchaseId } from "../kernel/ids.ts"
import type { Micros } from "../kernel/money.ts"
import type {
  ApiCallCounter,
  ChargeReduced,
  ChargeRefused,
  ChargeRequest,
  FundsExemption,
} from "./ledger-events.ts"
import type { Limit, LimitScope } from "./limits.ts"
import type { PurchaseTerms } from "./purchase-events.ts"

/** Begins a ledger. Again: nothing new. */
export interface OpenLedger {
  readonly type: "OpenLedger"
  readonly prepaidOnly: boolean
  readonly creditLineMicros: Micros
}

/** Says what may be spent beyond the funds. The same again: nothing new. */
export interface ChangeCreditTerms {
  readonly type: "ChangeCreditTerms"
  readonly prepaidOnly: boolean
  readonly creditLineMicros: Micros
}

/** Raises the funds. The same reference again: nothing new. */
export interface AddFunds {
  readonly type: "AddFunds"
  readonly amountMicros: Micros
  readonly reference: string | null
}

/** Corrects the funds by an amount that is not 0, also below zero. */
export interface CorrectFunds {
  readonly type: "CorrectFunds"
  readonly amountMicros: Micros
  readonly reason: string
}

/** Says below which sum the owners want to hear of their funds. The same again: nothing new. */
export interface SetLowFundsAlert {
  readonly type: "SetLowFundsAlert"
  /** 0 or more; null for no notice. */
  readonly belowMicros: Micros | null
}

/** Sets or replaces the holder's limit of this class. The same again: nothing new. */
export interface SetLimit extends Limit {
  readonly type: "SetLimit"
}

/** Takes a limit away. */
export interface RemoveLimit extends LimitScope {
  readonly type: "RemoveLimit"
}

/** Spends. An open charge's id again: nothing new, and the first answer stands. */
export interface ChargeCommand extends ChargeRequest {
  readonly type: "Charge"
  /** True while the work can still fail. */
  readonly isPending: boolean
  readonly exemption: FundsExemption | null
  /**
   * For an id that the caller chose and that may be as old as the ledger: the revision up to which
   * it was looked for among the ended charges and not found (decisions.md §6). Null for an id that
   * derives from carried state.
   */
  readonly searchedUpTo: number | null
}

/** Says that the work of these charges succeeded. Those that are not open are passed over. */
export interface SettleCharges {
  readonly type: "SettleCharges"
  readonly chargeIds: readonly ChargeId[]
}

/** Gives an open charge back, whole or in part. A charge that is not open: nothing new. */
export interface RefundPendingCharge {
  readonly type: "RefundPendingCharge"
  readonly chargeId: ChargeId
  /** Null for the whole; else more than 0 and at most what was charged. */
  readonly amountMicros: Micros | null
  readonly reason: string
}

/** A final charge as the read model of charges has it. */
export type ChargeToRefund = Omit<ChargeReduced, "type" | "at" | "reason">

/**
 * Refunds a final charge that a read model found. All refunds of a charge together are never more than
 * the charge: where some of it was refunded after `searchedTo`, the answer is `search_again`.
 */
export interface RefundSettledCharge {
  readonly type: "RefundSettledCharge"
  readonly charge: ChargeToRefund
  /** The charge's amount less all its refunds up to `searchedTo`, in micros. */
  readonly refundableMicros: Micros
  /** Null for all that is left; else more than 0 and at most what is left, in micros. */
  readonly amountMicros: Micros | null
  readonly reason: string
  /** The revision of the ledger up to which `leftMicros` counts every refund. */
  readonly searchedUpTo: number
}

/** Records calls that were served. */
export interface RecordApiCalls {
  readonly type: "RecordApiCalls"
  /** The first millisecond of the UTC day of the calls. */
  readonly day: number
  readonly unitPriceMicros: Micros
  readonly priceVersion: number
  readonly counters: readonly ApiCallCounter[]
}

/** Charges the calls of the days that are over. Once charged: nothing new. */
export interface ChargeApiCalls {
  readonly type: "ChargeApiCalls"
  /** How many charges at most; the rest is for the next time. */
  readonly maxCharges: number
}

/** Says what a key may buy funds for. The same again: nothing new. */
export interface SetPurchaseTerms extends PurchaseTerms {
  readonly type: "SetPurchaseTerms"
  readonly keyId: KeyId
}

/** Begins to buy funds, within the key's allowance. The same id again: nothing new. */
export interface StartPurchase {
  readonly type: "StartPurchase"
  readonly purchaseId: PurchaseId
  /** Null for an owner who buys without one. */
  readonly keyId: KeyId | null
  readonly personId: PersonId | null
  readonly amountMicros: Micros
}

/** Says which payment a purchase is paid by. One that is known, or not pending: nothing new. */
export interface OrderPurchase {
  readonly type: "OrderPurchase"
  readonly purchaseId: PurchaseId
  /** The payment provider's name for it. */
  readonly paymentId: string
}

/** Says that the payment arrived. A purchase that is not pending: nothing new. */
export interface PayPurchase {
  readonly type: "PayPurchase"
  readonly purchaseId: PurchaseId
  readonly paymentId: string
}

/** Says that no payment will come. A purchase that is not pending: nothing new. */
export interface FailPurchase {
  readonly type: "FailPurchase"
  readonly purchaseId: PurchaseId
  readonly code: string
  /** The payment provider's name for it; null for the one that is recorded, if any. */
  readonly paymentId: string | null
}

/** Stops all charges after a missed payment, or makes them possible again. */
export interface LockOrUnlockAccount {
  readonly type: "LockAccount" | "UnlockAccount"
}

/** Closes the months that are over. Every other command does it too, where it records something. */
export interface CloseMonth {
  readonly type: "CloseMonth"
}

/** Sells nothing more to a deleted company, or undoes that. */
export interface CloseOrReopenLedger {
  readonly type: "CloseLedger" | "ReopenLedger"
}

/** Begins to erase a company whose deletion can no longer be undone. Again: nothing new. */
export interface StartErasure {
  readonly type: "StartErasure"
}

/** Everything a ledger can be asked to do. */
export type LedgerCommand =
  | OpenLedger
  | ChangeCreditTerms
  | AddFunds
  | CorrectFunds
  | SetLowFundsAlert
  | SetLimit
  | RemoveLimit
  | ChargeCommand
  | SettleCharges
  | RefundPendingCharge
  | RefundSettledCharge
  | RecordApiCalls
  | ChargeApiCalls
  | SetPurchaseTerms
  | StartPurchase
  | OrderPurchase
  | PayPurchase
  | FailPurchase
  | LockOrUnlockAccount
  | CloseMonth
  | CloseOrReopenLedger
  | StartErasure

/** Why a command that is no charge was refused. */
export type LedgerRefusalCode =
  | "bad_limit"
  | "no_such_limit"
  | "bad_amount"
  | "bad_calls"
  | "search_again"
  | "ledger_closed"
  | "company_erased"
  | "not_deleted"

/** A command that is no charge was refused. `search_again`: look the id up again, and ask again. */
export interface LedgerRefused {
  readonly type: "LedgerRefused"
  readonly at: number
  readonly code: LedgerRefusalCode
  /** One sentence for the person who asked. */
  readonly message: string
}

/** Why a purchase was refused, in the order of decisions.md §10. */
export type PurchaseRefusalCode =
  | "bad_amount"
  | "purchase_not_allowed"
  | "purchase_needs_review"
  | "over_purchase_limit"
  | "over_monthly_limit"
  | "ledger_closed"

/** A purchase was refused, with what the decision looked at. */
export interface PurchaseRefused {
  readonly type: "PurchaseRefused"
  readonly at: number
  readonly code: PurchaseRefusalCode
  readonly purchaseId: PurchaseId
  readonly keyId: KeyId | null
  readonly amountMicros: Micros
  /** Null where an owner never turned purchases on for this key. */
  readonly terms: PurchaseTerms | null
  /** What of the month's allowance is taken, by paid and by pending purchases. */
  readonly takenMicros: Micros
}

/** Every no of the ledger. */
export type LedgerRefusal = ChargeRefused | LedgerRefused | PurchaseRefused
