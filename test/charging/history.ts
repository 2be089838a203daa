/**
 * What histories are made of. A turn is what somebody means to do; what it comes to is settled when
 * the turn comes, from the facts that there are by then (`deeds.ts`): so it can aim at what is left.
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

/** How long until the next turn. */
export type TurnDelay =
  | { readonly ms: number }
  /** To the end of the window of this period, give or take some milliseconds. */
  | { readonly until: Period; readonly off: number }

/** How much: a number of micros, or what a limit or the funds leave, and a little more or less. */
export type AmountChoice =
  | { readonly micros: number }
  | { readonly left: LimitHolder | "least" | "funds"; readonly off: number }

/** How much of a charge comes back. */
export type RefundPart = "whole" | "some" | "over" | "none"

/** A charge somebody means to make. */
export interface ChargeIntention {
  readonly do: "charge"
  readonly spender: Spender
  readonly class: SpendingClass
  readonly amount: AmountChoice
  readonly isPending: boolean
  readonly exempt: FundsExemption | null
  /** Null for an id of its own; else the place of one that was used before. */
  readonly repeatsCharge: number | null
  readonly requestedEarlierMs: number
  /** More than one: the amount is not the product of quantity and unit price. */
  readonly quantity: 1 | 2
}

/** How many cents a purchase is for: a number of them, or what the terms leave, and some more. */
export type CentsChoice =
  { readonly cents: number } | { readonly left: "purchase" | "month"; readonly off: number }

/** A limit's amount: a number of micros, or what is used and a little more or less. */
export type LimitAmountChoice = (
  { readonly micros: number } | { readonly used: true; readonly off: number }
) & {
  readonly leaveKeysOut: boolean
  readonly remindersMicros: readonly number[]
  /** How much above what is used there is one more reminder; null for none. */
  readonly reminderOff: number | null
}

/** A way to make an API call. */
export type KeySpender = Extract<Spender, { readonly via: "own_key" | "app_key" }>

/** What people and operators mean to arrange. */
export type AccountChange =
  | { readonly do: "funds"; readonly micros: number; readonly reference: string | null }
  /** Corrects the funds by so much, or to so much. */
  | { readonly do: "correct"; readonly by: number }
  | { readonly do: "correct"; readonly to: number }
  /** Corrects the funds to so much less than the most that adds up exactly. */
  | { readonly do: "top"; readonly lessMicros: number }
  /** A notice of low funds: below so much, below the present funds and a little more or less, or none. */
  | { readonly do: "notice"; readonly below: { readonly micros: number } | null }
  | { readonly do: "notice"; readonly below: { readonly off: number } }
  | { readonly do: "open" | "terms"; readonly prepaidOnly: boolean; readonly creditMicros: number }
  | ({ readonly do: "purchase terms"; readonly keyId: KeyId } & PurchaseTerms)
  | {
      readonly do: "buy"
      readonly purchaseId: PurchaseId
      /** Null for an owner who buys without one. */
      readonly keyId: KeyId | null
      readonly cents: CentsChoice
      /** Micros beside the cents: whole cents it is without. */
      readonly odd: number
    }
  | { readonly do: "order" | "pay" | "decline"; readonly purchaseId: PurchaseId }
  | { readonly do: "lock" | "unlock" | "shut" | "reopen" | "erase" | "close month" }

/** What somebody means to do. Places are taken modulo the number of things there are. */
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
  /** So many charges of nothing, each with a name of its own. */
  | { readonly do: "charge many"; readonly count: number }
  | { readonly do: "close"; readonly places: readonly number[] }
  | { readonly do: "give back"; readonly place: number; readonly part: RefundPart }
  | {
      readonly do: "give back by hand"
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
  /** Records what is gathered, as the writer does after some seconds. */
  | { readonly do: "record" }

/** When an intention is settled. */
export interface DecisionMoment {
  readonly at: number
  /** A name for a charge like no other. */
  readonly newId: string
  /** See `History`. */
  readonly unitMicros: number
}

/** One turn of a history: what is decided at one instant, by one process, one after the other. */
export interface HistoryTurn {
  readonly delay: TurnDelay
  readonly process: ProcessIndex
  readonly intentions: readonly Intention[]
}

/** Two processes write to the ledger; each gathers the calls that it serves itself. */
export type ProcessIndex = 0 | 1

/** A history before it is played. */
export interface LedgerHistory {
  readonly from: number
  /** What every given number of micros is multiplied by, but for the prices of calls. */
  readonly unitMicros: number
  readonly turns: readonly HistoryTurn[]
}

/** Whose names the histories use: two people, three keys of theirs, and the app's shared key. */
export const KEY_SPENDERS: readonly KeySpender[] = [
  { via: "own_key", keyId: "key_a1", personId: "per_a" },
  { via: "own_key", keyId: "key_a2", personId: "per_a" },
  { via: "own_key", keyId: "key_b1", personId: "per_b" },
  { via: "app_key", keyId: "key_app", personId: "per_a" },
  { via: "app_key", keyId: "key_app", personId: null },
]

/** The same, and who spends without a key. */
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
