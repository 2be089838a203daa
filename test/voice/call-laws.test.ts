/** The laws of a call hold for tens of thousands of random calls, and each law catches a faulty decider. */
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

/** Maximum delay of a timer in the model. */
const MAX_TIMER_DELAY_MS = 500

/** Whether a fact ends the wait that a deadline limits. */
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

/** Each law returns the violation, or null. */
const LAWS = {
  /** The two sides are joined at most once. */
  joinsOnce: ({ facts }: PlayedCall) =>
    countOf(facts, "join") > 1 ? `${countOf(facts, "join")} joins` : null,

  /** No phone rings and no leg is answered before the first minute is paid. */
  paysFirst: ({ facts }: PlayedCall) => {
    const paidAt = facts.findIndex((fact) => fact.type === "CallMinutePaid" && fact.minute === 1)
    const before = paidAt < 0 ? facts : facts.slice(0, paidAt)
    const early = before.flatMap(callInstructionsOf).filter(({ word }) => word !== "reject")
    return early.length === 0 ? null : `${early[0]?.word} before the first minute is paid`
  },

  /** Once the call is accepted, no other phone rings. */
  ringsNoOtherPhone: ({ facts }: PlayedCall) => {
    const at = facts.findIndex(({ type }) => type === "CallAccepted")
    const accepted = facts[at]
    if (accepted?.type !== "CallAccepted") return null
    const before = facts.slice(0, at)
    const notRinging = new Set<number>([accepted.leg, ...accepted.hangUpLegs])
    for (const { leg } of [...ofType(before, "LegEnded"), ...ofType(before, "LegHungUp")]) {
      notRinging.add(leg)
    }
    const dialed = ofType(before, "LegsDialed").flatMap(({ legs }) => legs)
    const ringing = dialed.filter((leg) => !notRinging.has(leg))
    if (ringing.length > 0) return `${ringing.join()} still rings`
    const later = facts
      .slice(at + 1)
      .filter(({ type }) => type === "LegsDialed" || type === "LegPrompted")
    return later.length === 0 ? null : `${later[0]?.type} after the acceptance`
  },

  /** A call is not recorded before both sides have heard the notice. */
  recordsAnnounced: ({ facts }: PlayedCall) => {
    const at = facts.findIndex((fact) => fact.type === "CallBridged" && fact.isRecorded)
    const joined = facts[at]
    if (joined?.type !== "CallBridged") return null
    const heard = new Set(ofType(facts.slice(0, at), "LegPromptPlayed").map(({ leg }) => leg))
    return heard.has(0) && heard.has(joined.leg) ? null : "recorded unannounced"
  },

  everyLegEnds: ({ state, legs }: PlayedCall) => {
    if (state.call?.phase !== "ended") return `it is ${String(state.call?.phase)}`
    const active = [...legs].filter(([, { state: legState }]) => legState !== "gone")
    return active.length === 0 ? null : `legs ${active.map(([leg]) => leg).join()} are still active`
  },

  /** No state of a call lasts longer than its deadline plus the delay of the timer. */
  everyWaitEnds: ({ facts }: PlayedCall) => {
    for (const [i, fact] of facts.entries()) {
      const deadline = callDeadlineOf(fact)
      if (deadline === null || deadline.of === "ring") continue
      const ends = facts.slice(i + 1).find((one) => isEndOf(deadline, one))
      if ((ends?.at ?? Infinity) > deadline.deadlineAt + MAX_TIMER_DELAY_MS)
        return `${deadline.of} is late`
    }
    return null
  },

  /** A call whose caller hung up before it was offered charges nothing and rings no phone. */
  earlyHangUpIsMissed: ({ facts, state }: PlayedCall) => {
    if (facts[0]?.type !== "CallerHungUp") return null
    const served = facts.filter(({ type }) => type === "CallMinuteStarted" || type === "LegsDialed")
    const isMissed = served.length === 0 && state.call?.outcome === "missed"
    return isMissed ? null : "a caller who had hung up was served"
  },

  /** Every charge ends, and exactly the minutes spoken by the carrier's times are kept. */
  everyMinuteEnds: (played: PlayedCall) => {
    const minutesIn = (state: string) =>
      [...played.charges].filter(([, one]) => one === state).map(([minute]) => minute)
    const [pending] = minutesIn("pending")
    if (pending !== undefined) return `minute ${pending} is pending`
    const kept = minutesIn("kept")
    const refusedAt = ofType(played.facts, "CallMinuteRefused")[0]?.minute ?? Infinity
    const owed = Math.min(billableMinutes(callerOf(played)), refusedAt - 1)
    return kept.length === owed ? null : `${kept.length} minutes kept of ${owed}`
  },

  /** A call whose caller's leg was never answered costs nothing. */
  unansweredIsFree: (played: PlayedCall) => {
    const isKept = [...played.charges.values()].includes("kept")
    return callerOf(played).answeredAt === null && isKept ? "an unanswered call costs" : null
  },

  answeredStays: ({ outcomes }: PlayedCall) => {
    const at = outcomes.indexOf("answered")
    const changed = at < 0 ? [] : outcomes.slice(at).filter((one) => one !== "answered")
    return changed.length === 0 ? null : `answered became ${changed[0]}`
  },

  /** A call lasts as long as the carrier reports, and at most four hours. */
  matchesCarrierTimes: (played: PlayedCall) => {
    const { call: live } = played.state
    const started = ofType(played.facts, "CallMinuteStarted").length
    if (started > MAX_CALL_MINUTES) return `${started} minutes began`
    const expected = callSecondsOf(callerOf(played))
    const seconds = live === null ? 0 : callSecondsOf(live)
    return seconds === expected ? null : `${seconds} seconds instead of ${expected}`
  },
} as const satisfies Readonly<Record<string, (played: PlayedCall) => string | null>>

type LawName = keyof typeof LAWS

const ms = (max: number) => fc.nat(max)

const callee: fc.Arbitrary<Callee> = fc.record({
  answersAfterMs: fc.option(ms(40_000), { nil: null }),
  presses: fc.constantFrom("1", "1", "2", "nothing"),
  pressesAfterMs: ms(25_000),
  hangsUpAfterMs: fc.oneof(
    { weight: 9, arbitrary: ms(400_000) },
    { weight: 1, arbitrary: ms(90_000_000) },
  ),
})

/** Random calls; a few have the maximum length. */
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

const violationsIn = (played: ReturnType<typeof playCallPlan>) =>
  Object.entries(LAWS).flatMap(([name, law]) => {
    const violation = law(played)
    return violation === null ? [] : [`${name satisfies string}: ${violation}`]
  })

describe("60,000 random calls", () => {
  it("break no law", () => {
    const seen = new Map<string, number>()
    const count = (name: string) => seen.set(name, (seen.get(name) ?? 0) + 1)
    fc.assert(
      fc.property(plans, (plan) => {
        const played = playCallPlan(callDecider, plan)
        for (const { type } of played.facts) count(type)
        count(played.state.call?.outcome ?? "none")
        const violations = violationsIn(played)
        if (violations.length > 0) expect(violations).toEqual([])
      }),
      propertyRuns(60_000),
    )
    // Every outcome must be frequent.
    const types = [
      "CallBridged",
      "VoicemailStarted",
      "CallMinuteRefused",
      "RecordingNoticeStarted",
      "LegPrompted",
    ]
    const all: readonly string[] = [...types, "answered", "voicemail", "missed"]
    expect(all.filter((one) => (seen.get(one) ?? 0) < 100)).toEqual([])
  })
})

interface FaultyCall {
  readonly fault: string
  readonly breaks: LawName
  readonly decider: CallDecider
}

function decidingWith(
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

function replacing<T extends CallEvent["type"]>(
  type: T,
  change: (fact: CallFact<T>) => readonly CallEvent[],
): CallDecider {
  const isOne = (fact: CallEvent): fact is CallFact<T> & CallEvent => fact.type === type
  return decidingWith((facts) => facts.flatMap((fact) => (isOne(fact) ? change(fact) : [fact])))
}

function ignoring(
  isIgnored: (command: CallCommand, known: OfferedCall | null) => boolean,
): CallDecider {
  return decidingWith((facts, command, known) => (isIgnored(command, known) ? [] : facts))
}

/** A decider that decides some commands with changes to the call's state. */
function decidingAsIf(
  isAffected: (command: CallCommand, known: OfferedCall) => boolean,
  changes: Partial<OfferedCall>,
): CallDecider {
  return {
    ...callDecider,
    decide: (command, state, stamp) => {
      const { call: known } = state
      if (known === null || !isAffected(command, known))
        return callDecider.decide(command, state, stamp)
      return callDecider.decide(command, { ...state, call: { ...known, ...changes } }, stamp)
    },
  }
}

const FAULTY_CALLS: readonly FaultyCall[] = [
  {
    fault: "joins again if the caller's leg is reported as answered again",
    breaks: "joinsOnce",
    decider: decidingAsIf(({ type }, { phase }) => type === "AnswerLeg" && phase === "talking", {
      phase: "accepted",
      answeredAt: null,
    }),
  },
  {
    fault: "rings before the first minute is paid",
    breaks: "paysFirst",
    decider: decidingWith((facts, command, _known, at) => {
      const isOffer = command.type === "OfferCall" && facts.length > 0
      const { callId } = command
      const untilAt = at + 25_000
      return isOffer
        ? [...facts, { type: "LegsDialed", at, callId, legs: [1], deadlineAt: untilAt }]
        : facts
    }),
  },
  {
    fault: "lets the other phones ring after the call is accepted",
    breaks: "ringsNoOtherPhone",
    decider: replacing("CallAccepted", (fact) => [{ ...fact, hangUpLegs: [] }]),
  },
  {
    fault: "prompts a second phone after the call is accepted",
    breaks: "ringsNoOtherPhone",
    decider: decidingWith((facts, command, known, at) => {
      if (command.type !== "AnswerLeg" || known?.phase !== "accepted" || facts.length === 0)
        return facts
      const { callId, leg } = command
      return [...facts, { type: "LegPrompted", at, callId, leg, deadlineAt: at + 20_000 }]
    }),
  },
  {
    fault: "records although the notice took too long",
    breaks: "recordsAnnounced",
    decider: replacing("CallBridged", (fact) => [{ ...fact, isRecorded: true }]),
  },
  {
    fault: "records as soon as one side has heard the notice",
    breaks: "recordsAnnounced",
    decider: decidingAsIf(
      ({ type }, { phase }) => type === "FinishPlayback" && phase === "accepted",
      {
        heard: [9],
      },
    ),
  },
  {
    fault: "does not hang up ringing phones when the caller hangs up",
    breaks: "everyLegEnds",
    decider: replacing("CallEnded", (fact) => [{ ...fact, hangUpLegs: [] }]),
  },
  {
    fault: "waits forever for a key press",
    breaks: "everyWaitEnds",
    decider: ignoring((command) => command.type === "ExpireDeadline" && command.of === "ask"),
  },
  {
    fault: "lets a call last forever",
    breaks: "everyLegEnds",
    decider: ignoring((command) => command.type === "ExpireDeadline" && command.of === "talk"),
  },
  {
    fault: "forgets a hang-up before the call was offered",
    breaks: "earlyHangUpIsMissed",
    decider: {
      ...callDecider,
      evolve: (state, fact) => ({ ...callDecider.evolve(state, fact), goneEarly: null }),
    },
  },
  {
    fault: "ignores a payment after the end of the call",
    breaks: "everyMinuteEnds",
    decider: ignoring(({ type }, known) => type === "PayMinute" && known?.phase === "ended"),
  },
  {
    fault: "charges no minutes that are found after the end of the call",
    breaks: "everyMinuteEnds",
    decider: ignoring(({ type }, known) => type === "StartMinute" && known?.phase === "ended"),
  },
  {
    fault: "counts the caller's time from the instruction to answer",
    breaks: "unansweredIsFree",
    decider: decidingWith((facts, _command, _known, at) => {
      return facts.flatMap((fact): readonly CallEvent[] => {
        if (fact.type !== "GreetingStarted" && fact.type !== "CallAccepted") return [fact]
        return [fact, { type: "CallerAnswered", at, callId: fact.callId, answeredAt: at }]
      })
    }),
  },
  {
    fault: "uses the time of the notification as the time of the hang-up",
    breaks: "matchesCarrierTimes",
    decider: replacing("CallerHungUp", (fact) => [{ ...fact, goneAt: fact.at }]),
  },
  {
    fault: "changes the outcome to voicemail if there is a recording",
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

/** Number of calls after which a law catches a decider; null if it does not. */
function runsUntilCaught(decider: CallDecider, law: LawName, numRuns = 20_000): number | null {
  const property = fc.property(plans, (plan) => LAWS[law](playCallPlan(decider, plan)) === null)
  const details = fc.check(property, { seed: 20_261_125, numRuns, endOnFailure: true })
  return details.failed ? details.numRuns : null
}

describe("a decider of calls", () => {
  it.each(FAULTY_CALLS)("that $fault breaks $breaks", ({ decider, breaks }) => {
    expect(runsUntilCaught(decider, breaks)).not.toBeNull()
  })

  it("that is correct breaks no law", () => {
    const names = Object.keys(LAWS) as LawName[]
    expect(names.filter((law) => runsUntilCaught(callDecider, law, 500) !== null)).toEqual([])
  })

  it("that is faulty exists for each law", () => {
    const broken = new Set<string>(FAULTY_CALLS.map(({ breaks }) => breaks))
    expect([...broken].toSorted()).toEqual(Object.keys(LAWS).toSorted())
  })
})
