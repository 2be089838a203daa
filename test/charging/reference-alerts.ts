/** The low-funds alert, derived from a list of facts. */
import type { LedgerRefused, SetLowFundsAlert } from "../../domain/charging/ledger-commands.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { DecisionStamp } from "../../domain/kernel/decider.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type { LedgerFacts } from "./reference-views.ts"
import { fundsIn } from "./reference-views.ts"
import { ledgerRefused } from "./reference-charge.ts"

const MAX_SUM = 9_000_000_000_000_000

/** The amount of the low-funds alert; null if none is set. */
function alertLimitIn(facts: LedgerFacts): Micros | null {
  const last = facts.findLast(({ type }) => type === "LowFundsAlertSet")
  return last?.type === "LowFundsAlertSet" ? last.belowMicros : null
}

/** Whether the funds are below the alert's amount. */
function isLowIn(facts: LedgerFacts): boolean {
  const belowMicros = alertLimitIn(facts)
  return belowMicros !== null && fundsIn(facts) < belowMicros
}

/** Decides the setting of an alert from the facts. */
export function referenceSetAlert(
  facts: LedgerFacts,
  { at, belowMicros }: SetLowFundsAlert & DecisionStamp,
): LedgerFacts | LedgerRefused {
  if (belowMicros !== null && (belowMicros < 0 || belowMicros > MAX_SUM)) {
    return ledgerRefused(at, "bad_amount")
  }
  return alertLimitIn(facts) === belowMicros ? [] : [{ type: "LowFundsAlertSet", at, belowMicros }]
}

/** Adds an alert after each of the facts that newly lowers the funds below the alert's amount. */
export function withLowFundsAlerts(before: LedgerFacts, added: LedgerFacts): LedgerFacts {
  const withAlerts: LedgerEvent[] = []
  for (const fact of added) {
    const wasLow = fact.type !== "LowFundsAlertSet" && isLowIn([...before, ...withAlerts])
    withAlerts.push(fact)
    const all = [...before, ...withAlerts]
    const belowMicros = alertLimitIn(all)
    if (wasLow || belowMicros === null || !isLowIn(all)) continue
    withAlerts.push({
      type: "LowFundsReached",
      at: fact.at,
      belowMicros,
      fundsMicros: fundsIn(all),
    })
  }
  return withAlerts
}
