import { describe, expect, it } from "vitest"
import { agreedOn, isOptedOut, recipient, standingOf } from "../../domain/phone/recipient.ts"
import { fold, given } from "../support/spec.ts"
import {
  FRESH,
  NOW,
  STOPPED,
  agree,
  agreed,
  optOutAdded,
  optedIn,
  optedOut,
} from "./recipient-facts.ts"

const MIDNIGHT = Date.parse("2026-03-03T00:00:00.000Z")

describe("a form on which somebody agrees", () => {
  it("is recorded as it says", () => {
    given(recipient).when(agree()).records(agreed())
    const service = { offers: false, method: "paper", sourceUrl: null } as const
    given(recipient).when(agree(service)).records(agreed(service))
  })

  it("is recorded once on one UTC day, whatever the second one says", () => {
    const last = { optInId: "opt_2", at: MIDNIGHT - 1, offers: false } as const
    given(recipient, agreed()).when(agree(last)).recordsNothing()
    const next = { optInId: "opt_2", at: MIDNIGHT } as const
    given(recipient, agreed()).when(agree(next)).records(agreed(next))
    given(recipient, agreed(), agreed(next))
      .when(agree({ ...next, at: MIDNIGHT + 1 }))
      .recordsNothing()
  })

  it("ends no STOP, and no opt-out of the company's", () => {
    given(recipient, optedOut())
      .when(agree())
      .records(agreed({ standing: STOPPED }))
    const added = { ...FRESH, addedAt: NOW }
    given(recipient, optOutAdded())
      .when(agree())
      .records(agreed({ standing: added }))
    for (const fact of [optedOut(), optOutAdded()]) {
      const state = fold(recipient, fact, agreed({ standing: fact.standing }))
      expect(isOptedOut(standingOf(state))).toBe(true)
    }
  })

  it("stands beside a START, which says nothing of a form", () => {
    const state = fold(recipient, optedOut(), optedIn())
    expect(agreedOn(state, NOW)).toBe(false)
    given(recipient, optedOut(), optedIn()).when(agree()).records(agreed())
  })
})
