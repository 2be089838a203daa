/** The checks before an API call is counted, in their order (docs/api.md, "Order of checks"). */
import { describe, expect, it } from "vitest"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { readLimits } from "../../domain/charging/ledger-views.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import type { ApiCallChecks } from "../../domain/charging/served-calls.ts"
import {
  admitCall,
  checkAdmission,
  findApiCallBlocker,
  drainServedCalls,
} from "../../domain/charging/served-calls.ts"
import { foldFacts } from "../support/decider-spec.ts"
import {
  KEY_LIMIT,
  NOW,
  PERSON_LIMIT,
  callCounter,
  limitSet,
  ledgerOpened,
} from "./ledger-facts.ts"

const SPENDER = { via: "own_key", keyId: "key_1", personId: "per_1" } as const
const ALL: ApiCallChecks = {
  spender: SPENDER,
  checksLock: true,
  checksLimits: true,
  checksKeyLimit: true,
}
const CALL = { ...SPENDER, unitPriceMicros: 100, priceVersion: 1 } as const

const closed: LedgerEvent = { type: "LedgerClosed", at: NOW }
const locked: LedgerEvent = { type: "AccountLocked", at: NOW }
const keyUsedUp = limitSet({ ...KEY_LIMIT, amountMicros: 0 })
const personUsedUp = limitSet({ ...PERSON_LIMIT, amountMicros: 0 })
const companyUsedUp = limitSet({ amountMicros: 0 })

const against = (checks: Partial<ApiCallChecks>, ...facts: readonly LedgerEvent[]) => {
  const found = findApiCallBlocker(
    foldFacts(ledgerDecider, ledgerOpened(), ...facts),
    { ...ALL, ...checks },
    NOW,
  )
  return typeof found === "object" && found !== null ? found.holder : found
}

describe("the reason to reject a call", () => {
  it("is null if the call fits", () => {
    expect(against({}, limitSet(), limitSet(KEY_LIMIT))).toBeNull()
  })

  it("is the company's deletion first, then the key's limit, the lock, another limit", () => {
    const all = [personUsedUp, companyUsedUp, locked, keyUsedUp]
    expect(against({}, ...all, closed)).toBe("closed")
    expect(against({}, ...all)).toBe("key")
    expect(against({}, ...all.slice(0, 3))).toBe("locked")
    expect(against({}, ...all.slice(0, 2))).toBe("person")
    expect(against({}, companyUsedUp)).toBe("company")
  })

  it("is only one that the route checks, and always the company's deletion", () => {
    const none = { checksLock: false, checksLimits: false, checksKeyLimit: false }
    expect(against(none, keyUsedUp, locked, companyUsedUp)).toBeNull()
    expect(against(none, closed)).toBe("closed")
    expect(against({ ...none, checksKeyLimit: true }, keyUsedUp, locked)).toBe("key")
    expect(against({ ...none, checksLock: true }, keyUsedUp, locked)).toBe("locked")
    expect(against({ ...none, checksLimits: true }, keyUsedUp, locked)).toBe("key")
    expect(against({ ...none, checksKeyLimit: true }, companyUsedUp)).toBeNull()
  })
})

describe("an admitted call", () => {
  it("is counted immediately, and buffered to be stored", () => {
    const state = foldFacts(ledgerDecider, ledgerOpened(), limitSet({ amountMicros: 200 }))
    expect(admitCall(state, { ...CALL, checks: ALL }, NOW)).toBeNull()
    expect(readLimits(state, NOW)).toMatchObject([{ usedMicros: 100, unrecordedMicros: 100 }])
    expect(drainServedCalls(state)).toMatchObject({
      type: "RecordApiCalls",
      counters: [callCounter(1)],
    })
  })

  it("is not counted if it is rejected or only checked", () => {
    const state = foldFacts(ledgerDecider, ledgerOpened(), limitSet({ amountMicros: 200 }), locked)
    const checked = { ...CALL, checks: ALL }
    expect(checkAdmission(state, checked, NOW)).toBe("locked")
    expect(admitCall(state, checked, NOW)).toBe("locked")
    expect(checkAdmission(state, CALL, NOW)).toBeNull()
    expect(drainServedCalls(state)).toBeNull()
  })

  it("is rejected if it would exceed a limit, even without checks", () => {
    const state = foldFacts(ledgerDecider, ledgerOpened(), limitSet({ amountMicros: 199 }))
    expect(admitCall(state, CALL, NOW)).toBeNull()
    for (const enter of [checkAdmission, admitCall]) {
      expect(enter(state, CALL, NOW)).toMatchObject({ usedMicros: 100, remainingMicros: 99 })
    }
    expect(drainServedCalls(state)).toMatchObject({ counters: [callCounter(1)] })
  })
})
