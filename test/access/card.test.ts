import { describe, expect, it } from "vitest"
import type { AccessEvent } from "../../domain/access/access-events.ts"
import {
  accessDecider,
  cardCheckOf,
  companyProfileOf,
  processorCustomerOf,
} from "../../domain/access/access.ts"
import { foldFacts, given } from "../support/decider-spec.ts"
import { NOW, companyOpened } from "./facts.ts"

const cardSet: AccessEvent = { type: "CardSet", at: NOW, verified: false, failing: false }
const cardRemoved: AccessEvent = { type: "CardRemoved", at: NOW }
const hold = { at: NOW, holdId: "hold_1", amountMicros: 49_000_000 } as const
const started: AccessEvent = { type: "CardCheckStarted", ...hold }
const start = { type: "StartCardCheck", ...hold } as const
const { holdId } = hold
const verified: AccessEvent = { type: "CardVerified", at: NOW, holdId }
const failed: AccessEvent = { type: "CardCheckFailed", at: NOW, holdId, code: "declined" }
const end = { type: "EndCardCheck", at: NOW, holdId, failure: null } as const

describe("SetProcessorCustomer", () => {
  const set = { type: "SetProcessorCustomer", at: NOW, customerId: "cus_1" } as const
  const known: AccessEvent = { type: "ProcessorCustomerSet", at: NOW, customerId: "cus_1" }

  it("records the company's customer at the processor, and its replacement", () => {
    given(accessDecider, companyOpened).when(set).records(known)
    given(accessDecider, companyOpened, known).when(set).recordsNothing()
    const other = { customerId: "cus_2" } as const
    given(accessDecider, companyOpened, known)
      .when({ ...set, ...other })
      .records({ ...known, ...other })
    given(accessDecider).when(set).refuses("no_such_company")
  })

  it("keeps the customer when the card is removed", () => {
    expect(processorCustomerOf(foldFacts(accessDecider, companyOpened))).toBeNull()
    expect(
      processorCustomerOf(foldFacts(accessDecider, companyOpened, known, cardSet, cardRemoved)),
    ).toBe("cus_1")
  })
})

describe("StartCardCheck", () => {
  it("starts one check at a time of a card on file", () => {
    given(accessDecider, companyOpened, cardSet).when(start).records(started)
    given(accessDecider, companyOpened, cardSet, started)
      .when({ ...start, holdId: "hold_2" })
      .recordsNothing()
    given(accessDecider, companyOpened).when(start).refuses("no_card")
    given(accessDecider, companyOpened, cardSet, cardRemoved).when(start).refuses("no_card")
  })

  it("starts none for a verified card, and another one after a failed check", () => {
    given(accessDecider, companyOpened, cardSet, started, verified).when(start).recordsNothing()
    const next = { ...hold, holdId: "hold_2" } as const
    given(accessDecider, companyOpened, cardSet, started, failed)
      .when({ ...start, ...next })
      .records({ type: "CardCheckStarted", ...next })
  })
})

describe("EndCardCheck", () => {
  it("verifies the card or records the failure, once", () => {
    given(accessDecider, companyOpened, cardSet, started).when(end).records(verified)
    given(accessDecider, companyOpened, cardSet, started)
      .when({ ...end, failure: "declined" })
      .records(failed)
    for (const ended of [verified, failed]) {
      given(accessDecider, companyOpened, cardSet, started, ended).when(end).recordsNothing()
    }
    given(accessDecider, companyOpened, cardSet).when(end).recordsNothing()
  })

  it.each([
    ["is removed", [cardRemoved]],
    ["is replaced", [cardRemoved, cardSet]],
    ["starts to fail", [{ ...cardSet, failing: true }]],
  ])("does not verify a card that %s during the check", (_what, changes) => {
    const changed = { ...failed, code: "card_changed" } as AccessEvent
    given(accessDecider, companyOpened, cardSet, started, ...changes)
      .when(end)
      .records(changed)
    given(accessDecider, companyOpened, cardSet, started, ...changes)
      .when({ ...end, failure: "declined" })
      .records(failed)
  })

  it("keeps whether the card's payments fail", () => {
    const failing: AccessEvent = { ...cardSet, failing: true }
    const state = foldFacts(accessDecider, companyOpened, failing, started, verified)
    expect(companyProfileOf(state)?.card).toEqual({ verified: true, failing: true })
    const { amountMicros, at: startedAt } = hold
    expect(cardCheckOf(state)).toEqual({ holdId, amountMicros, startedAt, outcome: "verified" })
  })
})
