/**
 * The parts of histories. A turn has intentions, which become commands at their turn from the facts so far
 * (`actions.ts`), so that amounts can aim at what a limit leaves.
 */
import type { FundsExemption } from "../../domain/charging/ledger-events.ts"
import type { PurchaseTerms } from "../../domain/charging/purchase-events.ts"
import type {
  LimitHolder,
  LimitScope,
  SpendingClass,
  Spender,
} from "../../domain/charging/limits.ts"
import type { Period } from "../../domain/kernel/window.ts"
import type { KeyId, PurchaseId } from "../../domain/kernel/ids.ts"

/** The time until the next turn. */
export type TurnDelay =
  | { readonly ms: number }
  /** To the end of this period's window, plus some milliseconds. */
  | { readonly until: Period; readonly off: number }

/** An amount: a number of micros, or the rest of a limit or of the funds, plus an offset. */
export type AmountChoice =
  | { readonly micros: number }
  | { readonly left: LimitHolder | "least" | "funds"; readonly off: number }

export type RefundPart = "whole" | "some" | "over" | "none"

export interface ChargeIntention {
  readonly do: "charge"
  readonly spender: Spender
  readonly class: SpendingClass
  readonly amount: AmountChoice
  readonly isPending: boolean
  readonly exempt: FundsExemption | null
  /** Null for a new id; otherwise selects an id that was used before. */
  readonly repeatsCharge: number | null
  readonly requestedEarlierMs: number
  /** With 2 the amount is not the product of quantity and unit price, which is invalid. */
  readonly quantity: 1 | 2
}

/** The cents of a purchase: a number, or the rest of the allowance, plus an offset. */
export type CentsChoice =
  { readonly cents: number } | { readonly left: "purchase" | "month"; readonly off: number }

/** A limit's amount: a number of micros, or the used amount plus an offset. */
export type LimitAmountChoice = (
  { readonly micros: number } | { readonly used: true; readonly off: number }
) & {
  readonly leaveKeysOut: boolean
  readonly remindersMicros: readonly number[]
  /** An additional reminder this far above the used amount; null for none. */
  readonly reminderOff: number | null
}

/** A spender that can make API calls. */
export type KeySpender = Extract<Spender, { readonly via: "own_key" | "app_key" }>

/** An intended change of the account by people or operators. */
export type AccountChange =
  | { readonly do: "funds"; readonly micros: number; readonly reference: string | null }
  /** Corrects the funds by an amount, or to an amount. */
  | { readonly do: "correct"; readonly by: number }
  | { readonly do: "correct"; readonly to: number }
  /** Corrects the funds to this much below the largest exact amount. */
  | { readonly do: "top"; readonly lessMicros: number }
  /** Sets the low-funds alert to an amount, to the present funds plus an offset, or to none. */
  | { readonly do: "notice"; readonly below: { readonly micros: number } | null }
  | { readonly do: "notice"; readonly below: { readonly off: number } }
  | { readonly do: "open" | "terms"; readonly prepaidOnly: boolean; readonly creditMicros: number }
  | ({ readonly do: "purchase terms"; readonly keyId: KeyId } & PurchaseTerms)
  | {
      readonly do: "buy"
      readonly purchaseId: PurchaseId
      /** Null for an owner who buys without a key. */
      readonly keyId: KeyId | null
      readonly cents: CentsChoice
      /** Micros in addition to the cents; 0 for whole cents. */
      readonly odd: number
    }
  | { readonly do: "order" | "pay" | "decline"; readonly purchaseId: PurchaseId }
  | { readonly do: "lock" | "unlock" | "shut" | "reopen" | "erase" | "close month" }

/** An intention. A `place` selects an item modulo the number of items. */
export type Intention =
  | ChargeIntention
  | {
      readonly do: "charge once"
      readonly name: string
      readonly micros: number
      readonly open: boolean
      /** How many facts the search for the name lagged behind. */
      readonly behind: number
    }
  /** This many charges of zero, each with its own name. */
  | { readonly do: "charge many"; readonly count: number }
  | { readonly do: "close"; readonly places: readonly number[] }
  | { readonly do: "refund"; readonly place: number; readonly part: RefundPart }
  | {
      readonly do: "operator refund"
      readonly place: number
      readonly part: RefundPart
      readonly behind: number
    }
  | {
      readonly do: "limit"
      readonly name: LimitScope
      readonly period: Period
      readonly amount: LimitAmountChoice
    }
  | { readonly do: "unlimit"; readonly name: LimitScope }
  | { readonly do: "serve"; readonly caller: KeySpender; readonly priceMicros: number }
  | { readonly do: "charge calls"; readonly most: number }
  | AccountChange
  /** Stores buffered calls, as the runner does after some seconds. */
  | { readonly do: "record" }

/** The moment at which an intention becomes a command. */
export interface DecisionMoment {
  readonly at: number
  /** A unique id for a charge. */
  readonly newId: string
  /** See `LedgerHistory`. */
  readonly unitMicros: number
}

/** One turn of a history: one process decides its intentions at one instant, in order. */
export interface HistoryTurn {
  readonly delay: TurnDelay
  readonly process: ProcessIndex
  readonly intentions: readonly Intention[]
}

/** Two processes write to the ledger; each buffers the calls that it serves. */
export type ProcessIndex = 0 | 1

/** A history before it is played. */
export interface LedgerHistory {
  readonly from: number
  /** Factor for every number of micros, except the prices of calls. */
  readonly unitMicros: number
  readonly turns: readonly HistoryTurn[]
}

/** The spenders of the histories: two people, their three keys, and the app key. */
export const KEY_SPENDERS: readonly KeySpender[] = [
  { via: "own_key", keyId: "key_a1", personId: "per_a" },
  { via: "own_key", keyId: "key_a2", personId: "per_a" },
  { via: "own_key", keyId: "key_b1", personId: "per_b" },
  { via: "app_key", keyId: "key_app", personId: "per_a" },
  { via: "app_key", keyId: "key_app", personId: null },
]

/** The same spenders, plus spenders without a key. */
export const SPENDERS: readonly Spender[] = [
  ...KEY_SPENDERS,
  { via: "person", keyId: null, personId: "per_a" },
  { via: "company", keyId: null, personId: null },
]

/** The limits that the histories set. */
export const LIMIT_NAMES: readonly LimitScope[] = [
  { holder: "company", holderId: null, class: "general" },
  { holder: "company", holderId: null, class: "ai" },
  { holder: "person", holderId: "per_a", class: "general" },
  { holder: "person", holderId: "per_a", class: "ai" },
  { holder: "person", holderId: "per_b", class: "general" },
  { holder: "key", holderId: "key_a1", class: "all" },
  { holder: "key", holderId: "key_b1", class: "all" },
  { holder: "key", holderId: "key_app", class: "all" },
]
