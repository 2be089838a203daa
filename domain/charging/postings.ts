/**
 * Double entry: what each monetary fact moves, and from where to where. The postings of a fact sum
 * to zero, so the balances of a company do; the account `funds` is what the ledger calls funds.
 */
import type { Micros } from "../kernel/money.ts"
import type { LedgerEvent } from "./ledger-formats.ts"

/**
 * One side of a movement. Accounts: `funds`, `credits` (an operator's), `payments` (bought funds),
 * `corrections`, `spending:<class>:<item>`.
 */
export interface Posting {
  readonly account: string
  readonly amountMicros: Micros
}

/** The postings of a fact; none where it moves no money. */
export function postingsOf(event: LedgerEvent): readonly Posting[] {
  switch (event.type) {
    case "FundsAdded":
      return move("credits", "funds", event.amountMicros)
    case "FundsCorrected":
      return move("corrections", "funds", event.amountMicros)
    case "PurchasePaid":
      return move("payments", "funds", event.amountMicros)
    case "Charged":
      return move("funds", spending(event), event.amountMicros)
    case "ChargeReduced":
      return move(spending(event), "funds", event.amountMicros)
    case "LedgerOpened":
    case "TermsChanged":
    case "LowFundsAlertSet":
    case "LowFundsReached":
    case "LimitSet":
    case "LimitRemoved":
    case "ReminderReached":
    case "ChargesSettled":
    case "ApiCallsCounted":
    case "PurchaseTermsSet":
    case "PurchaseStarted":
    case "PurchaseOrdered":
    case "PurchaseFailed":
    case "AccountLocked":
    case "AccountUnlocked":
    case "MonthClosed":
    case "LedgerClosed":
    case "LedgerReopened":
    case "ErasureStarted":
      return []
  }
}

function move(from: string, to: string, amountMicros: Micros): readonly Posting[] {
  if (amountMicros === 0) return []
  return [
    { account: from, amountMicros: -amountMicros },
    { account: to, amountMicros },
  ]
}

function spending(event: { readonly class: string; readonly item: string }): string {
  return `spending:${event.class}:${event.item}`
}
