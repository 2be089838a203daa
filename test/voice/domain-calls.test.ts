/** Ringing, notices, minutes and ends of a call, and the slots of a company. */
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

/** A call that two people talk in since `OPEN_AT`. */
function talking(others: Parameters<typeof ringingSettings>[1] = {}) {
  const one = callUnderTest(ringingSettings(1, { screenCalls: false, ...others }))
  for (const command of [minutePaidCommand(), legOpenCommand(1), legOpenCommand(0, OPEN_AT)])
    one.tell(command)
  return one
}

describe("phones", () => {
  it("ring all at once, and the others are hung up where one is taken", () => {
    const one = callUnderTest(ringingSettings(3, { screenCalls: false }))
    one.tell(minutePaidCommand())
    expect(one.words()).toEqual(["dial 1", "dial 2", "dial 3"])
    one.tell(legOpenCommand(2))
    expect(one.words().slice(3)).toEqual(["hang_up 1", "hang_up 3", "answer 0"])
  })

  it("ring one after another, 120 seconds in all", () => {
    const one = callUnderTest(ringingSettings(5, { ringMode: "order", ringSeconds: 50 }))
    one.tell(minutePaidCommand())
    for (const leg of [1, 2]) expect(one.pass("ring")).toMatchObject([{ leg }, { legs: [leg + 1] }])
    // The third has 20 seconds left, and the fourth none.
    expect(one.pass("ring")).toMatchObject([
      { type: "LegHungUp", leg: 3 },
      { type: "GreetingStarted" },
    ])
    expect(one.facts.at(-1)?.at).toBe(NOW + 120_000)
    expect(one.words()).toEqual([
      "dial 1",
      "hang_up 1",
      "dial 2",
      "hang_up 2",
      "dial 3",
      "hang_up 3",
      "answer 0",
    ])
  })

  it("are none where nobody is to ring: the greeting, or a rejection", () => {
    const greeted = callUnderTest(ringingSettings(0))
    greeted.tell(minutePaidCommand())
    expect(greeted.words()).toEqual(["answer 0"])
    const rejected = callUnderTest(ringingSettings(0, { voicemail: false }))
    rejected.tell(minutePaidCommand())
    expect(rejected.words()).toEqual(["reject 0"])
    expect(rejected.live()).toMatchObject({ outcome: "missed", reason: "unanswered" })
  })

  it("do not ring where the caller went while the money was looked for", () => {
    const one = callUnderTest(ringingSettings(2))
    one.tell(legGoneCommand(0))
    one.tell(minutePaidCommand())
    expect([one.words(), one.live().outcome]).toEqual([[], "missed"])
    expect(one.minutes()).toMatchObject({ paid: 1, confirmed: 0, isFinal: true })
  })

  it.each(["company_call_limit", "caller_call_limit", "closed"] as const)(
    "do not ring for a call turned away: %s",
    (rejectReason) => {
      const one = callUnderTest()
      one.tell(offerCallCommand(ringingSettings(2), { rejectReason }))
      expect(one.words()).toEqual(["reject 0"])
      expect(one.live()).toMatchObject({ outcome: "missed", reason: rejectReason })
      expect(one.minutes()).toMatchObject({ owed: null, next: null })
    },
  )
})

describe("a recorded call", () => {
  it("is joined and recorded once both heard the notice", () => {
    const one = talking({ recordCalls: true })
    expect(one.words().slice(-2)).toEqual(["say 0", "say 1"])
    expect(one.tell(promptPlayedCommand(1))).toMatchObject([{ type: "LegPromptPlayed" }])
    expect(one.tell(promptPlayedCommand(1))).toEqual([])
    expect(one.tell(promptPlayedCommand(0))).toMatchObject([
      { type: "LegPromptPlayed" },
      { isRecorded: true },
    ])
    expect(one.words().slice(-2)).toEqual(["join 0", "record 0"])
  })

  it("keeps the first recording of each kind, and a voicemail of a second makes a missed call one", () => {
    const one = callUnderTest(ringingSettings(0))
    for (const command of [minutePaidCommand(), legOpenCommand(0), legGoneCommand(0)])
      one.tell(command)
    expect(one.live().outcome).toBe("missed")
    one.tell(recordingReadyCommand("voicemail", 0))
    expect(one.live().outcome).toBe("missed")
    const other = callUnderTest(ringingSettings(0))
    for (const command of [
      minutePaidCommand(),
      legOpenCommand(0),
      legGoneCommand(0),
      recordingReadyCommand("voicemail", 1),
    ])
      other.tell(command)
    expect(other.live().outcome).toBe("voicemail")
    expect(other.tell(recordingReadyCommand("voicemail", 9))).toEqual([])
    const answered = talking()
    for (const command of [legGoneCommand(0), recordingReadyCommand("voicemail", 9)])
      answered.tell(command)
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
  ])("of %d milliseconds by the carrier are %d, in %d seconds", (lastedMs, minutes, seconds) => {
    const one = talking()
    one.tell(legGoneCommand(0, OPEN_AT + lastedMs), NOW + 900_000)
    for (let minute = 2; one.minutes().next !== null; minute += 1) {
      one.tell(beginMinuteCommand(minute))
      one.tell(minutePaidCommand(minute))
    }
    expect(one.minutes()).toMatchObject({ paid: minutes, confirmed: minutes, isFinal: true })
    expect(callSecondsOf(one.live())).toBe(seconds)
  })

  it("that are charged already are given back where a late hang-up was before them", () => {
    const one = talking()
    one.tell(beginMinuteCommand(2), OPEN_AT + 60_001)
    one.tell(minutePaidCommand(2))
    one.tell(legGoneCommand(0, OPEN_AT + 60_000), OPEN_AT + 62_000)
    expect(one.minutes()).toMatchObject({ paid: 2, confirmed: 1, isFinal: true })
  })

  it("are counted to the earlier of two ends, and to the call's own where nobody says", () => {
    const one = talking()
    one.tell(legGoneCommand(1), OPEN_AT + 100_000)
    expect(one.minutes().isFinal).toBe(false)
    one.tell({ type: "AssumeCallerHungUp", callId: one.live().offered.callId }, OPEN_AT + 700_000)
    expect([one.minutes().isFinal, callSecondsOf(one.live())]).toEqual([true, 100])
    one.tell(legGoneCommand(0, OPEN_AT + 300_000))
    expect(callSecondsOf(one.live())).toBe(100)
    one.tell(legGoneCommand(0, OPEN_AT + 30_000))
    expect(callSecondsOf(one.live())).toBe(30)
  })

  it("are known from the end alone where nobody said that the leg was open", () => {
    const one = callUnderTest(ringingSettings(0))
    one.tell(minutePaidCommand())
    one.tell(legGoneCommand(0, OPEN_AT + 61_000, OPEN_AT))
    expect(one.minutes()).toMatchObject({ next: { minute: 2 }, isFinal: true })
    const unopened = callUnderTest(ringingSettings(1))
    unopened.tell(minutePaidCommand())
    // Nobody asked to open it: what was never opened was not answered.
    unopened.tell(legGoneCommand(0, OPEN_AT + 61_000, OPEN_AT))
    expect(unopened.minutes()).toMatchObject({ confirmed: 0, next: null })
  })

  it("are none of a call that was unanswered when it was over, whatever is said behind it", () => {
    const one = callUnderTest(ringingSettings(1, { screenCalls: false }))
    for (const command of [minutePaidCommand(), legOpenCommand(1)]) one.tell(command)
    one.pass("answer")
    one.tell({ type: "AssumeCallerHungUp", callId: one.live().offered.callId }, NOW + 900_000)
    expect(one.minutes()).toMatchObject({ confirmed: 0, isFinal: true })
    expect(one.tell(legOpenCommand(0, OPEN_AT))).toEqual([])
    expect(one.tell(legGoneCommand(0, OPEN_AT + 1_000, OPEN_AT))).toHaveLength(1)
    expect(one.minutes()).toMatchObject({ confirmed: 0, next: null })
    // Before anybody said that the caller went it would have counted.
    const other = callUnderTest(ringingSettings(1, { screenCalls: false }))
    for (const command of [minutePaidCommand(), legOpenCommand(1)]) other.tell(command)
    other.pass("answer")
    expect(other.tell(legOpenCommand(0, OPEN_AT))).toMatchObject([
      { type: "CallerAnswered" },
      { leg: 0 },
    ])
    expect(other.tell(legGoneCommand(0, OPEN_AT + 1_000))).toMatchObject([{ type: "CallerHungUp" }])
    expect(other.minutes()).toMatchObject({ confirmed: 1, isFinal: true })
  })

  it("are written off from the one that was refused, also behind the end", () => {
    const one = talking()
    one.tell(legGoneCommand(0, OPEN_AT + 400_000), OPEN_AT + 900_000)
    one.tell(beginMinuteCommand(2))
    expect(one.tell(minuteRefusedCommand(2))).toMatchObject([{ type: "CallMinuteRefused" }])
    expect(one.minutes()).toMatchObject({ next: null, owed: null, confirmed: 1 })
  })

  it("cost what who took the call costs, the first the dearest until that is known", () => {
    const one = callUnderTest()
    const settings = ringingSettings(2, { screenCalls: false })
    one.tell(offerCallCommand(settings, { minuteMicros: 12_000, legMicros: [60_000, 40_000] }))
    expect(firstCallMinutePrice(one.live())).toBe(60_000)
    expect(callMinutePrice(one.live()).unitPriceMicros).toBe(12_000)
    one.tell(minutePaidCommand())
    one.tell(legOpenCommand(2))
    expect(callMinutePrice(one.live())).toEqual({ unitPriceMicros: 40_000, priceVersion: 1 })
  })
})

describe("a call", () => {
  it("answers who was told to press 1 twice by nothing", () => {
    const one = callUnderTest(ringingSettings(2))
    for (const command of [
      minutePaidCommand(),
      legOpenCommand(1),
      legOpenCommand(2),
      pressKeysCommand(2),
    ])
      one.tell(command)
    expect(one.tell(pressKeysCommand(1))).toEqual([])
    expect(one.tell(pressKeysCommand(2, "9"))).toEqual([])
  })
})

describe("the slots of a company", () => {
  const tag = (n: number) => n.toString(16).padStart(32, "0") as KeyedHash
  const take = (n: number, from: number): SlotCommand<CallId> => {
    const caller = { tag: tag(from), maxSlots: MAX_CALLS_PER_CALLER }
    return {
      type: "ReserveSlot",
      holderId: `call_${n}` as CallId,
      maxSlots: MAX_CONCURRENT_CALLS,
      caller,
    }
  }
  const slots = () => {
    const { ask: asked, state } = deciderSession(CALL_SLOTS_AGGREGATE.decider)
    const ask = (command: SlotCommand<CallId>, at = NOW) => {
      const answer = asked(command, at)
      return typeof answer === "string" ? answer : answer.length
    }
    return { ask, state }
  }

  it("are twenty at once, a call's own but once", () => {
    const { ask, state } = slots()
    for (let n = 1; n <= MAX_CONCURRENT_CALLS; n += 1) expect(ask(take(n, n))).toBe(1)
    expect([ask(take(20, 20)), ask(take(21, 21))]).toEqual([0, "company_limit"])
    const free = { type: "ReleaseSlot", holderId: "call_3" } as const
    expect([ask(free), ask(free), ask(take(21, 21))]).toEqual([1, 0, 1])
    // One that ended is not given another one where it is told of once more.
    expect(ask(take(3, 3))).toBe(0)
    expect(slotHoldersOf(state())).toHaveLength(MAX_CONCURRENT_CALLS)
  })

  it("let one caller have ten calls in ten minutes, to the millisecond", () => {
    const { ask, state } = slots()
    for (let n = 1; n <= MAX_CALLS_PER_CALLER; n += 1) {
      expect(ask(take(n, 7), NOW + n)).toBe(1)
      ask({ type: "ReleaseSlot", holderId: `call_${n}` as CallId }, NOW + n)
    }
    expect(ask(take(11, 7), NOW + CALLER_LIMIT_WINDOW_MS)).toBe("caller_limit")
    expect(ask(take(12, 8), NOW + CALLER_LIMIT_WINDOW_MS)).toBe(1)
    expect(ask(take(11, 7), NOW + 1 + CALLER_LIMIT_WINDOW_MS)).toBe(1)
    expect(ask(take(13, 7), NOW + 1 + CALLER_LIMIT_WINDOW_MS)).toBe("caller_limit")
    expect(state().recent).toHaveLength(11)
  })
})
