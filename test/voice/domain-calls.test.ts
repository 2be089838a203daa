/** Ringing, notices, minutes and ends of a call, and the call slots of a company. */
import { describe, expect, it } from "vitest"
import type { KeyedHash } from "../../domain/kernel/ids.ts"
import {
  firstCallMinutePrice,
  callMinutePrice,
  callSecondsOf,
} from "../../domain/voice/call-minutes.ts"
import type { SlotCommand } from "../../domain/kernel/slots.ts"
import { slotHoldersOf } from "../../domain/kernel/slots.ts"
import {
  CALL_SLOTS_AGGREGATE,
  MAX_CONCURRENT_CALLS,
  MAX_CALLS_PER_CALLER,
  CALLER_LIMIT_WINDOW_MS,
} from "../../domain/voice/aggregates.ts"
import type { CallId } from "../../domain/kernel/calls.ts"
import { deciderSession } from "../support/decider-spec.ts"
import {
  NOW,
  recordingReadyCommand,
  beginMinuteCommand,
  legGoneCommand,
  offerCallCommand,
  callUnderTest,
  legOpenCommand,
  minutePaidCommand,
  pressKeysCommand,
  minuteRefusedCommand,
  ringingSettings,
  promptPlayedCommand,
} from "./call-commands.ts"

const OPEN_AT = NOW + 5_000

/** A call in which two people have been talking since `OPEN_AT`. */
function talkingCall(others: Parameters<typeof ringingSettings>[1] = {}) {
  const one = callUnderTest(ringingSettings(1, { screenCalls: false, ...others }))
  for (const command of [minutePaidCommand(), legOpenCommand(1), legOpenCommand(0, OPEN_AT)])
    one.execute(command)
  return one
}

describe("phones", () => {
  it("ring concurrently, and the others are hung up when one is answered", () => {
    const one = callUnderTest(ringingSettings(3, { screenCalls: false }))
    one.execute(minutePaidCommand())
    expect(one.instructions()).toEqual(["dial 1", "dial 2", "dial 3"])
    one.execute(legOpenCommand(2))
    expect(one.instructions().slice(3)).toEqual(["hang_up 1", "hang_up 3", "answer 0"])
  })

  it("ring one after the other, for at most 120 seconds in total", () => {
    const one = callUnderTest(ringingSettings(5, { ringMode: "order", ringSeconds: 50 }))
    one.execute(minutePaidCommand())
    for (const leg of [1, 2])
      expect(one.expireDeadline("ring")).toMatchObject([{ leg }, { legs: [leg + 1] }])
    // 20 seconds are left for the third phone, and none for the fourth.
    expect(one.expireDeadline("ring")).toMatchObject([
      { type: "LegHungUp", leg: 3 },
      { type: "GreetingStarted" },
    ])
    expect(one.facts.at(-1)?.at).toBe(NOW + 120_000)
    expect(one.instructions()).toEqual([
      "dial 1",
      "hang_up 1",
      "dial 2",
      "hang_up 2",
      "dial 3",
      "hang_up 3",
      "answer 0",
    ])
  })

  it("are not needed: without any, the caller is greeted or rejected", () => {
    const greeted = callUnderTest(ringingSettings(0))
    greeted.execute(minutePaidCommand())
    expect(greeted.instructions()).toEqual(["answer 0"])
    const rejected = callUnderTest(ringingSettings(0, { voicemail: false }))
    rejected.execute(minutePaidCommand())
    expect(rejected.instructions()).toEqual(["reject 0"])
    expect(rejected.live()).toMatchObject({ outcome: "missed", reason: "unanswered" })
  })

  it("do not ring if the caller hangs up before the first minute is paid", () => {
    const one = callUnderTest(ringingSettings(2))
    one.execute(legGoneCommand(0))
    one.execute(minutePaidCommand())
    expect([one.instructions(), one.live().outcome]).toEqual([[], "missed"])
    expect(one.minutes()).toMatchObject({ paid: 1, confirmed: 0, isFinal: true })
  })

  it.each(["company_call_limit", "caller_call_limit", "closed"] as const)(
    "do not ring for a rejected call: %s",
    (rejectReason) => {
      const one = callUnderTest()
      one.execute(offerCallCommand(ringingSettings(2), { rejectReason }))
      expect(one.instructions()).toEqual(["reject 0"])
      expect(one.live()).toMatchObject({ outcome: "missed", reason: rejectReason })
      expect(one.minutes()).toMatchObject({ owed: null, next: null })
    },
  )
})

describe("a recorded call", () => {
  it("is joined and recorded once both sides have heard the notice", () => {
    const one = talkingCall({ recordCalls: true })
    expect(one.instructions().slice(-2)).toEqual(["say 0", "say 1"])
    expect(one.execute(promptPlayedCommand(1))).toMatchObject([{ type: "LegPromptPlayed" }])
    expect(one.execute(promptPlayedCommand(1))).toEqual([])
    expect(one.execute(promptPlayedCommand(0))).toMatchObject([
      { type: "LegPromptPlayed" },
      { isRecorded: true },
    ])
    expect(one.instructions().slice(-2)).toEqual(["join 0", "record 0"])
  })

  it("keeps the first recording of each kind, and a missed call with a voicemail becomes a voicemail", () => {
    const one = callUnderTest(ringingSettings(0))
    for (const command of [minutePaidCommand(), legOpenCommand(0), legGoneCommand(0)])
      one.execute(command)
    expect(one.live().outcome).toBe("missed")
    one.execute(recordingReadyCommand("voicemail", 0))
    expect(one.live().outcome).toBe("missed")
    const other = callUnderTest(ringingSettings(0))
    for (const command of [
      minutePaidCommand(),
      legOpenCommand(0),
      legGoneCommand(0),
      recordingReadyCommand("voicemail", 1),
    ])
      other.execute(command)
    expect(other.live().outcome).toBe("voicemail")
    expect(other.execute(recordingReadyCommand("voicemail", 9))).toEqual([])
    const answered = talkingCall()
    for (const command of [legGoneCommand(0), recordingReadyCommand("voicemail", 9)])
      answered.execute(command)
    expect(answered.live().outcome).toBe("answered")
  })
})

describe("the minutes of a call", () => {
  it.each([
    [0, 1, 0],
    [1, 1, 1],
    [59_999, 1, 60],
    [60_000, 1, 60],
    [60_001, 2, 61],
    [120_000, 2, 120],
    [120_001, 3, 121],
  ])("of %d milliseconds at the carrier are %d, or %d seconds", (lastedMs, minutes, seconds) => {
    const one = talkingCall()
    one.execute(legGoneCommand(0, OPEN_AT + lastedMs), NOW + 900_000)
    for (let minute = 2; one.minutes().next !== null; minute += 1) {
      one.execute(beginMinuteCommand(minute))
      one.execute(minutePaidCommand(minute))
    }
    expect(one.minutes()).toMatchObject({ paid: minutes, confirmed: minutes, isFinal: true })
    expect(callSecondsOf(one.live())).toBe(seconds)
  })

  it("that are charged already are refunded if a late hang-up was before them", () => {
    const one = talkingCall()
    one.execute(beginMinuteCommand(2), OPEN_AT + 60_001)
    one.execute(minutePaidCommand(2))
    one.execute(legGoneCommand(0, OPEN_AT + 60_000), OPEN_AT + 62_000)
    expect(one.minutes()).toMatchObject({ paid: 2, confirmed: 1, isFinal: true })
  })

  it("are counted to the earliest reported hang-up, or to the end of the call if none is reported", () => {
    const one = talkingCall()
    one.execute(legGoneCommand(1), OPEN_AT + 100_000)
    expect(one.minutes().isFinal).toBe(false)
    one.execute(
      { type: "AssumeCallerHungUp", callId: one.live().offered.callId },
      OPEN_AT + 700_000,
    )
    expect([one.minutes().isFinal, callSecondsOf(one.live())]).toEqual([true, 100])
    one.execute(legGoneCommand(0, OPEN_AT + 300_000))
    expect(callSecondsOf(one.live())).toBe(100)
    one.execute(legGoneCommand(0, OPEN_AT + 30_000))
    expect(callSecondsOf(one.live())).toBe(30)
  })

  it("are known from the hang-up alone if the answer was not reported", () => {
    const one = callUnderTest(ringingSettings(0))
    one.execute(minutePaidCommand())
    one.execute(legGoneCommand(0, OPEN_AT + 61_000, OPEN_AT))
    expect(one.minutes()).toMatchObject({ next: { minute: 2 }, isFinal: true })
    const unopened = callUnderTest(ringingSettings(1))
    unopened.execute(minutePaidCommand())
    // Without an instruction to answer, the leg was not answered.
    unopened.execute(legGoneCommand(0, OPEN_AT + 61_000, OPEN_AT))
    expect(unopened.minutes()).toMatchObject({ confirmed: 0, next: null })
  })

  it("are none for a call that was unanswered at its end, whatever is reported later", () => {
    const one = callUnderTest(ringingSettings(1, { screenCalls: false }))
    for (const command of [minutePaidCommand(), legOpenCommand(1)]) one.execute(command)
    one.expireDeadline("answer")
    one.execute({ type: "AssumeCallerHungUp", callId: one.live().offered.callId }, NOW + 900_000)
    expect(one.minutes()).toMatchObject({ confirmed: 0, isFinal: true })
    expect(one.execute(legOpenCommand(0, OPEN_AT))).toEqual([])
    expect(one.execute(legGoneCommand(0, OPEN_AT + 1_000, OPEN_AT))).toHaveLength(1)
    expect(one.minutes()).toMatchObject({ confirmed: 0, next: null })
    // An answer that is reported before the hang-up counts.
    const other = callUnderTest(ringingSettings(1, { screenCalls: false }))
    for (const command of [minutePaidCommand(), legOpenCommand(1)]) other.execute(command)
    other.expireDeadline("answer")
    expect(other.execute(legOpenCommand(0, OPEN_AT))).toMatchObject([
      { type: "CallerAnswered" },
      { leg: 0 },
    ])
    expect(other.execute(legGoneCommand(0, OPEN_AT + 1_000))).toMatchObject([
      { type: "CallerHungUp" },
    ])
    expect(other.minutes()).toMatchObject({ confirmed: 1, isFinal: true })
  })

  it("are written off from the first refused one, even after the end of the call", () => {
    const one = talkingCall()
    one.execute(legGoneCommand(0, OPEN_AT + 400_000), OPEN_AT + 900_000)
    one.execute(beginMinuteCommand(2))
    expect(one.execute(minuteRefusedCommand(2))).toMatchObject([{ type: "CallMinuteRefused" }])
    expect(one.minutes()).toMatchObject({ next: null, owed: null, confirmed: 1 })
  })

  it("cost the price of the phone that accepted the call; the first costs the highest price until then", () => {
    const one = callUnderTest()
    const settings = ringingSettings(2, { screenCalls: false })
    one.execute(offerCallCommand(settings, { minuteMicros: 12_000, legMicros: [60_000, 40_000] }))
    expect(firstCallMinutePrice(one.live())).toBe(60_000)
    expect(callMinutePrice(one.live()).unitPriceMicros).toBe(12_000)
    one.execute(minutePaidCommand())
    one.execute(legOpenCommand(2))
    expect(callMinutePrice(one.live())).toEqual({ unitPriceMicros: 40_000, priceVersion: 1 })
  })
})

describe("a call", () => {
  it("ignores key presses after it is accepted", () => {
    const one = callUnderTest(ringingSettings(2))
    for (const command of [
      minutePaidCommand(),
      legOpenCommand(1),
      legOpenCommand(2),
      pressKeysCommand(2),
    ])
      one.execute(command)
    expect(one.execute(pressKeysCommand(1))).toEqual([])
    expect(one.execute(pressKeysCommand(2, "9"))).toEqual([])
  })
})

describe("a company's call slots", () => {
  const tag = (n: number) => n.toString(16).padStart(32, "0") as KeyedHash
  const reserve = (n: number, from: number): SlotCommand<CallId> => {
    const caller = { tag: tag(from), maxSlots: MAX_CALLS_PER_CALLER }
    return {
      type: "ReserveSlot",
      holderId: `call_${n}` as CallId,
      maxSlots: MAX_CONCURRENT_CALLS,
      caller,
    }
  }
  const slots = () => {
    const { ask, state } = deciderSession(CALL_SLOTS_AGGREGATE.decider)
    const execute = (command: SlotCommand<CallId>, at = NOW) => {
      const answer = ask(command, at)
      return typeof answer === "string" ? answer : answer.length
    }
    return { execute, state }
  }

  it("are twenty, one for each call", () => {
    const { execute, state } = slots()
    for (let n = 1; n <= MAX_CONCURRENT_CALLS; n += 1) expect(execute(reserve(n, n))).toBe(1)
    expect([execute(reserve(20, 20)), execute(reserve(21, 21))]).toEqual([0, "company_limit"])
    const free = { type: "ReleaseSlot", holderId: "call_3" } as const
    expect([execute(free), execute(free), execute(reserve(21, 21))]).toEqual([1, 0, 1])
    // A call that has ended does not get another slot if it is reported again.
    expect(execute(reserve(3, 3))).toBe(0)
    expect(slotHoldersOf(state())).toHaveLength(MAX_CONCURRENT_CALLS)
  })

  it("allow one caller ten calls in exactly ten minutes", () => {
    const { execute, state } = slots()
    for (let n = 1; n <= MAX_CALLS_PER_CALLER; n += 1) {
      expect(execute(reserve(n, 7), NOW + n)).toBe(1)
      execute({ type: "ReleaseSlot", holderId: `call_${n}` as CallId }, NOW + n)
    }
    expect(execute(reserve(11, 7), NOW + CALLER_LIMIT_WINDOW_MS)).toBe("caller_limit")
    expect(execute(reserve(12, 8), NOW + CALLER_LIMIT_WINDOW_MS)).toBe(1)
    expect(execute(reserve(11, 7), NOW + 1 + CALLER_LIMIT_WINDOW_MS)).toBe(1)
    expect(execute(reserve(13, 7), NOW + 1 + CALLER_LIMIT_WINDOW_MS)).toBe("caller_limit")
    expect(state().recent).toHaveLength(11)
  })
})
