/** The commands of a company's ledger and its refusals. */
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

/** Opens a ledger. Idempotent. */
export interface OpenLedger {
  readonly type: "OpenLedger"
  readonly prepaidOnly: boolean
  readonly creditLineMicros: Micros
}

/** Changes how much may be spent beyond the funds. Idempotent. */
export interface ChangeCreditTerms {
  readonly type: "ChangeCreditTerms"
  readonly prepaidOnly: boolean
  readonly creditLineMicros: Micros
}

/** Adds funds. Idempotent for the same reference. */
export interface AddFunds {
  readonly type: "AddFunds"
  readonly amountMicros: Micros
  readonly reference: string | null
}

/** Corrects the funds by an amount other than 0; they may become negative. */
export interface CorrectFunds {
  readonly type: "CorrectFunds"
  readonly amountMicros: Micros
  readonly reason: string
}

/** Sets the amount of funds below which owners are alerted. Idempotent. */
export interface SetLowFundsAlert {
  readonly type: "SetLowFundsAlert"
  /** 0 or more; null for no alert. */
  readonly belowMicros: Micros | null
}

/** Sets or replaces the holder's limit of this class. Idempotent. */
export interface SetLimit extends Limit {
  readonly type: "SetLimit"
}

export interface RemoveLimit extends LimitScope {
  readonly type: "RemoveLimit"
}

/** Charges an amount. Records nothing if the id is that of a pending charge. */
export interface ChargeCommand extends ChargeRequest {
  readonly type: "Charge"
  /** True while the paid work can still fail. */
  readonly isPending: boolean
  readonly exemption: FundsExemption | null
  /**
   * For an id that the caller chose and that may be as old as the ledger: the revision up to which it was not found
   * among the ended charges (docs/decisions/api.md). Null for an id derived from state.
   */
  readonly searchedUpTo: number | null
}

/** Settles pending charges whose work succeeded. Charges that are not pending are skipped. */
export interface SettleCharges {
  readonly type: "SettleCharges"
  readonly chargeIds: readonly ChargeId[]
}

/** Refunds all or part of a pending charge. Records nothing if the charge is not pending. */
export interface RefundPendingCharge {
  readonly type: "RefundPendingCharge"
  readonly chargeId: ChargeId
  /** Null for the full amount; otherwise more than 0 and at most the amount charged. */
  readonly amountMicros: Micros | null
  readonly reason: string
}

/** A settled charge from the read model of charges. */
export type ChargeToRefund = Omit<ChargeReduced, "type" | "at" | "reason">

/**
 * Refunds a settled charge that a read model found. The refunds of a charge never exceed its amount: if part of it
 * was refunded after `searchedUpTo`, the refusal is `search_again`.
 */
export interface RefundSettledCharge {
  readonly type: "RefundSettledCharge"
  readonly charge: ChargeToRefund
  /** The charge's amount less all refunds up to `searchedUpTo`, in micro-dollars. */
  readonly refundableMicros: Micros
  /** Null for all that is left; otherwise more than 0 and at most that, in micro-dollars. */
  readonly amountMicros: Micros | null
  readonly reason: string
  /** The ledger revision up to which `refundableMicros` includes every refund. */
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

/** Charges the calls of days that have ended. Idempotent. */
export interface ChargeApiCalls {
  readonly type: "ChargeApiCalls"
  /** Maximum number of charges; the rest remains for the next command. */
  readonly maxCharges: number
}

/** Sets how much a key may buy funds for. Idempotent. */
export interface SetPurchaseTerms extends PurchaseTerms {
  readonly type: "SetPurchaseTerms"
  readonly keyId: KeyId
}

/** Starts a purchase of funds within the key's allowance. Idempotent for the same id. */
export interface StartPurchase {
  readonly type: "StartPurchase"
  readonly purchaseId: PurchaseId
  /** Null for an owner who buys without a key. */
  readonly keyId: KeyId | null
  readonly personId: PersonId | null
  readonly amountMicros: Micros
}

/** Records the payment of a pending purchase. Records nothing if the purchase has one or is not pending. */
export interface OrderPurchase {
  readonly type: "OrderPurchase"
  readonly purchaseId: PurchaseId
  /** The payment provider's id of the payment. */
  readonly paymentId: string
}

/** Records that the payment arrived. Records nothing if the purchase is not pending. */
export interface PayPurchase {
  readonly type: "PayPurchase"
  readonly purchaseId: PurchaseId
  readonly paymentId: string
}

/** Records that the payment failed. Records nothing if the purchase is not pending. */
export interface FailPurchase {
  readonly type: "FailPurchase"
  readonly purchaseId: PurchaseId
  readonly code: string
  /** The payment provider's id of the payment; null for the recorded one, if any. */
  readonly paymentId: string | null
}

/** Locks the account after a missed payment, so that charges are refused, or unlocks it. */
export interface LockOrUnlockAccount {
  readonly type: "LockAccount" | "UnlockAccount"
}

/** Closes the months that have ended. Every other command that records something does it too. */
export interface CloseMonth {
  readonly type: "CloseMonth"
}

/** Closes the ledger of a deleted company, so that charges are refused, or reopens it. */
export interface CloseOrReopenLedger {
  readonly type: "CloseLedger" | "ReopenLedger"
}

/** Starts to erase a company whose deletion can no longer be undone. Idempotent. */
export interface StartErasure {
  readonly type: "StartErasure"
}

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

/** Why a command other than a charge was refused. */
export type LedgerRefusalCode =
  | "bad_limit"
  | "no_such_limit"
  | "bad_amount"
  | "bad_calls"
  | "search_again"
  | "ledger_closed"
  | "company_erased"
  | "not_deleted"

/** A command other than a charge was refused. After `search_again`, look the id up again and repeat the command. */
export interface LedgerRefused {
  readonly type: "LedgerRefused"
  readonly at: number
  readonly code: LedgerRefusalCode
  /** One sentence for the person who sent the command. */
  readonly message: string
}

/** Why a purchase was refused, in the order of docs/decisions/credits.md. */
export type PurchaseRefusalCode =
  | "bad_amount"
  | "purchase_not_allowed"
  | "purchase_needs_review"
  | "over_purchase_limit"
  | "over_monthly_limit"
  | "ledger_closed"

/** A purchase was refused, with the evidence. */
export interface PurchaseRefused {
  readonly type: "PurchaseRefused"
  readonly at: number
  readonly code: PurchaseRefusalCode
  readonly purchaseId: PurchaseId
  readonly keyId: KeyId | null
  readonly amountMicros: Micros
  /** Null if no owner has allowed purchases for this key. */
  readonly terms: PurchaseTerms | null
  /** How much of the month's allowance paid and pending purchases use. */
  readonly takenMicros: Micros
}

export type LedgerRefusal = ChargeRefused | LedgerRefused | PurchaseRefused
