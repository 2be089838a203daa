/** What holds of every history of a registration, and the rules that are wrong on purpose, each seen to fail. */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { REGISTRATION } from "../../domain/registration/aggregates.ts"
import { registration } from "../../domain/registration/registration.ts"
import { runsOf } from "../charging/runs.ts"
import { FAULTS } from "./faulty-registrations.ts"
import { registrationHistories } from "./registration-commands.ts"
import { LAWS, play } from "./registration-laws.ts"

describe("a registration that is kept beside its stream", () => {
  it("is the one that its facts come to, whatever they are", () => {
    const { decider, codec, checkpoint } = REGISTRATION
    fc.assert(
      fc.property(registrationHistories, (history) => {
        let state = decider.initial()
        for (const fact of play(registration, history)) {
          const stored = codec.decode(fact.type, codec.version(fact.type), codec.encode(fact))
          state = decider.evolve(state, stored)
        }
        const kept = JSON.parse(JSON.stringify(checkpoint.save(state)))
        expect(checkpoint.load(kept)).toEqual(state)
      }),
      runsOf(100),
    )
  })
})

describe("every history", () => {
  it.each(Object.entries(LAWS))("%s", (_name, law) => {
    fc.assert(
      fc.property(registrationHistories, (history) => {
        expect(law(play(registration, history))).toBe("")
      }),
      runsOf(300, 3_000),
    )
  })

  it.each(FAULTS)("shows it where $fault", ({ breaks, rules }) => {
    const law = LAWS[breaks]
    if (law === undefined) throw new Error(`there is no law ${breaks}`)
    const found = fc.check(
      fc.property(registrationHistories, (history) => law(play(rules, history)) === ""),
      { numRuns: 20_000 },
    )
    expect(found.failed).toBe(true)
  })
})
