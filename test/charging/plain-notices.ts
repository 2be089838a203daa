/** The notice of low funds as a list of facts tells it. */
import type { LedgerRefused, SetFundsNotice } from "../../domain/charging/ledger-commands.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import type { Stamp } from "../../domain/kernel/decider.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type { Facts } from "./plain-facts.ts"
import { fundsIn } from "./plain-facts.ts"
import { refused } from "./reference-charge.ts"

const MAX_SUM = 9_000_000_000_000_000

/** The sum below which the owners want to hear of the funds; null where they do not. */
function noticeIn(facts: Facts): Micros | null {
  const last = facts.findLast(({ type }) => type === "LowFundsAlertSet")
  return last?.type === "LowFundsAlertSet" ? last.belowMicros : null
}

/** Whether the funds are below the sum of the notice. */
function isLowIn(facts: Facts): boolean {
  const belowMicros = noticeIn(facts)
  return belowMicros !== null && fundsIn(facts) < belowMicros
}

/** What the facts say to the setting of a sum. */
export function referenceNotice(
  facts: Facts,
  { at, belowMicros }: SetFundsNotice & Stamp,
): Facts | LedgerRefused {
  if (belowMicros !== null && (belowMicros < 0 || belowMicros > MAX_SUM)) {
    return refused(at, "bad_amount")
  }
  return noticeIn(facts) === belowMicros ? [] : [{ type: "LowFundsAlertSet", at, belowMicros }]
}

/** The facts that follow these, with a notice behind each that newly leaves the funds below the sum. */
export function noticed(before: Facts, added: Facts): Facts {
  const told: LedgerEvent[] = []
  for (const fact of added) {
    const wasLow = fact.type !== "LowFundsAlertSet" && isLowIn([...before, ...told])
    told.push(fact)
    const all = [...before, ...told]
    const belowMicros = noticeIn(all)
    if (wasLow || belowMicros === null || !isLowIn(all)) continue
    told.push({ type: "LowFundsReached", at: fact.at, belowMicros, fundsMicros: fundsIn(all) })
  }
  return told
}
