/** 6, of low funds: a notice stands behind each fact that takes them below the sum, and nowhere else. */
import { type Law, show } from "./law.ts"
import { fundsIn } from "./plain-facts.ts"
import { factsOf } from "./subject.ts"

/** The owners are told where the funds pass the sum that was set, in the append that took them there. */
export const lowFundsAreToldOnce: Law = ({ facts, steps }) => {
  let belowMicros: number | null = null
  let fundsMicros = 0
  /** The notice that must come next; null where none may. */
  let due: string | null = null
  for (const fact of facts) {
    if (fact.type === "LowFundsReached") {
      if (show(fact) !== due) return `told ${show(fact)}, not ${due}`
      due = null
      continue
    }
    if (due !== null) return `${show(fact)} came instead of ${due}`
    const isNew = fact.type === "LowFundsAlertSet"
    const wasLow: boolean = !isNew && belowMicros !== null && fundsMicros < belowMicros
    if (isNew) ({ belowMicros } = fact)
    fundsMicros += fundsIn([fact])
    if (wasLow || belowMicros === null || fundsMicros >= belowMicros) continue
    due = show({ type: "LowFundsReached", at: fact.at, belowMicros, fundsMicros })
  }
  if (due !== null) return `nothing came, not ${due}`
  const late = steps.find((step) => {
    return step.does === "decide" && factsOf(step.answer)[0]?.type === "LowFundsReached"
  })
  return late === undefined ? null : `told in an append of its own: ${show(late)}`
}
