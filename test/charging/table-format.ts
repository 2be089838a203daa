/** Formats a ledger's answers for the last column of a table. */
import type { LedgerRefusal } from "../../domain/charging/ledger-commands.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { LimitReading } from "../../domain/charging/limits.ts"
import type { priceOfItem } from "../../domain/charging/price-book.ts"
import { formatDollars } from "../../domain/kernel/money.ts"

/** A fact: an accepted step, or a fact that follows from it. */
export function formatFact(fact: LedgerEvent): string {
  switch (fact.type) {
    case "Charged":
      return fact.isAlreadyCounted
        ? `${fact.chargeId} for ${formatDollars(fact.amountMicros)}`
        : "yes"
    case "ChargeReduced":
      return `back ${formatDollars(fact.amountMicros)}`
    case "ReminderReached":
      return `reminder ${formatDollars(fact.reminderMicros)} of ${formatLimitName(fact)}`
    case "MonthClosed":
      return `${fact.month} closed with ${formatDollars(fact.fundsMicros)}`
    case "ApiCallsCounted": {
      const calls = fact.counters.reduce((sum, counter) => sum + counter.calls, 0)
      const day = new Date(fact.day).toISOString().slice(0, 10)
      return `${calls} of ${day} counted${fact.exemption === null ? "" : " past a limit"}`
    }
    default:
      return "ok"
  }
}

/** A refusal with its reason. */
export function formatRefusal(refusal: LedgerRefusal): string {
  if (refusal.type === "LedgerRefused") return `no: ${refusal.code}`
  if (refusal.type === "PurchaseRefused") {
    return `no: ${refusal.code}, taken ${formatDollars(refusal.takenMicros)}`
  }
  const limit = refusal.limits[refusal.refusingLimit ?? -1]
  if (limit === undefined) return `no: ${refusal.code}, funds ${formatDollars(refusal.fundsMicros)}`
  return `no: ${formatLimitReading(limit)}`
}

/** A limit with its used amount. */
export function formatLimitReading(limit: LimitReading): string {
  const used = `used ${formatDollars(limit.usedMicros)} of ${formatDollars(limit.amountMicros)}`
  const resets = new Date(limit.resetsAt).toISOString().slice(0, 10)
  return `${formatLimitName(limit)}, ${used}, resets ${resets}`
}

/** A price and the version of its price book. */
export function formatUnitPrice({
  unitPriceMicros,
  priceVersion,
}: ReturnType<typeof priceOfItem>): string {
  return `${formatDollars(unitPriceMicros)} of version ${priceVersion}`
}

function formatLimitName({
  holder,
  holderId,
  period,
}: Pick<LimitReading, "holder" | "holderId" | "period">) {
  return `${holderId ?? holder}'s ${period}`
}
