/** The names that a ledger remembers, derived from a list of facts (docs/decisions/api.md). */
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { LedgerFacts } from "./reference-views.ts"

const MAX_REMEMBERED_NAMES = 256

/** The name that a fact uses, or null. */
export function nameUsedBy(fact: LedgerEvent): string | null {
  if (fact.type === "Charged" && fact.isExternalId) return `charge ${fact.chargeId}`
  return fact.type === "ChargeReduced" ? `back ${fact.chargeId}` : null
}

/** The status of a name that a search up to a revision did not find. */
export function nameStatusIn(
  facts: LedgerFacts,
  name: string,
  searchedTo: number,
): "used" | "new" | "unsure" {
  const { names, forgottenTo } = namesIn(facts)
  if (names.some((one) => one.name === name)) return "used"
  return searchedTo < forgottenTo ? "unsure" : "new"
}

/** Whether a name was used after a revision, or may have been and was forgotten. */
export function isNamePossiblyUsedSince(
  facts: LedgerFacts,
  name: string,
  revision: number,
): boolean {
  const { names, forgottenTo } = namesIn(facts)
  const used = names.find((one) => one.name === name)
  return used === undefined ? forgottenTo > revision : used.revision > revision
}

/** The remembered names, and the newest revision of a forgotten one. */
function namesIn(facts: LedgerFacts) {
  const names: { name: string; revision: number }[] = []
  let forgottenTo = -1
  for (const [revision, fact] of facts.entries()) {
    const used = nameUsedBy(fact)
    if (used === null) continue
    const former = names.find((one) => one.name === used)
    if (former === undefined) names.push({ name: used, revision })
    else former.revision = revision
    if (names.length > MAX_REMEMBERED_NAMES) {
      forgottenTo = Math.max(forgottenTo, names.shift()?.revision ?? -1)
    }
  }
  return { names, forgottenTo }
}
