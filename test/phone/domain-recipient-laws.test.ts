import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type DecisionStamp, isRefusal } from "../../domain/kernel/decider.ts"
import type { RecipientCommand } from "../../domain/phone/recipient.ts"
import { recipientDecider, recipientCheckpoint } from "../../domain/phone/recipient.ts"
import type {
  RecipientEvent,
  OptOutState,
  TextQueued,
} from "../../domain/phone/recipient-events.ts"
import { recipientCommands } from "./recipient-commands.ts"
import { NEW_RECIPIENT, NOW } from "./recipient-facts.ts"
import { decideStamped } from "../support/decider-spec.ts"

interface Played {
  readonly facts: readonly RecipientEvent[]
  readonly again: readonly RecipientEvent[]
}

function play(given: readonly (RecipientCommand & DecisionStamp)[]): Played {
  let state = recipientDecider.initial()
  const facts: RecipientEvent[] = []
  const again: RecipientEvent[] = []
  const decide = (one: RecipientCommand & DecisionStamp): readonly RecipientEvent[] => {
    const answer = decideStamped(recipientDecider, one, state)
    return isRefusal(answer) ? [] : answer
  }
  for (const [i, one] of given.entries()) {
    const stamped = { ...one, at: NOW + i }
    const recorded = decide(stamped)
    facts.push(...recorded)
    state = recorded.reduce((folded, fact) => recipientDecider.evolve(folded, fact), state)
    again.push(...decide(stamped))
  }
  return { facts, again }
}

/** How the recipient stands after a fact, without a look at what the fact says of it. */
function standingAfter(before: OptOutState, fact: RecipientEvent): OptOutState {
  switch (fact.type) {
    case "TextQueued":
      return { ...before, firstMessageId: before.firstMessageId ?? fact.messageId }
    case "TextRejected": {
      const wasFirst = before.firstMessageId === fact.messageId
      return wasFirst ? { ...before, firstMessageId: null } : before
    }
    case "OptedOutByText":
      return { ...before, stoppedAt: fact.at, stopKeyword: fact.keyword }
    case "OptedOutAtCarrier":
      return { ...before, stoppedAt: fact.at, stopKeyword: null }
    case "OptedInByText":
      return { ...before, stoppedAt: null, stopKeyword: null, addedAt: null }
    case "OptOutAdded":
      return { ...before, addedAt: fact.at }
    case "OptOutRemoved":
      return { ...before, addedAt: null }
    case "TextAccepted":
    case "TextDelivered":
    case "TextUndelivered":
    case "TextAbandoned":
    case "TextReceived":
    // A form ends no STOP: only their START does.
    case "OptedInByForm":
      return before
  }
}

const queuedIn = (facts: readonly RecipientEvent[]): readonly TextQueued[] =>
  facts.filter((fact) => fact.type === "TextQueued")

describe("whatever happens between a company and a recipient", () => {
  it("every fact says how the recipient stands after it", () => {
    fc.assert(
      fc.property(recipientCommands, (given) => {
        let standing: OptOutState = NEW_RECIPIENT
        for (const fact of play(given).facts) {
          standing = standingAfter(standing, fact)
          expect(fact.optOuts, fact.type).toEqual(standing)
        }
      }),
    )
  })

  it("nothing is sent to somebody who has opted out", () => {
    fc.assert(
      fc.property(recipientCommands, (given) => {
        for (const { optOuts } of queuedIn(play(given).facts)) {
          expect([optOuts.stoppedAt, optOuts.addedAt]).toEqual([null, null])
        }
      }),
    )
  })

  it("of the texts that were sent, the first carries the line and no other", () => {
    fc.assert(
      fc.property(recipientCommands, (given) => {
        const { facts } = play(given)
        // A text is the first while no text before it is on its way or sent.
        const alive = new Set<string>()
        for (const fact of facts) {
          if (fact.type === "TextRejected" && fact.optOuts.firstMessageId === null) alive.clear()
          if (fact.type !== "TextQueued") continue
          expect(fact.lineAdded).toBe(alive.size === 0)
          alive.add(fact.messageId)
        }
      }),
    )
  })

  it("a text costs what it has, and what comes back is the rest", () => {
    fc.assert(
      fc.property(recipientCommands, (given) => {
        for (const { lineAdded, refundMicros } of queuedIn(play(given).facts)) {
          expect(refundMicros).toBeGreaterThanOrEqual(0)
          expect(refundMicros).toBeLessThanOrEqual(lineAdded ? 0 : 9_000)
        }
      }),
    )
  })

  it("each text is queued or abandoned once, taken or refused once, and arrives or not once", () => {
    const steps = {
      TextQueued: [undefined],
      TextAbandoned: [undefined],
      TextAccepted: ["TextQueued"],
      TextRejected: ["TextQueued"],
      TextDelivered: ["TextAccepted"],
      TextUndelivered: ["TextAccepted"],
    } as const
    fc.assert(
      fc.property(recipientCommands, (given) => {
        const last = new Map<string, RecipientEvent["type"]>()
        for (const fact of play(given).facts) {
          if (!(fact.type in steps) || !("messageId" in fact)) continue
          expect(steps[fact.type as keyof typeof steps]).toContain(last.get(fact.messageId))
          last.set(fact.messageId, fact.type)
        }
      }),
    )
  })

  it("who agrees on a form does so once on one day, whatever else happens", () => {
    fc.assert(
      fc.property(recipientCommands, (given) => {
        // All of them are of one day.
        const { facts } = play(given)
        expect(facts.filter(({ type }) => type === "OptedInByForm").length).toBeLessThan(2)
      }),
    )
  })

  it("the same command again records nothing", () => {
    fc.assert(
      fc.property(recipientCommands, (given) => {
        expect(play(given).again).toEqual([])
      }),
    )
  })

  it("a checkpoint at any place changes nothing", () => {
    fc.assert(
      fc.property(recipientCommands, (given) => {
        let whole = recipientDecider.initial()
        let resumed = recipientDecider.initial()
        for (const one of given) {
          resumed = recipientCheckpoint.load(
            JSON.parse(JSON.stringify(recipientCheckpoint.save(resumed))),
          )
          const answer = decideStamped(recipientDecider, one, whole)
          expect(decideStamped(recipientDecider, one, resumed)).toEqual(answer)
          for (const fact of isRefusal(answer) ? [] : answer) {
            whole = recipientDecider.evolve(whole, fact)
            resumed = recipientDecider.evolve(resumed, structuredClone(fact))
          }
        }
      }),
    )
  })
})
