/** The rules of audio: what is kept and deleted once, and how many minutes a day was kept for. */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { isRefusal } from "../../domain/kernel/decider.ts"
import type { RecordingEvent } from "../../domain/recordings/recording-events.ts"
import type { RecordingCommand } from "../../domain/recordings/recordings.ts"
import {
  RECORDING_ACCEPT_WINDOW_MS,
  nextDayToCount,
  recordingsDecider,
  recordingStatusOf,
} from "../../domain/recordings/recordings.ts"
import { deciderSession } from "../support/decider-spec.ts"
import { propertyRuns } from "../charging/property-runs.ts"
import type { CommandHistory } from "../kernel/command-histories.ts"
import { historiesOf } from "../kernel/command-histories.ts"
import {
  DAY_MS,
  NOW,
  TODAY,
  deleteAudioCommand,
  keepAudioCommand,
  recordingCommand,
} from "./recording-commands.ts"
import type { RecordingLaw, RecordingDecider } from "./recording-laws.ts"
import { RECORDING_LAWS, playRecordingCommands } from "./recording-laws.ts"

/** A company's audio, to be asked one command after the other. */
function company() {
  const { ask, state } = deciderSession(recordingsDecider)
  return { ask: (command: RecordingCommand, at = NOW) => ask(command, at), state }
}

const countDay = (day: number): RecordingCommand => ({ type: "CountStoredMinutes", day })
const deleteOld = (day: number, maxCount = 500): RecordingCommand => ({
  type: "DeleteExpiredRecordings",
  day,
  maxCount,
})
const TOMORROW = TODAY + DAY_MS

describe("the minutes of a day", () => {
  it.for([
    [0, 0],
    [1, 1],
    [60, 1],
    [61, 2],
    [3_600, 60],
  ])("of %i seconds are %i, each file by itself", ([seconds = 0, minutes = 0]) => {
    const { ask } = company()
    ask(keepAudioCommand({ seconds }))
    ask(keepAudioCommand({ kind: "voicemail", seconds }))
    expect(ask(countDay(TODAY), TOMORROW)).toEqual([
      { type: "StoredMinutesCounted", at: TOMORROW, day: TODAY, minutes: 2 * minutes },
    ])
  })

  it("are counted when it is over, once, and no more for a day before it", () => {
    const { ask, state } = company()
    ask(keepAudioCommand())
    expect(ask(countDay(TODAY), TOMORROW - 1)).toBe("day_not_over")
    expect(nextDayToCount(state())).toBe(TODAY)
    expect(ask(countDay(TODAY), TOMORROW)).toHaveLength(1)
    expect(ask(countDay(TODAY), TOMORROW)).toEqual([])
    expect(ask(countDay(TODAY - DAY_MS), TOMORROW)).toEqual([])
    expect(nextDayToCount(state())).toBe(TOMORROW)
  })

  it("leave out what was kept in the minutes before they were counted", () => {
    const { ask, state } = company()
    ask(keepAudioCommand(), TOMORROW)
    expect(ask(countDay(TODAY), TOMORROW + 1)).toEqual([])
    expect(nextDayToCount(state())).toBe(TOMORROW)
  })

  it("are nobody's once nothing is held", () => {
    const { ask, state } = company()
    ask(keepAudioCommand())
    ask(deleteAudioCommand())
    expect(ask(countDay(TODAY), TOMORROW)).toEqual([])
    expect(nextDayToCount(state())).toBeNull()
  })
})

describe("audio that was deleted", () => {
  it("never comes back, and a call too long ago has none kept", () => {
    const { ask, state } = company()
    ask(keepAudioCommand())
    ask(deleteAudioCommand({ kinds: ["voicemail", "call", "call"] }))
    expect(recordingStatusOf(state(), "call_1", "call")).toBe("deleted")
    expect(ask(keepAudioCommand(), NOW + RECORDING_ACCEPT_WINDOW_MS - 1)).toEqual([])
    expect(ask(keepAudioCommand(), NOW + RECORDING_ACCEPT_WINDOW_MS)).toEqual([])
    // Another deletion is when the old ones are forgotten.
    ask(keepAudioCommand({ callId: "call_2", calledAt: NOW + 1 }), NOW + RECORDING_ACCEPT_WINDOW_MS)
    ask({ type: "EraseRecordings", maxCount: 1 }, NOW + RECORDING_ACCEPT_WINDOW_MS)
    expect(recordingStatusOf(state(), "call_1", "call")).toBe("never came")
    expect(ask(keepAudioCommand(), NOW + RECORDING_ACCEPT_WINDOW_MS)).toBe("too_late")
  })

  it("while it was on its way is never kept, and is deleted once", () => {
    const { ask, state } = company()
    const both = deleteAudioCommand({ kinds: ["call", "voicemail"], availableKinds: ["call"] })
    expect(ask(both, NOW + 1)).toEqual([
      {
        type: "RecordingDeleted",
        at: NOW + 1,
        callId: "call_1",
        kind: "call",
        reason: "requested",
      },
    ])
    expect([
      ask(both, NOW + 2),
      ask(keepAudioCommand(), NOW + RECORDING_ACCEPT_WINDOW_MS - 1),
    ]).toEqual([[], []])
    expect(recordingStatusOf(state(), "call_1", "voicemail")).toBe("never came")
  })

  it("is none of a call that is too long ago for any to come", () => {
    const { ask } = company()
    const late = deleteAudioCommand({ availableKinds: ["call"] })
    expect(ask(late, NOW + RECORDING_ACCEPT_WINDOW_MS)).toEqual([])
    expect(ask(late, NOW + RECORDING_ACCEPT_WINDOW_MS - 1)).toHaveLength(1)
  })

  it("goes at the end of the day on which it is old enough, counted from the call", () => {
    const { ask } = company()
    ask({ type: "SetRetention", days: 30 })
    ask(keepAudioCommand({ calledAt: TODAY }))
    ask(keepAudioCommand({ callId: "call_2", calledAt: TODAY + 1 }))
    const [last, after] = [TODAY + 29 * DAY_MS, TODAY + 30 * DAY_MS]
    expect(ask(deleteOld(last - DAY_MS), last)).toEqual([])
    expect(ask(deleteOld(last), after - 1)).toBe("day_not_over")
    expect(ask(deleteOld(last), after)).toMatchObject([{ callId: "call_1", reason: "retention" }])
    expect(ask(deleteOld(after), after + DAY_MS)).toMatchObject([{ callId: "call_2" }])
  })

  it("goes a part at a time", () => {
    const { ask } = company()
    for (const i of [1, 2, 3]) ask(keepAudioCommand({ callId: `call_${i}` }))
    expect(ask({ type: "EraseRecordings", maxCount: 2 })).toHaveLength(2)
    expect(ask({ type: "EraseRecordings", maxCount: 2 })).toHaveLength(1)
    expect(ask({ type: "EraseRecordings", maxCount: 2 })).toEqual([])
  })
})

const histories = historiesOf(recordingCommand)

/** A night a day too early for a recording: histories by chance meet it now and then. */
const A_DAY_EARLY: CommandHistory<RecordingCommand> = [
  { command: { type: "SetRetention", days: 30 }, stamp: { at: NOW } },
  { command: keepAudioCommand({ calledAt: TODAY }), stamp: { at: NOW } },
  { command: deleteOld(TODAY + 28 * DAY_MS), stamp: { at: TODAY + 29 * DAY_MS } },
]

const broken = (rules: RecordingDecider, law: RecordingLaw) =>
  fc.check(
    fc.property(histories, (history) => {
      expect(law(playRecordingCommands(rules, history))).toEqual([])
    }),
    { ...propertyRuns(400, 10_000), seed: 20_261_128, examples: [[A_DAY_EARLY]] },
  ).failed

describe("whatever happens to a company's audio", () => {
  it.each(Object.entries(RECORDING_LAWS))("%s", (_what, law) => {
    let recorded = 0
    fc.assert(
      fc.property(histories, (history) => {
        const steps = playRecordingCommands(recordingsDecider, history)
        recorded += steps.reduce((sum, { facts }) => sum + facts.length, 0)
        expect(law(steps)).toEqual([])
      }),
      propertyRuns(400, 10_000),
    )
    expect(recorded).toBeGreaterThan(100)
  })
})

/** Changes the facts that the rules answer. */
const deciding = (
  changed: (fact: RecordingEvent, state: Parameters<RecordingDecider["decide"]>[1]) => unknown,
): RecordingDecider => ({
  ...recordingsDecider,
  decide: (command, state, stamp) => {
    const answer = recordingsDecider.decide(command, state, stamp)
    return isRefusal(answer)
      ? answer
      : answer.map((fact) => changed(structuredClone(fact), state) as RecordingEvent)
  },
})

/** Forgets something of each fact. */
const evolving = (
  forget: (state: Parameters<RecordingDecider["evolve"]>[0], fact: RecordingEvent) => void,
): RecordingDecider => ({
  ...recordingsDecider,
  evolve: (state, fact) => {
    const next = recordingsDecider.evolve(state, fact)
    forget(next, fact)
    return next
  },
})

const FAULTY: readonly (readonly [
  what: string,
  rules: RecordingDecider,
  law: keyof typeof RECORDING_LAWS,
])[] = [
  [
    "rounds all files together",
    deciding((fact, { held }) => {
      if (fact.type !== "StoredMinutesCounted") return fact
      const seconds = [...held.values()].reduce((sum, audio) => sum + audio.seconds, 0)
      return { ...fact, minutes: Math.ceil(seconds / 60) }
    }),
    "the minutes of a day are those of what was kept before its end and is held",
  ],
  [
    "counts what was kept since",
    deciding((fact, { held }) => {
      if (fact.type !== "StoredMinutesCounted") return fact
      const all = [...held.values()].map(({ seconds }) => Math.ceil(seconds / 60))
      return { ...fact, minutes: all.reduce((sum, one) => sum + one, 0) }
    }),
    "the minutes of a day are those of what was kept before its end and is held",
  ],
  [
    "forgets which day was counted",
    evolving((state) => {
      state.countedDay = null
    }),
    "a day is counted once, behind those before it, and when it is over",
  ],
  [
    "forgets what was deleted",
    evolving((state) => state.deleted.clear()),
    "the same audio is kept once, for ever",
  ],
  [
    "forgets what was deleted on its way",
    evolving((state, fact) => {
      if (fact.type === "RecordingDeleted") state.deleted.delete(`${fact.callId} ${fact.kind}`)
    }),
    "what was deleted is never kept",
  ],
  [
    "goes on holding what was deleted",
    evolving((state, fact) => {
      if (fact.type !== "RecordingDeleted") return
      const { callId, kind, at } = fact
      const rest = { seconds: 1, blobId: "b", calledAt: at, keptAt: at }
      state.held.set(`${callId} ${kind}`, { callId, kind, ...rest })
    }),
    "what is deleted was held or is on its way, and is deleted once",
  ],
  [
    "deletes what will be old a day later",
    {
      ...recordingsDecider,
      decide: (command, state, stamp) => {
        if (command.type !== "DeleteExpiredRecordings")
          return recordingsDecider.decide(command, state, stamp)
        const { at } = stamp
        const next = { ...command, day: command.day + DAY_MS }
        const answer = recordingsDecider.decide(next, state, { at: at + DAY_MS })
        return isRefusal(answer) ? answer : answer.map((fact) => ({ ...fact, at }))
      },
    },
    "a night deletes what is old at the end of its day, and nothing else",
  ],
  [
    "counts age from when it was kept",
    evolving((state, fact) => {
      if (fact.type !== "RecordingStored") return
      const { type: _type, at, ...audio } = fact
      state.held.set(`${fact.callId} ${fact.kind}`, { ...audio, calledAt: at, keptAt: at })
    }),
    "a night deletes what is old at the end of its day, and nothing else",
  ],
  [
    "says again for how long audio is kept",
    evolving((state) => {
      state.days = null
    }),
    "the same command again records nothing",
  ],
]

describe("a law is seen to be broken by rules that are wrong", () => {
  it.each(FAULTY)("%s", (_what, rules, law) => {
    expect(broken(rules, RECORDING_LAWS[law])).toBe(true)
  })
})
