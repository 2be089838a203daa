/** Each event in each state of a call, as in the table of docs/decisions/calls.md. */
import { describe, expect, it } from "vitest"
import type { CallCommand } from "../../domain/voice/call-commands.ts"
import type { CallPhase } from "../../domain/voice/call-state.ts"
import {
  CALL_ID,
  recordingReadyCommand,
  beginMinuteCommand,
  legGoneCommand,
  callUnderTest,
  legOpenCommand,
  minutePaidCommand,
  pressKeysCommand,
  minuteRefusedCommand,
  ringingSettings,
  promptPlayedCommand,
} from "./call-commands.ts"

type CallUnderTest = ReturnType<typeof callUnderTest>
const callId = CALL_ID

/** A call in each phase. It has two phones, of which the first was answered and prompted for a key. */
const IN: Readonly<Record<CallPhase, () => CallUnderTest>> = {
  paying: () => callUnderTest(ringingSettings(2)),
  ringing: () => {
    const one = IN.paying()
    one.execute(minutePaidCommand())
    one.execute(legOpenCommand(1))
    return one
  },
  accepted: () => {
    const one = IN.ringing()
    one.execute(pressKeysCommand(1))
    return one
  },
  talking: () => {
    const one = IN.accepted()
    one.execute(legOpenCommand(0))
    return one
  },
  greeting: () => {
    const one = IN.ringing()
    one.execute(legGoneCommand(1))
    one.execute(legGoneCommand(2))
    return one
  },
  voicemail: () => {
    const one = IN.greeting()
    one.execute(legOpenCommand(0))
    one.execute(promptPlayedCommand(0))
    return one
  },
  ended: () => {
    const one = IN.talking()
    one.execute(legGoneCommand(1))
    return one
  },
}

const PHASES = Object.keys(IN) as CallPhase[]
const NEXT_MINUTE = 5_000 + 60_001

/** Each event with the types of the facts it records, by phase. */
const TABLE: readonly (readonly [
  string,
  CallCommand,
  Readonly<Partial<Record<CallPhase, string>>>,
])[] = [
  ["the payment of minute 1", minutePaidCommand(), { paying: "CallMinutePaid LegsDialed" }],
  ["the refusal of minute 1", minuteRefusedCommand(), { paying: "CallMinuteRefused CallEnded" }],
  [
    "a hang-up of the caller",
    legGoneCommand(0),
    {
      paying: "CallerHungUp",
      ringing: "CallerHungUp CallEnded",
      accepted: "CallerHungUp CallEnded",
      talking: "CallerHungUp CallEnded",
      greeting: "CallerHungUp CallEnded",
      voicemail: "CallerHungUp CallEnded",
      ended: "CallerHungUp",
    },
  ],
  [
    "an answer on another leg",
    legOpenCommand(2),
    {
      ringing: "LegAnswered LegPrompted",
      accepted: "LegAnswered LegHungUp",
      talking: "LegAnswered LegHungUp",
      ended: "LegAnswered LegHungUp",
    },
  ],
  ["digit 1", pressKeysCommand(1), { ringing: "CallAccepted" }],
  ["digits 11", pressKeysCommand(1, "11"), { ringing: "CallAccepted" }],
  ["digits 1#", pressKeysCommand(1, "1#"), { ringing: "CallAccepted" }],
  ["digit 1 on a leg that was not prompted", pressKeysCommand(2), {}],
  ["another digit", pressKeysCommand(1, "2"), { ringing: "LegHungUp" }],
  ["digits #1", pressKeysCommand(1, "#1"), { ringing: "LegHungUp" }],
  ["no digit", pressKeysCommand(1, ""), { ringing: "LegHungUp" }],
  ["the end of a prompt", { type: "EndDigitPrompt", callId, leg: 1 }, { ringing: "LegHungUp" }],
  [
    "the end of a leg",
    legGoneCommand(1),
    { ringing: "LegEnded", accepted: "LegEnded CallEnded", talking: "LegEnded CallEnded" },
  ],
  [
    "the end of a leg that was hung up",
    legGoneCommand(2),
    { ringing: "LegEnded", accepted: "LegEnded", talking: "LegEnded", ended: "LegEnded" },
  ],
  [
    "the answer of the caller's leg",
    legOpenCommand(0),
    { accepted: "CallerAnswered CallBridged", greeting: "CallerAnswered GreetingPlayed" },
  ],
  ["the end of a played prompt", promptPlayedCommand(0), {}],
  [
    "a saved recording",
    recordingReadyCommand("voicemail"),
    Object.fromEntries(PHASES.map((one) => [one, "RecordingAvailable"])),
  ],
  [
    "the carrier's reference of a leg",
    { type: "MarkLegDialed", callId, leg: 2, ref: "r" },
    {
      ringing: "LegDialed",
      accepted: "LegDialed",
      talking: "LegDialed",
      greeting: "LegDialed",
      voicemail: "LegDialed",
      ended: "LegDialed",
    },
  ],
  [
    "no report of the caller's hang-up",
    { type: "AssumeCallerHungUp", callId },
    { ended: "CallerHungUp" },
  ],
]

describe.each(TABLE)("%s", (_event, command, expected) => {
  it.each(PHASES)("in the phase %s records the facts of the table", (phase) => {
    const one = IN[phase]()
    expect(one.live().phase).toBe(phase)
    const answer = one.execute(command)
    const types = typeof answer === "string" ? answer : answer.map(({ type }) => type).join(" ")
    expect(types).toBe(expected[phase] ?? "")
    // A repeated command records nothing.
    expect(one.execute(command)).toEqual([])
  })
})

describe("a call whose hang-up arrives first", () => {
  it("keeps the earlier of two hang-up times, and is missed at no cost", () => {
    const one = callUnderTest()
    expect(one.execute(pressKeysCommand(1))).toBe("no_call")
    expect(one.execute(legGoneCommand(0, 9))).toHaveLength(1)
    expect(one.execute(legGoneCommand(0, 12))).toEqual([])
    expect(one.execute(legGoneCommand(0, 7))).toHaveLength(1)
    const offered = callUnderTest(ringingSettings(1))
    expect(offered.minutes()).toMatchObject({ owed: 1 })
    one.execute({ type: "OfferCall" as const, ...offered.live().offered, rejectReason: null })
    expect(one.live()).toMatchObject({
      phase: "ended",
      outcome: "missed",
      reason: "caller_hung_up",
    })
    expect(one.minutes()).toMatchObject({
      owed: null,
      next: null,
      started: 0,
      confirmed: 0,
      isFinal: true,
    })
    expect(one.instructions()).toEqual([])
  })
})

describe("a minute", () => {
  it.each(["accepted", "talking", "greeting", "voicemail"] as const)(
    "begins and can be refused in the phase %s",
    (phase) => {
      const one = IN[phase]()
      const isRecorded = phase === "accepted"
      if (isRecorded) Object.assign(one.live().offered.settings, { recordCalls: true })
      if (one.live().answeredAt === null) one.execute(legOpenCommand(0))
      const { next } = one.minutes()
      const dueAt = (one.live().answeredAt ?? 0) + 60_001
      expect([one.live().phase, next]).toEqual([phase, { minute: 2, dueAt }])
      expect(one.execute(beginMinuteCommand(2), dueAt - 1)).toEqual([])
      expect(one.execute(beginMinuteCommand(3), dueAt)).toEqual([])
      expect(one.execute(beginMinuteCommand(2), dueAt)).toMatchObject([
        { type: "CallMinuteStarted", minute: 2 },
      ])
      // No other minute begins while this one is not paid.
      expect(one.minutes()).toMatchObject({ owed: 2, next: null, confirmed: 1 })
      const outcomes = {
        accepted: "missed",
        talking: "answered",
        greeting: "missed",
        voicemail: "voicemail",
      }
      expect(one.execute(minuteRefusedCommand(2))).toMatchObject([
        { type: "CallMinuteRefused", minute: 2 },
        { type: "CallEnded", outcome: outcomes[phase], reason: "funds", caller: "hang_up" },
      ])
      expect(one.execute(minutePaidCommand(2))).toHaveLength(1)
      expect(one.minutes()).toMatchObject({ owed: null, next: null, paid: 2, confirmed: 1 })
    },
  )

  it("does not begin before the caller's leg is answered", () => {
    const one = IN.ringing()
    expect(one.execute(beginMinuteCommand(2), NEXT_MINUTE)).toEqual([])
    expect(one.minutes().next).toBeNull()
  })
})

describe("a deadline", () => {
  it("of a prompt hangs up its leg", () => {
    const one = IN.ringing()
    expect(one.expireDeadline("ask")).toMatchObject([{ type: "LegHungUp", leg: 1 }])
    expect(one.expireDeadline("ask")).toEqual([])
  })

  it("of the ringing hangs up ringing phones, but not a prompted one", () => {
    const one = IN.ringing()
    expect(one.expireDeadline("ring")).toMatchObject([{ type: "LegHungUp", leg: 2 }])
    expect(one.execute(pressKeysCommand(1, "3"))).toMatchObject([
      { type: "LegHungUp" },
      { type: "GreetingStarted" },
    ])
  })

  it("of the caller's leg ends the call", () => {
    const one = IN.accepted()
    expect(one.expireDeadline("answer")).toMatchObject([
      {
        type: "CallEnded",
        outcome: "missed",
        reason: "deadline",
        hangUpLegs: [1],
        caller: "hang_up",
      },
    ])
  })

  it("of the notice joins both sides without a recording", () => {
    const one = callUnderTest(ringingSettings(1, { screenCalls: false, recordCalls: true }))
    for (const command of [
      minutePaidCommand(),
      legOpenCommand(1),
      legOpenCommand(0),
      promptPlayedCommand(1),
    ])
      one.execute(command)
    expect(one.expireDeadline("notice")).toMatchObject([{ type: "CallBridged", isRecorded: false }])
    expect(one.execute(promptPlayedCommand(0))).toEqual([])
    expect(one.instructions()).not.toContain("record 0")
  })

  it("of the greeting starts the voicemail, and that of the voicemail ends it", () => {
    const one = IN.greeting()
    expect(one.expireDeadline("greeting")).toMatchObject([{ type: "VoicemailStarted" }])
    expect(one.execute(legOpenCommand(0))).toMatchObject([{ type: "CallerAnswered" }])
    expect(one.expireDeadline("voicemail")).toMatchObject([
      { outcome: "voicemail", caller: "hang_up" },
    ])
  })

  it("of a voicemail ends the call as missed if the caller's leg was never answered and nothing was recorded", () => {
    for (const [seconds, outcome] of [
      [null, "missed"],
      [0, "missed"],
      [1, "voicemail"],
    ] as const) {
      const one = IN.greeting()
      one.expireDeadline("greeting")
      const audio = { kind: "voicemail", seconds: seconds ?? 0, carrierRef: "rec_1" } as const
      if (seconds !== null) one.execute({ type: "RecordAudioAvailable", callId, ...audio })
      expect(one.expireDeadline("voicemail")).toMatchObject([{ outcome, reason: "deadline" }])
    }
  })

  it("of the greeting, with a hang-up that reports an answered caller's leg, leaves a voicemail", () => {
    for (const [answeredAt, outcome] of [
      [1, "voicemail"],
      [null, "missed"],
    ] as const) {
      const one = IN.greeting()
      one.expireDeadline("greeting")
      one.execute({ type: "EndLeg", callId, leg: 0, goneAt: 9_000, answeredAt })
      expect(one.live()).toMatchObject({ phase: "ended", outcome, answeredAt })
    }
  })

  it("of four hours ends a call after at most 240 minutes", () => {
    const one = IN.talking()
    expect(one.expireDeadline("talk")).toMatchObject([{ outcome: "answered", reason: "deadline" }])
    one.execute(legGoneCommand(0, one.live().endedAt ?? 0))
    expect(one.minutes().confirmed).toBe(240)
  })

  it.each(["ring", "answer", "greeting"])("that no longer applies changes nothing: %s", (name) => {
    const one = name === "greeting" ? IN.voicemail() : IN.talking()
    expect(one.expireDeadline(name)).toEqual([])
  })
})
