/**
 * Double entry: what each monetary fact moves, and from where to where. The postings of a fact sum
 * to zero, so the balances of a company do; the account `funds` is what the ledger calls funds.
 */
import type { Micros } from "../kernel/money.ts"
import { isMicros } from "../kernel/money.ts"
import type { LedgerEvent, LedgerFact } from "./ledger-events.ts"
import type { LedgerRefused, SetLowFundsAlert } from "./ledger-commands.ts"
import type { LedgerState } from "./ledger-state.ts"

/**
 * One side of a movement. Accounts: `funds`, `credits` (an operator's), `payments` (bought funds),
 * `corrections`, `spending:<class>:<item>`.
 */
interface Posting {
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

// The notice that funds ran low: a fact behind each fact that takes the funds below the sum the owner
// set, in the same append. Who was told is in no state: it is told where the funds pass the sum.

/** Decides below which sum the owners want to hear of their funds. The same again: nothing new. */
export function decideLowFundsAlert(
  { belowMicros }: SetLowFundsAlert,
  state: LedgerState,
  at: number,
): readonly LedgerFact<"LowFundsAlertSet">[] | LedgerRefused {
  if (belowMicros !== null && (belowMicros < 0 || !isMicros(belowMicros))) {
    const message = "A notice is for a sum of 0 or more, at most nine thousand million dollars."
    return { type: "LedgerRefused", at, code: "bad_amount", message }
  }
  return belowMicros === state.noticeMicros ? [] : [{ type: "LowFundsAlertSet", at, belowMicros }]
}

/** The facts, with the notice behind each of them after which the funds are newly below the sum. */
export function appendLowFundsAlerts(
  facts: readonly LedgerEvent[],
  { noticeMicros, fundsMicros: before }: LedgerState,
): readonly LedgerEvent[] {
  // Nearly no company has a notice, and every charge passes here.
  if (noticeMicros === null && !facts.some(isSetting)) return facts
  let belowMicros = noticeMicros
  let fundsMicros = before
  return facts.flatMap((fact) => {
    // A sum that was just set is not told of yet, whatever the one before it was.
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

/** What a fact adds to the funds; below zero for what it takes away. */
function movedBy(fact: LedgerEvent): Micros {
  return postingsOf(fact).find(({ account }) => account === "funds")?.amountMicros ?? 0
}
