/** What happens in which state of a call, cell by cell (the table of docs/decisions/calls.md). */
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

type One = ReturnType<typeof callUnderTest>
const callId = CALL_ID

/** A call that has come so far; two phones, the first of which was answered and is asked. */
const IN: Readonly<Record<CallPhase, () => One>> = {
  paying: () => callUnderTest(ringingSettings(2)),
  ringing: () => {
    const one = IN.paying()
    one.tell(minutePaidCommand())
    one.tell(legOpenCommand(1))
    return one
  },
  accepted: () => {
    const one = IN.ringing()
    one.tell(pressKeysCommand(1))
    return one
  },
  talking: () => {
    const one = IN.accepted()
    one.tell(legOpenCommand(0))
    return one
  },
  greeting: () => {
    const one = IN.ringing()
    one.tell(legGoneCommand(1))
    one.tell(legGoneCommand(2))
    return one
  },
  voicemail: () => {
    const one = IN.greeting()
    one.tell(legOpenCommand(0))
    one.tell(promptPlayedCommand(0))
    return one
  },
  ended: () => {
    const one = IN.talking()
    one.tell(legGoneCommand(1))
    return one
  },
}

const PHASES = Object.keys(IN) as CallPhase[]
const NEXT_MINUTE = 5_000 + 60_001

/** What each event comes to in each state: the facts' types, in the order of the states. */
const TABLE: readonly (readonly [
  string,
  CallCommand,
  Readonly<Partial<Record<CallPhase, string>>>,
])[] = [
  ["minute 1 paid", minutePaidCommand(), { paying: "CallMinutePaid LegsDialed" }],
  ["minute 1 refused", minuteRefusedCommand(), { paying: "CallMinuteRefused CallEnded" }],
  [
    "caller gone",
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
    "another leg answered",
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
  ["digit 1 of who was not asked", pressKeysCommand(2), {}],
  ["another digit", pressKeysCommand(1, "2"), { ringing: "LegHungUp" }],
  ["digits #1", pressKeysCommand(1, "#1"), { ringing: "LegHungUp" }],
  ["no digit", pressKeysCommand(1, ""), { ringing: "LegHungUp" }],
  ["ask over", { type: "EndDigitPrompt", callId, leg: 1 }, { ringing: "LegHungUp" }],
  [
    "a leg gone",
    legGoneCommand(1),
    { ringing: "LegEnded", accepted: "LegEnded CallEnded", talking: "LegEnded CallEnded" },
  ],
  [
    "a leg gone that was hung up",
    legGoneCommand(2),
    { ringing: "LegEnded", accepted: "LegEnded", talking: "LegEnded", ended: "LegEnded" },
  ],
  [
    "caller's leg open",
    legOpenCommand(0),
    { accepted: "CallerAnswered CallBridged", greeting: "CallerAnswered GreetingPlayed" },
  ],
  ["said", promptPlayedCommand(0), {}],
  [
    "audio saved",
    recordingReadyCommand("voicemail"),
    Object.fromEntries(PHASES.map((one) => [one, "RecordingAvailable"])),
  ],
  [
    "a name for a leg",
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
    "nobody says when the caller went",
    { type: "AssumeCallerHungUp", callId },
    { ended: "CallerHungUp" },
  ],
]

describe.each(TABLE)("%s", (_event, command, expected) => {
  it.each(PHASES)("while it is %s", (phase) => {
    const one = IN[phase]()
    expect(one.live().phase).toBe(phase)
    const answer = one.tell(command)
    const types = typeof answer === "string" ? answer : answer.map(({ type }) => type).join(" ")
    expect(types).toBe(expected[phase] ?? "")
    // The same again changes nothing.
    expect(one.tell(command)).toEqual([])
  })
})

describe("a call that is told something before it is known", () => {
  it("remembers that the caller went, the earlier time of two, and is missed at no cost", () => {
    const one = callUnderTest()
    expect(one.tell(pressKeysCommand(1))).toBe("no_call")
    expect(one.tell(legGoneCommand(0, 9))).toHaveLength(1)
    expect(one.tell(legGoneCommand(0, 12))).toEqual([])
    expect(one.tell(legGoneCommand(0, 7))).toHaveLength(1)
    const offered = callUnderTest(ringingSettings(1))
    expect(offered.minutes()).toMatchObject({ owed: 1 })
    one.tell({ type: "OfferCall" as const, ...offered.live().offered, rejectReason: null })
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
    expect(one.words()).toEqual([])
  })
})

describe("a minute that begins", () => {
  it.each(["accepted", "talking", "greeting", "voicemail"] as const)("while it is %s", (phase) => {
    const one = IN[phase]()
    const isRecorded = phase === "accepted"
    if (isRecorded) Object.assign(one.live().offered.settings, { recordCalls: true })
    if (one.live().answeredAt === null) one.tell(legOpenCommand(0))
    const { next } = one.minutes()
    const dueAt = (one.live().answeredAt ?? 0) + 60_001
    expect([one.live().phase, next]).toEqual([phase, { minute: 2, dueAt }])
    expect(one.tell(beginMinuteCommand(2), dueAt - 1)).toEqual([])
    expect(one.tell(beginMinuteCommand(3), dueAt)).toEqual([])
    expect(one.tell(beginMinuteCommand(2), dueAt)).toMatchObject([
      { type: "CallMinuteStarted", minute: 2 },
    ])
    // No other begins while this one is owed.
    expect(one.minutes()).toMatchObject({ owed: 2, next: null, confirmed: 1 })
    const outcomes = {
      accepted: "missed",
      talking: "answered",
      greeting: "missed",
      voicemail: "voicemail",
    }
    expect(one.tell(minuteRefusedCommand(2))).toMatchObject([
      { type: "CallMinuteRefused", minute: 2 },
      { type: "CallEnded", outcome: outcomes[phase], reason: "funds", caller: "hang_up" },
    ])
    expect(one.tell(minutePaidCommand(2))).toHaveLength(1)
    expect(one.minutes()).toMatchObject({ owed: null, next: null, paid: 2, confirmed: 1 })
  })

  it("is none before the caller's leg is open", () => {
    const one = IN.ringing()
    expect(one.tell(beginMinuteCommand(2), NEXT_MINUTE)).toEqual([])
    expect(one.minutes().next).toBeNull()
  })
})

describe("a deadline", () => {
  it("of who was asked hangs that leg up", () => {
    const one = IN.ringing()
    expect(one.pass("ask")).toMatchObject([{ type: "LegHungUp", leg: 1 }])
    expect(one.pass("ask")).toEqual([])
  })

  it("of the ringing hangs up who only rings, and lets who is asked take their time", () => {
    const one = IN.ringing()
    expect(one.pass("ring")).toMatchObject([{ type: "LegHungUp", leg: 2 }])
    expect(one.tell(pressKeysCommand(1, "3"))).toMatchObject([
      { type: "LegHungUp" },
      { type: "GreetingStarted" },
    ])
  })

  it("of the caller's leg ends a call that nobody hears", () => {
    const one = IN.accepted()
    expect(one.pass("answer")).toMatchObject([
      {
        type: "CallEnded",
        outcome: "missed",
        reason: "deadline",
        hangUpLegs: [1],
        caller: "hang_up",
      },
    ])
  })

  it("of the notice joins both without a recording", () => {
    const one = callUnderTest(ringingSettings(1, { screenCalls: false, recordCalls: true }))
    for (const command of [
      minutePaidCommand(),
      legOpenCommand(1),
      legOpenCommand(0),
      promptPlayedCommand(1),
    ])
      one.tell(command)
    expect(one.pass("notice")).toMatchObject([{ type: "CallBridged", isRecorded: false }])
    expect(one.tell(promptPlayedCommand(0))).toEqual([])
    expect(one.words()).not.toContain("record 0")
  })

  it("of the greeting records what the caller says all the same, and of the voicemail ends it", () => {
    const one = IN.greeting()
    expect(one.pass("greeting")).toMatchObject([{ type: "VoicemailStarted" }])
    expect(one.tell(legOpenCommand(0))).toMatchObject([{ type: "CallerAnswered" }])
    expect(one.pass("voicemail")).toMatchObject([{ outcome: "voicemail", caller: "hang_up" }])
  })

  it("of a voicemail whose caller's leg never opened ends it missed, unless one was left", () => {
    for (const [seconds, outcome] of [
      [null, "missed"],
      [0, "missed"],
      [1, "voicemail"],
    ] as const) {
      const one = IN.greeting()
      one.pass("greeting")
      const left = { kind: "voicemail", seconds: seconds ?? 0, carrierRef: "rec_1" } as const
      if (seconds !== null) one.tell({ type: "RecordAudioAvailable", callId, ...left })
      expect(one.pass("voicemail")).toMatchObject([{ outcome, reason: "deadline" }])
    }
  })

  it("of the greeting, and an end that says when the caller's leg opened, leave a voicemail", () => {
    for (const [answeredAt, outcome] of [
      [1, "voicemail"],
      [null, "missed"],
    ] as const) {
      const one = IN.greeting()
      one.pass("greeting")
      one.tell({ type: "EndLeg", callId, leg: 0, goneAt: 9_000, answeredAt })
      expect(one.live()).toMatchObject({ phase: "ended", outcome, answeredAt })
    }
  })

  it("of four hours ends a call, with 240 minutes at most", () => {
    const one = IN.talking()
    expect(one.pass("talk")).toMatchObject([{ outcome: "answered", reason: "deadline" }])
    one.tell(legGoneCommand(0, one.live().endedAt ?? 0))
    expect(one.minutes().confirmed).toBe(240)
  })

  it.each(["ring", "answer", "greeting"])("that no longer stands changes nothing: %s", (of) => {
    const one = of === "greeting" ? IN.voicemail() : IN.talking()
    expect(one.pass(of)).toEqual([])
  })
})
