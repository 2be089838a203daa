/** Each law is seen to fail where a decider gets wrong what it is about. */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { call } from "../../domain/voice/call.ts"
import type { LawName } from "./call-laws.ts"
import { LAWS, plans } from "./call-laws.ts"
import type { CallDecider } from "./call-model.ts"
import { playCall } from "./call-model.ts"
import type { CallCommand } from "../../domain/voice/call-commands.ts"
import type { CallEvent, CallFact } from "../../domain/voice/call-events.ts"
import type { Live } from "../../domain/voice/call-state.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"

/** A decider that does one thing wrong. */
interface FaultyCall {
  readonly fault: string
  readonly breaks: LawName
  readonly decider: CallDecider
}

/** Records something else than the real one. */
function deciding(
  change: (
    facts: readonly CallEvent[],
    command: CallCommand,
    known: Live | null,
    at: number,
  ) => readonly CallEvent[],
): CallDecider {
  return {
    ...call,
    decide: (command, state, stamp) => {
      const answer = call.decide(command, state, stamp)
      return isRefusal(answer) ? answer : change(answer, command, state.call, stamp.at)
    },
  }
}

/** Records another fact than the right one, or none. */
function recording<T extends CallEvent["type"]>(
  type: T,
  change: (fact: CallFact<T>) => readonly CallEvent[],
): CallDecider {
  const isOne = (fact: CallEvent): fact is CallFact<T> & CallEvent => fact.type === type
  return deciding((facts) => facts.flatMap((fact) => (isOne(fact) ? change(fact) : [fact])))
}

/** Does not hear what it is told. */
function deafTo(isUnheard: (command: CallCommand, known: Live | null) => boolean): CallDecider {
  return deciding((facts, command, known) => (isUnheard(command, known) ? [] : facts))
}

/** Decides a command as if the call were so. */
function asIf(
  isMeant: (command: CallCommand, known: Live) => boolean,
  changes: Partial<Live>,
): CallDecider {
  return {
    ...call,
    decide: (command, state, stamp) => {
      const { call: known } = state
      if (known === null || !isMeant(command, known)) return call.decide(command, state, stamp)
      return call.decide(command, { ...state, call: { ...known, ...changes } }, stamp)
    },
  }
}

const FACTS: readonly FaultyCall[] = [
  {
    fault: "joins again where the caller's leg is said to be open once more",
    breaks: "joinsOnce",
    decider: asIf(({ type }, { phase }) => type === "OpenLeg" && phase === "talking", {
      phase: "accepted",
      answeredAt: null,
    }),
  },
  {
    fault: "rings while the first minute is not paid",
    breaks: "paysFirst",
    decider: deciding((facts, command, _known, at) => {
      const isOffer = command.type === "OfferCall" && facts.length > 0
      const { callId } = command
      const untilAt = at + 25_000
      return isOffer ? [...facts, { type: "CallRang", at, callId, legs: [1], untilAt }] : facts
    }),
  },
  {
    fault: "lets the others ring on where somebody takes the call",
    breaks: "ringsNobodyElse",
    decider: recording("CallAccepted", (fact) => [{ ...fact, drops: [] }]),
  },
  {
    fault: "gives the call to a second one who presses 1",
    breaks: "ringsNobodyElse",
    decider: deciding((facts, command, known, at) => {
      if (command.type !== "OpenLeg" || known?.phase !== "accepted" || facts.length === 0)
        return facts
      const { callId, leg } = command
      return [...facts, { type: "LegAsked", at, callId, leg, untilAt: at + 20_000 }]
    }),
  },
  {
    fault: "records where the notice took too long",
    breaks: "recordsAnnounced",
    decider: recording("CallJoined", (fact) => [{ ...fact, isRecorded: true }]),
  },
  {
    fault: "records as soon as one side heard the notice",
    breaks: "recordsAnnounced",
    decider: asIf(({ type }, { phase }) => type === "FinishSaying" && phase === "accepted", {
      heard: [9],
    }),
  },
]

const ENDS: readonly FaultyCall[] = [
  {
    fault: "leaves those up who ring when the caller goes",
    breaks: "everyLegEnds",
    decider: recording("CallEnded", (fact) => [{ ...fact, drops: [] }]),
  },
  {
    fault: "waits for ever for the key of somebody who answered",
    breaks: "everyWaitEnds",
    decider: deafTo((command) => command.type === "PassDeadline" && command.of === "ask"),
  },
  {
    fault: "lets a call last for ever",
    breaks: "everyLegEnds",
    decider: deafTo((command) => command.type === "PassDeadline" && command.of === "talk"),
  },
  {
    fault: "forgets who went before the call was heard of",
    breaks: "goneBeforeIsMissed",
    decider: {
      ...call,
      evolve: (state, fact) => ({ ...call.evolve(state, fact), goneEarly: null }),
    },
  },
  {
    fault: "does not answer a yes to the money that comes behind the end",
    breaks: "everyMinuteEnds",
    decider: deafTo(({ type }, known) => type === "PayMinute" && known?.phase === "ended"),
  },
  {
    fault: "charges no minute that was spoken behind the last that was looked at",
    breaks: "everyMinuteEnds",
    decider: deafTo(({ type }, known) => type === "BeginMinute" && known?.phase === "ended"),
  },
  {
    fault: "counts the caller's time from when it was asked to open the leg",
    breaks: "unansweredIsFree",
    decider: deciding((facts, _command, _known, at) => {
      return facts.flatMap((fact): readonly CallEvent[] => {
        if (fact.type !== "GreetingBegun" && fact.type !== "CallAccepted") return [fact]
        return [fact, { type: "CallerAnswered", at, callId: fact.callId, answeredAt: at }]
      })
    }),
  },
  {
    fault: "takes a later word on when the caller went",
    breaks: "lastsAsTheCarrierSays",
    decider: recording("CallerGone", (fact) => [{ ...fact, goneAt: fact.at }]),
  },
  {
    fault: "calls a call a voicemail where one is found",
    breaks: "answeredStays",
    decider: {
      ...call,
      evolve: (state, fact) => {
        const folded = call.evolve(state, fact)
        if (fact.type === "AudioSaved" && folded.call !== null) folded.call.outcome = "voicemail"
        return folded
      },
    },
  },
]

/** All of them. */
const FAULTY_CALLS: readonly FaultyCall[] = [...FACTS, ...ENDS]

/** After how many calls a law notices that a decider is wrong; null where it does not. */
function noticedAfter(decider: CallDecider, law: LawName, numRuns = 20_000): number | null {
  const property = fc.property(plans, (plan) => LAWS[law](playCall(decider, plan)) === null)
  const details = fc.check(property, { seed: 20_261_125, numRuns, endOnFailure: true })
  return details.failed ? details.numRuns : null
}

describe("a decider of calls", () => {
  it.each(FAULTY_CALLS)("that $fault breaks $breaks", ({ decider, breaks }) => {
    expect(noticedAfter(decider, breaks)).not.toBeNull()
  })

  it("that is right breaks no law", () => {
    const names = Object.keys(LAWS) as LawName[]
    expect(names.filter((law) => noticedAfter(call, law, 500) !== null)).toEqual([])
  })

  it("is wrong in a way that each law notices", () => {
    const noticed = new Set<string>(FAULTY_CALLS.map(({ breaks }) => breaks))
    expect([...noticed].toSorted()).toEqual(Object.keys(LAWS).toSorted())
  })
})
