import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { postingsOf } from "../../domain/charging/postings.ts"
import { histories } from "./histories.ts"
import { charged, funded, givenBack, limitSet } from "./ledger-facts.ts"
import { fundsIn } from "./plain-facts.ts"
import { play } from "./play.ts"
import { realLedger } from "./subject.ts"

describe("postings", () => {
  it("move what a fact moves, from one account to another", () => {
    expect(postingsOf(funded(7))).toEqual([
      { account: "credits", amountMicros: -7 },
      { account: "funds", amountMicros: 7 },
    ])
    expect(postingsOf(charged())).toEqual([
      { account: "funds", amountMicros: -9_000 },
      { account: "spending:general:text_segment", amountMicros: 9_000 },
    ])
    expect(postingsOf(givenBack({ amountMicros: 1 }))).toEqual([
      { account: "spending:general:text_segment", amountMicros: -1 },
      { account: "funds", amountMicros: 1 },
    ])
    expect(postingsOf(limitSet())).toEqual([])
  })

  it("sum to zero in every fact, and the account of the funds is the funds", () => {
    fc.assert(
      fc.property(histories(40), (history) => {
        const { facts } = play(realLedger, history)
        const balances = new Map<string, number>()
        for (const fact of facts) {
          const postings = postingsOf(fact)
          expect(postings.reduce((sum, { amountMicros }) => sum + amountMicros, 0)).toBe(0)
          for (const { account, amountMicros } of postings) {
            balances.set(account, (balances.get(account) ?? 0) + amountMicros)
          }
        }
        expect(balances.get("funds") ?? 0).toBe(fundsIn(facts))
        const spending = [...balances].filter(([account]) => account.startsWith("spending:"))
        // What was given back never exceeds what was spent, in any account.
        expect(spending.every(([, balance]) => balance >= 0)).toBe(true)
      }),
      { numRuns: 40 },
    )
  })
})
