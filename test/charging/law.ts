/** What a law is, and what every law needs in order to judge a trace. */
import type { ChargeRefused } from "../../domain/charging/ledger-formats.ts"
import type { Known } from "./plain-facts.ts"
import type { Decided, Served, Trace } from "./play.ts"
import type { Subject } from "./subject.ts"

/** A law: what of it a ledger breaks in a trace, or null. */
export type Law = (trace: Trace, subject: Subject) => string | null

/** What the process of a step knew, so many facts after the step began. */
export function knownAt(
  { facts }: Trace,
  { before, gathered }: Decided | Served,
  after = 0,
): Known {
  return { facts: facts.slice(0, before + after), gathered }
}

/** Any value as text that is equal for equal values; the fields of this name left out. */
export function show(value: unknown, leftOut?: keyof ChargeRefused | "message"): string {
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
