/** Compares the memory size that a ledger's state reports with its serialized size. */
import { serialize } from "node:v8"
import { expect, it } from "vitest"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { LedgerState } from "../../domain/charging/ledger-state.ts"
import { ledgerBytes } from "../../domain/charging/ledger-state.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import { foldFacts } from "../support/decider-spec.ts"
import {
  KEY_LIMIT,
  callCounter,
  charged,
  apiCallsCounted,
  fundsAdded,
  limitSet,
  ledgerOpened,
} from "./ledger-facts.ts"
import { purchaseTermsSetFact } from "./purchase-facts.ts"

const MANY = 2_000
const many = (fact: (name: string) => LedgerEvent): LedgerState =>
  foldFacts(
    ledgerDecider,
    ledgerOpened(0),
    ...Array.from({ length: MANY }, (_, i) => fact(`a_name_of_22_letters_${i}`)),
  )

it.each<[string, (name: string) => LedgerEvent]>([
  ["keys that spent", (name) => charged({ keyId: `key_${name}`, isPending: false })],
  ["pending charges", (chargeId) => charged({ chargeId })],
  ["limits of keys", (name) => limitSet({ ...KEY_LIMIT, holderId: `key_${name}` })],
  ["references of funds", (reference) => fundsAdded(1, reference)],
  [
    "counters of calls",
    (name) => apiCallsCounted({ counters: [{ ...callCounter(2), keyId: `key_${name}` }] }),
  ],
  ["terms of purchases", (name) => purchaseTermsSetFact({}, `key_${name}`)],
])("estimates the memory of %s", (_case, fact) => {
  const state = many(fact)
  const bytes = ledgerBytes(state)
  const written = serialize({ ...state, counters: { ...state.counters, lastLookup: null } }).length
  expect(bytes).toBeGreaterThan(written / 2)
  expect(bytes).toBeLessThan(written * 4)
})
