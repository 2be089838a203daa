/** The type of a law, and helpers that every law needs to check a trace. */
import type { ChargeRefused } from "../../domain/charging/ledger-events.ts"
import type { ProcessKnowledge } from "./reference-views.ts"
import type { DecisionStep, ServedStep, LedgerTrace } from "./play-history.ts"
import type { LedgerUnderTest } from "./ledger-under-test.ts"

/** A law: describes how a ledger breaks it in a trace, or returns null. */
export type LedgerLaw = (trace: LedgerTrace, subject: LedgerUnderTest) => string | null

/** What a step's process knew, including this many facts after the step began. */
export function knownAt(
  { facts }: LedgerTrace,
  { factsBefore, buffered }: DecisionStep | ServedStep,
  after = 0,
): ProcessKnowledge {
  return { facts: facts.slice(0, factsBefore + after), buffered }
}

/** Text that is equal for equal values, with fields of this name left out. */
export function canonicalText(value: unknown, leftOut?: keyof ChargeRefused | "message"): string {
  const sorted = (_key: string, item: unknown): unknown => {
    if (typeof item !== "object" || item === null || Array.isArray(item)) return item
    return Object.fromEntries(
      Object.entries(item)
        .filter(([name]) => name !== leftOut)
        .toSorted(([a], [b]) => (a < b ? -1 : 1)),
    )
  }
  return JSON.stringify(value, sorted) ?? "nothing"
}
