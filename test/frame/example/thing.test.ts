/** The rules of things. */
import { describe, it } from "vitest"
import { given, withUsualFields } from "../../support/decider-spec.ts"
import type { ThingCommand, ThingEvent } from "./thing.ts"
import { thingRules } from "./thing.ts"

const LAMP = { thingId: "thing_a", chargeId: "chg_a", maker: "workshop", name: "Lamp" } as const
const ordered = withUsualFields<ThingEvent>({ ...LAMP, type: "ThingOrdered", at: 1 })
const order = withUsualFields<ThingCommand>({ ...LAMP, type: "OrderThing" })
const ended = { type: "ThingEnded" as const, at: 1, thingId: "thing_a" as const }
const end = { type: "EndThing" as const, thingId: "thing_a" as const, outcome: "made" as const }
const abandon = { type: "AbandonThing" as const, thingId: "thing_a" as const, at: 2 }

describe("a thing", () => {
  it("is ordered once", () => {
    given(thingRules)
      .when({ ...order(), at: 1 })
      .records(ordered())
    given(thingRules, ordered())
      .when({ ...order(), at: 2 })
      .recordsNothing()
  })

  it("has a unique name unless it was rejected", () => {
    const other = { ...order({ thingId: "thing_b" }), at: 2 }
    given(thingRules, ordered()).when(other).refuses("name_taken")
    given(thingRules, ordered(), { ...ended, outcome: "made" })
      .when(other)
      .refuses("name_taken")
    given(thingRules, ordered(), { ...ended, outcome: "refused" })
      .when(other)
      .records(ordered({ thingId: "thing_b", at: 2 }))
  })

  it("ends once, after its order", () => {
    given(thingRules, ordered())
      .when({ ...end, at: 2 })
      .records({ ...ended, at: 2, outcome: "made" })
    given(thingRules, ordered(), { ...ended, outcome: "refused" })
      .when({ ...end, at: 2 })
      .recordsNothing()
    given(thingRules)
      .when({ ...end, at: 2 })
      .recordsNothing()
  })

  it("is never ordered after it was abandoned, and never abandoned after its order", () => {
    given(thingRules)
      .when(abandon)
      .records({ ...ended, at: 2, outcome: "abandoned" })
    given(thingRules, { ...ended, outcome: "abandoned" })
      .when({ ...order(), at: 2 })
      .refuses("abandoned")
    given(thingRules, ordered()).when(abandon).recordsNothing()
  })
})
