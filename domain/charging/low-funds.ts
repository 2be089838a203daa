/**
 * The notice that funds ran low: a fact behind each fact that takes the funds below the sum the owner
 * set, in the same append. Who was told is in no state: it is told where the funds pass the sum.
 */
import type { Micros } from "../kernel/money.ts"
import { isMicros } from "../kernel/money.ts"
import type { LedgerRefused, SetFundsNotice } from "./ledger-commands.ts"
import type { LedgerEvent, LedgerFact } from "./ledger-formats.ts"
import type { Ledger } from "./ledger-state.ts"
import { postingsOf } from "./postings.ts"

/** Decides below which sum the owners want to hear of their funds. The same again: nothing new. */
export function setFundsNotice(
  { belowMicros }: SetFundsNotice,
  state: Ledger,
  at: number,
): readonly LedgerFact<"LowFundsAlertSet">[] | LedgerRefused {
  if (belowMicros !== null && (belowMicros < 0 || !isMicros(belowMicros))) {
    const message = "A notice is for a sum of 0 or more, at most nine thousand million dollars."
    return { type: "LedgerRefused", at, code: "bad_amount", message }
  }
  return belowMicros === state.noticeMicros ? [] : [{ type: "LowFundsAlertSet", at, belowMicros }]
}

/** The facts, with the notice behind each of them after which the funds are newly below the sum. */
export function withLowFunds(
  facts: readonly LedgerEvent[],
  { noticeMicros, fundsMicros: before }: Ledger,
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
