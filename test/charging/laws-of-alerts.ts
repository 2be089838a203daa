/** Law 6, low funds: an alert follows each fact that lowers the funds below its amount, and no other fact. */
import { type LedgerLaw, canonicalText } from "./law.ts"
import { fundsIn } from "./reference-views.ts"
import { acceptedFacts } from "./ledger-under-test.ts"

/** Owners are alerted when the funds fall below the alert's amount, in the append that lowered them. */
export const lowFundsAlertsAreSentOnce: LedgerLaw = ({ facts, steps }) => {
  let belowMicros: number | null = null
  let fundsMicros = 0
  /** The alert that must come next; null if none may. */
  let due: string | null = null
  for (const fact of facts) {
    if (fact.type === "LowFundsReached") {
      if (canonicalText(fact) !== due) return `got ${canonicalText(fact)}, expected ${due}`
      due = null
      continue
    }
    if (due !== null) return `got ${canonicalText(fact)}, expected ${due}`
    const isNew = fact.type === "LowFundsAlertSet"
    const wasLow: boolean = !isNew && belowMicros !== null && fundsMicros < belowMicros
    if (isNew) ({ belowMicros } = fact)
    fundsMicros += fundsIn([fact])
    if (wasLow || belowMicros === null || fundsMicros >= belowMicros) continue
    due = canonicalText({ type: "LowFundsReached", at: fact.at, belowMicros, fundsMicros })
  }
  if (due !== null) return `got nothing, expected ${due}`
  const late = steps.find((step) => {
    return step.does === "decide" && acceptedFacts(step.answer)[0]?.type === "LowFundsReached"
  })
  return late === undefined ? null : `sent in a separate append: ${canonicalText(late)}`
}
