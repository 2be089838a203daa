/** The command of a random step after given facts, and the state of each charge. */
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import type { Charged, LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { dayStart } from "../../domain/kernel/window.ts"
import type { LedgerStep } from "./ledger-steps.ts"

const DAY = 86_400_000

/** A charge and its state, from the facts alone. */
export interface ReferenceCharge {
  readonly charged: Charged
  /** The revision of its fact in the ledger. */
  readonly revision: number
  state: "open" | "final" | "given_back"
  refundedMicros: number
}

/** Every charge with its state, from one pass over the facts. */
export function chargesIn(facts: readonly LedgerEvent[]): readonly ReferenceCharge[] {
  const all: ReferenceCharge[] = []
  const newest = (id: string) => all.findLast(({ charged }) => charged.chargeId === id)
  for (const [revision, fact] of facts.entries()) {
    if (fact.type === "Charged") {
      const state = fact.isPending ? "open" : "final"
      all.push({ charged: fact, revision, state, refundedMicros: 0 })
    }
    if (fact.type === "ChargesSettled") {
      for (const one of fact.chargeIds.map(newest)) if (one !== undefined) one.state = "final"
    }
    if (fact.type === "ChargeReduced") {
      const one = newest(fact.chargeId)
      if (one === undefined) continue
      one.refundedMicros += fact.amountMicros
      one.state = one.refundedMicros === one.charged.amountMicros ? "given_back" : "final"
    }
  }
  return all
}

/** The command of a step after these facts; null if the step needs none. */
export function commandOfStep(
  step: LedgerStep,
  facts: readonly LedgerEvent[],
  now: number,
): LedgerCommand | null {
  switch (step.does) {
    case "command":
      return step.command
    case "calls":
      return { ...step.command, day: dayStart(now) - step.daysAgo * DAY }
    case "end": {
      const open = chargesIn(facts).filter(({ state }) => state === "open")
      const charged = open[step.index % open.length]?.charged
      if (charged === undefined) return null
      const { chargeId: id, amountMicros } = charged
      if (step.how === "close") return { type: "SettleCharges", chargeIds: [id] }
      const part = step.how === "part" && amountMicros > 1 ? 1 : null
      return { type: "RefundPendingCharge", chargeId: id, amountMicros: part, reason: "it failed" }
    }
    case "settle": {
      const ended = new Set(
        facts.flatMap((fact) =>
          fact.type === "PurchasePaid" || fact.type === "PurchaseFailed" ? [fact.purchaseId] : [],
        ),
      )
      const pending = facts.flatMap((fact) =>
        fact.type === "PurchaseStarted" && !ended.has(fact.purchaseId) ? [fact.purchaseId] : [],
      )
      const purchaseId = pending[step.index % pending.length]
      if (purchaseId === undefined) return null
      return step.paid
        ? { type: "PayPurchase", purchaseId, paymentId: `pay ${purchaseId}` }
        : { type: "FailPurchase", purchaseId, code: "declined", paymentId: null }
    }
    case "pass":
    case "border":
    case "correct":
      return null
  }
}

/** The instant of the next step. */
export function instantAfter(step: LedgerStep, now: number): number {
  if (step.does === "pass") return now + step.ms
  return step.does === "border" ? dayStart(now) + DAY - 1 : now
}
