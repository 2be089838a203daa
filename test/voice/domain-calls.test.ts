/** Ringing, notices, minutes and ends of a call, and the slots of a company. */
import { describe, expect, it } from "vitest"
import type { KeyedHash } from "../../domain/kernel/ids.ts"
import { firstMinutePrice, minutePrice, secondsOf } from "../../domain/voice/call-minutes.ts"
import type { SlotCommand } from "../../domain/kernel/slots.ts"
import { holdersOf } from "../../domain/kernel/slots.ts"
import { CALL_SLOTS, MOST_AT_ONCE, MOST_OF_ONE, WINDOW_MS } from "../../domain/voice/aggregates.ts"
import type { CallId } from "../../domain/voice/ids.ts"
import { asking } from "../support/spec.ts"
import {
  NOW,
  audio,
  begin,
  gone,
  offerCall,
  oneCall,
  open,
  paid,
  press,
  refused,
  ringing,
  said,
} from "./call-commands.ts"

const OPEN_AT = NOW + 5_000

/** A call that two people talk in since `OPEN_AT`. */
function talking(others: Parameters<typeof ringing>[1] = {}) {
  const one = oneCall(ringing(1, { screenCalls: false, ...others }))
  for (const command of [paid(), open(1), open(0, OPEN_AT)]) one.tell(command)
  return one
}

describe("phones", () => {
  it("ring all at once, and the others are hung up where one is taken", () => {
    const one = oneCall(ringing(3, { screenCalls: false }))
    one.tell(paid())
    expect(one.words()).toEqual(["dial 1", "dial 2", "dial 3"])
    one.tell(open(2))
    expect(one.words().slice(3)).toEqual(["hang_up 1", "hang_up 3", "answer 0"])
  })

  it("ring one after another, 120 seconds in all", () => {
    const one = oneCall(ringing(5, { ringMode: "order", ringSeconds: 50 }))
    one.tell(paid())
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
    const greeted = oneCall(ringing(0))
    greeted.tell(paid())
    expect(greeted.words()).toEqual(["answer 0"])
    const rejected = oneCall(ringing(0, { voicemail: false }))
    rejected.tell(paid())
    expect(rejected.words()).toEqual(["reject 0"])
    expect(rejected.live()).toMatchObject({ outcome: "missed", reason: "unanswered" })
  })

  it("do not ring where the caller went while the money was looked for", () => {
    const one = oneCall(ringing(2))
    one.tell(gone(0))
    one.tell(paid())
    expect([one.words(), one.live().outcome]).toEqual([[], "missed"])
    expect(one.minutes()).toMatchObject({ paid: 1, known: 0, isFinal: true })
  })

  it.each(["company_call_limit", "caller_call_limit", "closed"] as const)(
    "do not ring for a call turned away: %s",
    (turnedAway) => {
      const one = oneCall()
      one.tell(offerCall(ringing(2), { turnedAway }))
      expect(one.words()).toEqual(["reject 0"])
      expect(one.live()).toMatchObject({ outcome: "missed", reason: turnedAway })
      expect(one.minutes()).toMatchObject({ owed: null, next: null })
    },
  )
})

describe("a recorded call", () => {
  it("is joined and recorded once both heard the notice", () => {
    const one = talking({ recordCalls: true })
    expect(one.words().slice(-2)).toEqual(["say 0", "say 1"])
    expect(one.tell(said(1))).toMatchObject([{ type: "LegPromptPlayed" }])
    expect(one.tell(said(1))).toEqual([])
    expect(one.tell(said(0))).toMatchObject([{ type: "LegPromptPlayed" }, { isRecorded: true }])
    expect(one.words().slice(-2)).toEqual(["join 0", "record 0"])
  })

  it("keeps the first recording of each kind, and a voicemail of a second makes a missed call one", () => {
    const one = oneCall(ringing(0))
    for (const command of [paid(), open(0), gone(0)]) one.tell(command)
    expect(one.live().outcome).toBe("missed")
    one.tell(audio("voicemail", 0))
    expect(one.live().outcome).toBe("missed")
    const other = oneCall(ringing(0))
    for (const command of [paid(), open(0), gone(0), audio("voicemail", 1)]) other.tell(command)
    expect(other.live().outcome).toBe("voicemail")
    expect(other.tell(audio("voicemail", 9))).toEqual([])
    const answered = talking()
    for (const command of [gone(0), audio("voicemail", 9)]) answered.tell(command)
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
    one.tell(gone(0, OPEN_AT + lastedMs), NOW + 900_000)
    for (let minute = 2; one.minutes().next !== null; minute += 1) {
      one.tell(begin(minute))
      one.tell(paid(minute))
    }
    expect(one.minutes()).toMatchObject({ paid: minutes, known: minutes, isFinal: true })
    expect(secondsOf(one.live())).toBe(seconds)
  })

  it("that are charged already are given back where a late hang-up was before them", () => {
    const one = talking()
    one.tell(begin(2), OPEN_AT + 60_001)
    one.tell(paid(2))
    one.tell(gone(0, OPEN_AT + 60_000), OPEN_AT + 62_000)
    expect(one.minutes()).toMatchObject({ paid: 2, known: 1, isFinal: true })
  })

  it("are counted to the earlier of two ends, and to the call's own where nobody says", () => {
    const one = talking()
    one.tell(gone(1), OPEN_AT + 100_000)
    expect(one.minutes().isFinal).toBe(false)
    one.tell({ type: "AssumeGone", callId: one.live().offered.callId }, OPEN_AT + 700_000)
    expect([one.minutes().isFinal, secondsOf(one.live())]).toEqual([true, 100])
    one.tell(gone(0, OPEN_AT + 300_000))
    expect(secondsOf(one.live())).toBe(100)
    one.tell(gone(0, OPEN_AT + 30_000))
    expect(secondsOf(one.live())).toBe(30)
  })

  it("are known from the end alone where nobody said that the leg was open", () => {
    const one = oneCall(ringing(0))
    one.tell(paid())
    one.tell(gone(0, OPEN_AT + 61_000, OPEN_AT))
    expect(one.minutes()).toMatchObject({ next: { minute: 2 }, isFinal: true })
    const unopened = oneCall(ringing(1))
    unopened.tell(paid())
    // Nobody asked to open it: what was never opened was not answered.
    unopened.tell(gone(0, OPEN_AT + 61_000, OPEN_AT))
    expect(unopened.minutes()).toMatchObject({ known: 0, next: null })
  })

  it("are none of a call that was unanswered when it was over, whatever is said behind it", () => {
    const one = oneCall(ringing(1, { screenCalls: false }))
    for (const command of [paid(), open(1)]) one.tell(command)
    one.pass("answer")
    one.tell({ type: "AssumeGone", callId: one.live().offered.callId }, NOW + 900_000)
    expect(one.minutes()).toMatchObject({ known: 0, isFinal: true })
    expect(one.tell(open(0, OPEN_AT))).toEqual([])
    expect(one.tell(gone(0, OPEN_AT + 1_000, OPEN_AT))).toHaveLength(1)
    expect(one.minutes()).toMatchObject({ known: 0, next: null })
    // Before anybody said that the caller went it would have counted.
    const other = oneCall(ringing(1, { screenCalls: false }))
    for (const command of [paid(), open(1)]) other.tell(command)
    other.pass("answer")
    expect(other.tell(open(0, OPEN_AT))).toMatchObject([{ type: "CallerAnswered" }, { leg: 0 }])
    expect(other.tell(gone(0, OPEN_AT + 1_000))).toMatchObject([{ type: "CallerHungUp" }])
    expect(other.minutes()).toMatchObject({ known: 1, isFinal: true })
  })

  it("are written off from the one that was refused, also behind the end", () => {
    const one = talking()
    one.tell(gone(0, OPEN_AT + 400_000), OPEN_AT + 900_000)
    one.tell(begin(2))
    expect(one.tell(refused(2))).toMatchObject([{ type: "CallMinuteRefused" }])
    expect(one.minutes()).toMatchObject({ next: null, owed: null, known: 1 })
  })

  it("cost what who took the call costs, the first the dearest until that is known", () => {
    const one = oneCall()
    const settings = ringing(2, { screenCalls: false })
    one.tell(offerCall(settings, { minuteMicros: 12_000, legMicros: [60_000, 40_000] }))
    expect(firstMinutePrice(one.live())).toBe(60_000)
    expect(minutePrice(one.live()).unitPriceMicros).toBe(12_000)
    one.tell(paid())
    one.tell(open(2))
    expect(minutePrice(one.live())).toEqual({ unitPriceMicros: 40_000, priceVersion: 1 })
  })
})

describe("a call", () => {
  it("answers who was told to press 1 twice by nothing", () => {
    const one = oneCall(ringing(2))
    for (const command of [paid(), open(1), open(2), press(2)]) one.tell(command)
    expect(one.tell(press(1))).toEqual([])
    expect(one.tell(press(2, "9"))).toEqual([])
  })
})

describe("the slots of a company", () => {
  const tag = (n: number) => n.toString(16).padStart(32, "0") as KeyedHash
  const take = (n: number, from: number): SlotCommand<CallId> => {
    const caller = { tag: tag(from), most: MOST_OF_ONE }
    return { type: "TakeSlot", holderId: `call_${n}` as CallId, most: MOST_AT_ONCE, caller }
  }
  const slots = () => {
    const { ask: asked, state } = asking(CALL_SLOTS.decider)
    const ask = (command: SlotCommand<CallId>, at = NOW) => {
      const answer = asked(command, at)
      return typeof answer === "string" ? answer : answer.length
    }
    return { ask, state }
  }

  it("are twenty at once, a call's own but once", () => {
    const { ask, state } = slots()
    for (let n = 1; n <= MOST_AT_ONCE; n += 1) expect(ask(take(n, n))).toBe(1)
    expect([ask(take(20, 20)), ask(take(21, 21))]).toEqual([0, "company_limit"])
    const free = { type: "FreeSlot", holderId: "call_3" } as const
    expect([ask(free), ask(free), ask(take(21, 21))]).toEqual([1, 0, 1])
    // One that ended is not given another one where it is told of once more.
    expect(ask(take(3, 3))).toBe(0)
    expect(holdersOf(state())).toHaveLength(MOST_AT_ONCE)
  })

  it("let one caller have ten calls in ten minutes, to the millisecond", () => {
    const { ask, state } = slots()
    for (let n = 1; n <= MOST_OF_ONE; n += 1) {
      expect(ask(take(n, 7), NOW + n)).toBe(1)
      ask({ type: "FreeSlot", holderId: `call_${n}` as CallId }, NOW + n)
    }
    expect(ask(take(11, 7), NOW + WINDOW_MS)).toBe("caller_limit")
    expect(ask(take(12, 8), NOW + WINDOW_MS)).toBe(1)
    expect(ask(take(11, 7), NOW + 1 + WINDOW_MS)).toBe(1)
    expect(ask(take(13, 7), NOW + 1 + WINDOW_MS)).toBe("caller_limit")
    expect(state().recent).toHaveLength(11)
  })
})
