/** The laws of a call hold in tens of thousands of calls, and each fails where a decider gets wrong what it is about. */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { CallEvent, CallFact } from "../../domain/voice/call-events.ts"
import {
  MAX_CALL_MINUTES,
  callSecondsOf,
  billableMinutes,
} from "../../domain/voice/call-minutes.ts"
import type {
  CallDeadline,
  CallDeadlineName,
  CallCommand,
} from "../../domain/voice/call-commands.ts"
import { callDeadlineOf } from "../../domain/voice/call-commands.ts"
import { callInstructionsOf } from "../../domain/voice/call-instructions.ts"
import type { Callee, CallPlan, PlayedCall, ModelLeg, CallDecider } from "./call-model.ts"
import { playCallPlan } from "./call-model.ts"
import { callDecider } from "../../domain/voice/call.ts"
import { propertyRuns } from "../charging/property-runs.ts"
import type { OfferedCall } from "../../domain/voice/call-state.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"

const ofType = <T extends CallEvent["type"]>(facts: readonly CallEvent[], type: T) =>
  facts.filter((fact): fact is CallFact<T> & CallEvent => fact.type === type)

const countOf = (facts: readonly CallEvent[], word: string) =>
  facts.flatMap(callInstructionsOf).filter((one) => one.word === word).length

const callerOf = ({ legs }: PlayedCall): ModelLeg => legs.get(0) as ModelLeg

/** So late a timer may be in the model. */
const TIMER_LATE_MS = 500

/** Whether a fact ends what a deadline is of. */
function isEndOf({ of, leg }: CallDeadline, fact: CallEvent): boolean {
  if (of === "ask" && "leg" in fact && fact.leg === leg) return true
  const ends: Readonly<Record<CallDeadlineName, readonly CallEvent["type"][]>> = {
    ring: [],
    ask: ["CallAccepted", "CallEnded"],
    answer: ["CallEnded", "RecordingNoticeStarted", "CallBridged"],
    notice: ["CallEnded", "CallBridged"],
    greeting: ["CallEnded", "VoicemailStarted"],
    voicemail: ["CallEnded"],
    talk: ["CallEnded"],
  }
  return ends[of].includes(fact.type)
}

/** Each law says what is wrong; null where nothing is. */
const LAWS = {
  /** The two sides are joined once at most. */
  joinsOnce: ({ facts }: PlayedCall) =>
    countOf(facts, "join") > 1 ? `${countOf(facts, "join")} joins` : null,

  /** Nobody rings, and no leg is opened, before the first minute is paid. */
  paysFirst: ({ facts }: PlayedCall) => {
    const paidAt = facts.findIndex((fact) => fact.type === "CallMinutePaid" && fact.minute === 1)
    const before = paidAt < 0 ? facts : facts.slice(0, paidAt)
    const done = before.flatMap(callInstructionsOf).filter(({ word }) => word !== "reject")
    return done.length === 0 ? null : `${done[0]?.word} before the first minute is paid`
  },

  /** Once somebody takes the call nobody else's phone rings. */
  ringsNobodyElse: ({ facts }: PlayedCall) => {
    const at = facts.findIndex(({ type }) => type === "CallAccepted")
    const accepted = facts[at]
    if (accepted?.type !== "CallAccepted") return null
    const before = facts.slice(0, at)
    const silent = new Set<number>([accepted.leg, ...accepted.hangUpLegs])
    for (const { leg } of [...ofType(before, "LegEnded"), ...ofType(before, "LegHungUp")]) {
      silent.add(leg)
    }
    const rung = ofType(before, "LegsDialed").flatMap(({ legs }) => legs)
    const still = rung.filter((leg) => !silent.has(leg))
    if (still.length > 0) return `${still.join()} rings on`
    const behind = facts
      .slice(at + 1)
      .filter(({ type }) => type === "LegsDialed" || type === "LegPrompted")
    return behind.length === 0 ? null : `${behind[0]?.type} behind the acceptance`
  },

  /** Nothing of a call is recorded before both sides heard so. */
  recordsAnnounced: ({ facts }: PlayedCall) => {
    const at = facts.findIndex((fact) => fact.type === "CallBridged" && fact.isRecorded)
    const joined = facts[at]
    if (joined?.type !== "CallBridged") return null
    const heard = new Set(ofType(facts.slice(0, at), "LegPromptPlayed").map(({ leg }) => leg))
    return heard.has(0) && heard.has(joined.leg) ? null : "recorded unannounced"
  },

  /** The call ends, and with it every leg. */
  everyLegEnds: ({ state, legs }: PlayedCall) => {
    if (state.call?.phase !== "ended") return `it is ${String(state.call?.phase)}`
    const alive = [...legs].filter(([, { state: how }]) => how !== "gone")
    return alive.length === 0 ? null : `legs ${alive.map(([leg]) => leg).join()} live on`
  },

  /** No state of a call is waited in for longer than its deadline, but for what a timer is late. */
  everyWaitEnds: ({ facts }: PlayedCall) => {
    for (const [i, fact] of facts.entries()) {
      const deadline = callDeadlineOf(fact)
      if (deadline === null || deadline.of === "ring") continue
      const ends = facts.slice(i + 1).find((one) => isEndOf(deadline, one))
      if ((ends?.at ?? Infinity) > deadline.deadlineAt + TIMER_LATE_MS)
        return `${deadline.of} is late`
    }
    return null
  },

  /** A call whose caller went before it was heard of asks for no money, and nobody rings. */
  goneBeforeIsMissed: ({ facts, state }: PlayedCall) => {
    if (facts[0]?.type !== "CallerHungUp") return null
    const asked = facts.filter(({ type }) => type === "CallMinuteStarted" || type === "LegsDialed")
    const isMissed = asked.length === 0 && state.call?.outcome === "missed"
    return isMissed ? null : "somebody who had gone was served"
  },

  /** Every charge ends: kept are the minutes that were spoken by the carrier's times, and no others. */
  everyMinuteEnds: (played: PlayedCall) => {
    const open = [...played.charges].filter(([, how]) => how === "open")
    if (open.length > 0) return `minute ${open[0]?.[0]} is open`
    const kept = [...played.charges].filter(([, how]) => how === "kept").map(([minute]) => minute)
    const refusedAt = ofType(played.facts, "CallMinuteRefused")[0]?.minute ?? Infinity
    const owed = Math.min(billableMinutes(callerOf(played)), refusedAt - 1)
    return kept.length === owed ? null : `${kept.length} minutes kept of ${owed}`
  },

  /** A caller whose leg was never opened costs nothing. */
  unansweredIsFree: (played: PlayedCall) => {
    const isKept = [...played.charges.values()].includes("kept")
    return callerOf(played).answeredAt === null && isKept ? "an unanswered call costs" : null
  },

  /** What was answered stays so. */
  answeredStays: ({ outcomes }: PlayedCall) => {
    const at = outcomes.indexOf("answered")
    const changed = at < 0 ? [] : outcomes.slice(at).filter((one) => one !== "answered")
    return changed.length === 0 ? null : `answered became ${changed[0]}`
  },

  /** It lasted as long as the carrier says, and no more minutes than four hours have. */
  lastsAsTheCarrierSays: (played: PlayedCall) => {
    const { call: live } = played.state
    const asked = ofType(played.facts, "CallMinuteStarted").length
    if (asked > MAX_CALL_MINUTES) return `${asked} minutes began`
    const caller = callerOf(played)
    const [seconds, truly] = [live === null ? 0 : callSecondsOf(live), callSecondsOf(caller)]
    return seconds === truly ? null : `${seconds} seconds instead of ${truly}`
  },
} as const satisfies Readonly<Record<string, (played: PlayedCall) => string | null>>

/** The name of a law. */
type LawName = keyof typeof LAWS

const ms = (most: number) => fc.nat(most)

const callee: fc.Arbitrary<Callee> = fc.record({
  answersAfterMs: fc.option(ms(40_000), { nil: null }),
  presses: fc.constantFrom("1", "1", "2", "nothing"),
  pressesAfterMs: ms(25_000),
  hangsUpAfterMs: fc.oneof(
    { weight: 9, arbitrary: ms(400_000) },
    { weight: 1, arbitrary: ms(90_000_000) },
  ),
})

/** Any call; one in a hundred is as long as calls can be. */
const plans: fc.Arbitrary<CallPlan> = fc.record({
  callees: fc.array(callee, { maxLength: 5 }),
  ringMode: fc.constantFrom("all", "order"),
  ringSeconds: fc.integer({ min: 10, max: 60 }),
  screenCalls: fc.boolean(),
  recordCalls: fc.boolean(),
  voicemail: fc.boolean(),
  patienceMs: fc.oneof({ weight: 1, arbitrary: ms(200) }, { weight: 5, arbitrary: ms(150_000) }),
  hangsUpAfterMs: fc.oneof(
    { weight: 20, arbitrary: ms(400_000) },
    { weight: 20, arbitrary: fc.constantFrom(59_999, 60_000, 60_001, 120_000, 120_001) },
    { weight: 1, arbitrary: fc.constant(7 * 3_600_000) },
  ),
  refusedMinute: fc.option(fc.integer({ min: 1, max: 4 }), { nil: null }),
  ledgerDelayMs: fc.constantFrom(50, 50, 50, 2_000, 90_000),
  lostPercent: fc.constantFrom(0, 10, 40),
  seed: fc.integer(),
})

/** What is wrong with a call, by the laws. */
const broken = (played: ReturnType<typeof playCallPlan>) =>
  Object.entries(LAWS).flatMap(([name, law]) => {
    const wrong = law(played)
    return wrong === null ? [] : [`${name satisfies string}: ${wrong}`]
  })

describe("60,000 random calls", () => {
  it("break no law", () => {
    const seen = new Map<string, number>()
    const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1)
    fc.assert(
      fc.property(plans, (plan) => {
        const played = playCallPlan(callDecider, plan)
        for (const { type } of played.facts) count(type)
        count(played.state.call?.outcome ?? "none")
        const wrong = broken(played)
        if (wrong.length > 0) expect(wrong).toEqual([])
      }),
      propertyRuns(60_000),
    )
    // Everything happened, and often.
    const often = [
      "CallBridged",
      "VoicemailStarted",
      "CallMinuteRefused",
      "RecordingNoticeStarted",
      "LegPrompted",
    ]
    const all: readonly string[] = [...often, "answered", "voicemail", "missed"]
    expect(all.filter((one) => (seen.get(one) ?? 0) < 100)).toEqual([])
  })
})

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
    known: OfferedCall | null,
    at: number,
  ) => readonly CallEvent[],
): CallDecider {
  return {
    ...callDecider,
    decide: (command, state, stamp) => {
      const answer = callDecider.decide(command, state, stamp)
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
function deafTo(
  isUnheard: (command: CallCommand, known: OfferedCall | null) => boolean,
): CallDecider {
  return deciding((facts, command, known) => (isUnheard(command, known) ? [] : facts))
}

/** Decides a command as if the call were so. */
function asIf(
  isMeant: (command: CallCommand, known: OfferedCall) => boolean,
  changes: Partial<OfferedCall>,
): CallDecider {
  return {
    ...callDecider,
    decide: (command, state, stamp) => {
      const { call: known } = state
      if (known === null || !isMeant(command, known))
        return callDecider.decide(command, state, stamp)
      return callDecider.decide(command, { ...state, call: { ...known, ...changes } }, stamp)
    },
  }
}

/** All of them. */
const FAULTY_CALLS: readonly FaultyCall[] = [
  {
    fault: "joins again where the caller's leg is said to be open once more",
    breaks: "joinsOnce",
    decider: asIf(({ type }, { phase }) => type === "AnswerLeg" && phase === "talking", {
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
      return isOffer
        ? [...facts, { type: "LegsDialed", at, callId, legs: [1], deadlineAt: untilAt }]
        : facts
    }),
  },
  {
    fault: "lets the others ring on where somebody takes the call",
    breaks: "ringsNobodyElse",
    decider: recording("CallAccepted", (fact) => [{ ...fact, hangUpLegs: [] }]),
  },
  {
    fault: "gives the call to a second one who presses 1",
    breaks: "ringsNobodyElse",
    decider: deciding((facts, command, known, at) => {
      if (command.type !== "AnswerLeg" || known?.phase !== "accepted" || facts.length === 0)
        return facts
      const { callId, leg } = command
      return [...facts, { type: "LegPrompted", at, callId, leg, deadlineAt: at + 20_000 }]
    }),
  },
  {
    fault: "records where the notice took too long",
    breaks: "recordsAnnounced",
    decider: recording("CallBridged", (fact) => [{ ...fact, isRecorded: true }]),
  },
  {
    fault: "records as soon as one side heard the notice",
    breaks: "recordsAnnounced",
    decider: asIf(({ type }, { phase }) => type === "FinishPlayback" && phase === "accepted", {
      heard: [9],
    }),
  },
  {
    fault: "leaves those up who ring when the caller goes",
    breaks: "everyLegEnds",
    decider: recording("CallEnded", (fact) => [{ ...fact, hangUpLegs: [] }]),
  },
  {
    fault: "waits for ever for the key of somebody who answered",
    breaks: "everyWaitEnds",
    decider: deafTo((command) => command.type === "ExpireDeadline" && command.of === "ask"),
  },
  {
    fault: "lets a call last for ever",
    breaks: "everyLegEnds",
    decider: deafTo((command) => command.type === "ExpireDeadline" && command.of === "talk"),
  },
  {
    fault: "forgets who went before the call was heard of",
    breaks: "goneBeforeIsMissed",
    decider: {
      ...callDecider,
      evolve: (state, fact) => ({ ...callDecider.evolve(state, fact), goneEarly: null }),
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
    decider: deafTo(({ type }, known) => type === "StartMinute" && known?.phase === "ended"),
  },
  {
    fault: "counts the caller's time from when it was asked to open the leg",
    breaks: "unansweredIsFree",
    decider: deciding((facts, _command, _known, at) => {
      return facts.flatMap((fact): readonly CallEvent[] => {
        if (fact.type !== "GreetingStarted" && fact.type !== "CallAccepted") return [fact]
        return [fact, { type: "CallerAnswered", at, callId: fact.callId, answeredAt: at }]
      })
    }),
  },
  {
    fault: "takes a later word on when the caller went",
    breaks: "lastsAsTheCarrierSays",
    decider: recording("CallerHungUp", (fact) => [{ ...fact, goneAt: fact.at }]),
  },
  {
    fault: "calls a call a voicemail where one is found",
    breaks: "answeredStays",
    decider: {
      ...callDecider,
      evolve: (state, fact) => {
        const folded = callDecider.evolve(state, fact)
        if (fact.type === "RecordingAvailable" && folded.call !== null)
          folded.call.outcome = "voicemail"
        return folded
      },
    },
  },
]

/** After how many calls a law notices that a decider is wrong; null where it does not. */
function noticedAfter(decider: CallDecider, law: LawName, numRuns = 20_000): number | null {
  const property = fc.property(plans, (plan) => LAWS[law](playCallPlan(decider, plan)) === null)
  const details = fc.check(property, { seed: 20_261_125, numRuns, endOnFailure: true })
  return details.failed ? details.numRuns : null
}

describe("a decider of calls", () => {
  it.each(FAULTY_CALLS)("that $fault breaks $breaks", ({ decider, breaks }) => {
    expect(noticedAfter(decider, breaks)).not.toBeNull()
  })

  it("that is right breaks no law", () => {
    const names = Object.keys(LAWS) as LawName[]
    expect(names.filter((law) => noticedAfter(callDecider, law, 500) !== null)).toEqual([])
  })

  it("is wrong in a way that each law notices", () => {
    const noticed = new Set<string>(FAULTY_CALLS.map(({ breaks }) => breaks))
    expect([...noticed].toSorted()).toEqual(Object.keys(LAWS).toSorted())
  })
})
