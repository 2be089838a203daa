/**
 * Double entry: how each monetary event moves money between accounts. The postings of an event sum to zero, and the
 * account `funds` equals the ledger's funds.
 */
import type { Micros } from "../kernel/money.ts"
import { isMicros } from "../kernel/money.ts"
import type { LedgerEvent, LedgerFact } from "./ledger-events.ts"
import type { LedgerRefused, SetLowFundsAlert } from "./ledger-commands.ts"
import type { LedgerState } from "./ledger-state.ts"

/**
 * One side of a movement. Accounts: `funds`, `credits` (added by an operator), `payments` (purchased),
 * `corrections`, `spending:<class>:<item>`.
 */
interface Posting {
  readonly account: string
  readonly amountMicros: Micros
}

/** Returns the postings of an event; none if it moves no money. */
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

// Low-funds alerts: an event after each event that takes the funds below the owners' amount, in the same append. No
// state says who was alerted: the alert is due where the funds cross the amount.

/** Decides the amount of funds below which owners are alerted. Idempotent. */
export function decideLowFundsAlert(
  { belowMicros }: SetLowFundsAlert,
  state: LedgerState,
  at: number,
): readonly LedgerFact<"LowFundsAlertSet">[] | LedgerRefused {
  if (belowMicros !== null && (belowMicros < 0 || !isMicros(belowMicros))) {
    const message = "The alert amount must be between $0 and $9 billion."
    return { type: "LedgerRefused", at, code: "bad_amount", message }
  }
  return belowMicros === state.noticeMicros ? [] : [{ type: "LowFundsAlertSet", at, belowMicros }]
}

/** Inserts an alert after each event that takes the funds below the alert's amount. */
export function appendLowFundsAlerts(
  facts: readonly LedgerEvent[],
  { noticeMicros, fundsMicros: before }: LedgerState,
): readonly LedgerEvent[] {
  // Fast path: few companies have an alert, and every charge passes here.
  if (noticeMicros === null && !facts.some(isSetting)) return facts
  let belowMicros = noticeMicros
  let fundsMicros = before
  return facts.flatMap((fact) => {
    // A newly set amount has not been alerted yet, whatever the previous amount was.
    const wasLow = !isSetting(fact) && isBelow(fundsMicros, belowMicros)
    if (isSetting(fact)) ({ belowMicros } = fact)
    fundsMicros += movedBy(fact)
    if (wasLow || belowMicros === null || fundsMicros >= belowMicros) return [fact]
    return [fact, { type: "LowFundsReached", at: fact.at, belowMicros, fundsMicros }]
  })
}

function isSetting(fact: LedgerEvent): fact is LedgerFact<"LowFundsAlertSet"> {
  return fact.type === "LowFundsAlertSet"
}

function isBelow(fundsMicros: Micros, belowMicros: Micros | null): boolean {
  return belowMicros !== null && fundsMicros < belowMicros
}

/** How much an event changes the funds. */
function movedBy(fact: LedgerEvent): Micros {
  return postingsOf(fact).find(({ account }) => account === "funds")?.amountMicros ?? 0
}
