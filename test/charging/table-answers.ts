/** The answers of a ledger, as the last column of a table says them. */
import type { LedgerRefusal } from "../../domain/charging/ledger-commands.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import type { LimitReading } from "../../domain/charging/limits.ts"
import type { priceOf } from "../../domain/charging/price-book.ts"
import { dollarText } from "../../domain/kernel/money.ts"

/** A fact: the yes to a step, or what comes with it. */
export function factText(fact: LedgerEvent): string {
  switch (fact.type) {
    case "Charged":
      return fact.isAlreadyCounted ? `${fact.chargeId} for ${dollarText(fact.amountMicros)}` : "yes"
    case "ChargeReduced":
      return `back ${dollarText(fact.amountMicros)}`
    case "ReminderReached":
      return `reminder ${dollarText(fact.reminderMicros)} of ${nameText(fact)}`
    case "MonthClosed":
      return `${fact.month} closed with ${dollarText(fact.fundsMicros)}`
    case "ApiCallsCounted": {
      const calls = fact.counters.reduce((sum, tally) => sum + tally.calls, 0)
      const day = new Date(fact.day).toISOString().slice(0, 10)
      return `${calls} of ${day} counted${fact.exemption === null ? "" : " past a limit"}`
    }
    default:
      return "ok"
  }
}

/** A no, and what it is that refuses. */
export function refusalText(refusal: LedgerRefusal): string {
  if (refusal.type === "LedgerRefused") return `no: ${refusal.code}`
  if (refusal.type === "PurchaseRefused") {
    return `no: ${refusal.code}, taken ${dollarText(refusal.takenMicros)}`
  }
  const limit = refusal.limits[refusal.refusingLimit ?? -1]
  if (limit === undefined) return `no: ${refusal.code}, funds ${dollarText(refusal.fundsMicros)}`
  return `no: ${readingText(limit)}`
}

/** A limit as it stands. */
export function readingText(limit: LimitReading): string {
  const used = `used ${dollarText(limit.usedMicros)} of ${dollarText(limit.amountMicros)}`
  const resets = new Date(limit.resetsAt).toISOString().slice(0, 10)
  return `${nameText(limit)}, ${used}, anew ${resets}`
}

/** A price and the version of the book that it is from. */
export function priceText({ unitPriceMicros, priceVersion }: ReturnType<typeof priceOf>): string {
  return `${dollarText(unitPriceMicros)} of version ${priceVersion}`
}

function nameText({
  holder,
  holderId,
  period,
}: Pick<LimitReading, "holder" | "holderId" | "period">) {
  return `${holderId ?? holder}'s ${period}`
}
