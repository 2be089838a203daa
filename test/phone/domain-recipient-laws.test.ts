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

interface PlayedCommands {
  readonly facts: readonly RecipientEvent[]
  /** Facts that the commands record when they are repeated immediately. */
  readonly repeatedFacts: readonly RecipientEvent[]
}

function play(commands: readonly (RecipientCommand & DecisionStamp)[]): PlayedCommands {
  let state = recipientDecider.initial()
  const facts: RecipientEvent[] = []
  const repeatedFacts: RecipientEvent[] = []
  const decide = (one: RecipientCommand & DecisionStamp): readonly RecipientEvent[] => {
    const answer = decideStamped(recipientDecider, one, state)
    return isRefusal(answer) ? [] : answer
  }
  for (const [i, one] of commands.entries()) {
    const stamped = { ...one, at: NOW + i }
    const recorded = decide(stamped)
    facts.push(...recorded)
    state = recorded.reduce((folded, fact) => recipientDecider.evolve(folded, fact), state)
    repeatedFacts.push(...decide(stamped))
  }
  return { facts, repeatedFacts }
}

/** The opt-out state after a fact, derived independently of the state that the fact carries. */
function optOutsAfter(before: OptOutState, fact: RecipientEvent): OptOutState {
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
    // An opt-in by form does not end a STOP; only a START does.
    case "OptedInByForm":
      return before
  }
}

const queuedIn = (facts: readonly RecipientEvent[]): readonly TextQueued[] =>
  facts.filter((fact) => fact.type === "TextQueued")

describe("in any history of a company and a recipient", () => {
  it("every fact carries the opt-out state after it", () => {
    fc.assert(
      fc.property(recipientCommands, (commands) => {
        let optOuts: OptOutState = NEW_RECIPIENT
        for (const fact of play(commands).facts) {
          optOuts = optOutsAfter(optOuts, fact)
          expect(fact.optOuts, fact.type).toEqual(optOuts)
        }
      }),
    )
  })

  it("no text is queued after an opt-out", () => {
    fc.assert(
      fc.property(recipientCommands, (commands) => {
        for (const { optOuts } of queuedIn(play(commands).facts)) {
          expect([optOuts.stoppedAt, optOuts.addedAt]).toEqual([null, null])
        }
      }),
    )
  })

  it("only the first sent text has the opt-out line", () => {
    fc.assert(
      fc.property(recipientCommands, (commands) => {
        const { facts } = play(commands)
        // A text is the first if no earlier text is queued or sent.
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

  it("a text without the line refunds at most the price of the line", () => {
    fc.assert(
      fc.property(recipientCommands, (commands) => {
        for (const { lineAdded, refundMicros } of queuedIn(play(commands).facts)) {
          expect(refundMicros).toBeGreaterThanOrEqual(0)
          expect(refundMicros).toBeLessThanOrEqual(lineAdded ? 0 : 9_000)
        }
      }),
    )
  })

  it("each text is queued or abandoned once, accepted or rejected once, and delivered or undelivered once", () => {
    const steps = {
      TextQueued: [undefined],
      TextAbandoned: [undefined],
      TextAccepted: ["TextQueued"],
      TextRejected: ["TextQueued"],
      TextDelivered: ["TextAccepted"],
      TextUndelivered: ["TextAccepted"],
    } as const
    fc.assert(
      fc.property(recipientCommands, (commands) => {
        const last = new Map<string, RecipientEvent["type"]>()
        for (const fact of play(commands).facts) {
          if (!(fact.type in steps) || !("messageId" in fact)) continue
          expect(steps[fact.type as keyof typeof steps]).toContain(last.get(fact.messageId))
          last.set(fact.messageId, fact.type)
        }
      }),
    )
  })

  it("an opt-in by form is recorded once per day", () => {
    fc.assert(
      fc.property(recipientCommands, (commands) => {
        // All commands are on one day.
        const { facts } = play(commands)
        expect(facts.filter(({ type }) => type === "OptedInByForm").length).toBeLessThan(2)
      }),
    )
  })

  it("a repeated command records nothing", () => {
    fc.assert(
      fc.property(recipientCommands, (commands) => {
        expect(play(commands).repeatedFacts).toEqual([])
      }),
    )
  })

  it("a checkpoint after any command changes nothing", () => {
    fc.assert(
      fc.property(recipientCommands, (commands) => {
        let uninterrupted = recipientDecider.initial()
        let resumed = recipientDecider.initial()
        for (const one of commands) {
          resumed = recipientCheckpoint.load(
            JSON.parse(JSON.stringify(recipientCheckpoint.save(resumed))),
          )
          const answer = decideStamped(recipientDecider, one, uninterrupted)
          expect(decideStamped(recipientDecider, one, resumed)).toEqual(answer)
          for (const fact of isRefusal(answer) ? [] : answer) {
            uninterrupted = recipientDecider.evolve(uninterrupted, fact)
            resumed = recipientDecider.evolve(resumed, structuredClone(fact))
          }
        }
      }),
    )
  })
})
