/** The rules of recordings: each is stored and deleted once, and the stored minutes of each day are counted. */
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

/** A company's recordings, for commands one after the other. */
function newRecordings() {
  const { ask, state } = deciderSession(recordingsDecider)
  return { execute: (command: RecordingCommand, at = NOW) => ask(command, at), state }
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
  ])("of %i seconds are %i, rounded up per file", ([seconds = 0, minutes = 0]) => {
    const { execute } = newRecordings()
    execute(keepAudioCommand({ seconds }))
    execute(keepAudioCommand({ kind: "voicemail", seconds }))
    expect(execute(countDay(TODAY), TOMORROW)).toEqual([
      { type: "StoredMinutesCounted", at: TOMORROW, day: TODAY, minutes: 2 * minutes },
    ])
  })

  it("are counted once, after the day, and never for an earlier day", () => {
    const { execute, state } = newRecordings()
    execute(keepAudioCommand())
    expect(execute(countDay(TODAY), TOMORROW - 1)).toBe("day_not_over")
    expect(nextDayToCount(state())).toBe(TODAY)
    expect(execute(countDay(TODAY), TOMORROW)).toHaveLength(1)
    expect(execute(countDay(TODAY), TOMORROW)).toEqual([])
    expect(execute(countDay(TODAY - DAY_MS), TOMORROW)).toEqual([])
    expect(nextDayToCount(state())).toBe(TOMORROW)
  })

  it("leave out recordings stored between the end of the day and the count", () => {
    const { execute, state } = newRecordings()
    execute(keepAudioCommand(), TOMORROW)
    expect(execute(countDay(TODAY), TOMORROW + 1)).toEqual([])
    expect(nextDayToCount(state())).toBe(TOMORROW)
  })

  it("are not counted once no recording is left", () => {
    const { execute, state } = newRecordings()
    execute(keepAudioCommand())
    execute(deleteAudioCommand())
    expect(execute(countDay(TODAY), TOMORROW)).toEqual([])
    expect(nextDayToCount(state())).toBeNull()
  })
})

describe("a deleted recording", () => {
  it("is never stored again, and a recording of a call too long ago is never stored", () => {
    const { execute, state } = newRecordings()
    execute(keepAudioCommand())
    execute(deleteAudioCommand({ kinds: ["voicemail", "call", "call"] }))
    expect(recordingStatusOf(state(), "call_1", "call")).toBe("deleted")
    expect(execute(keepAudioCommand(), NOW + RECORDING_ACCEPT_WINDOW_MS - 1)).toEqual([])
    expect(execute(keepAudioCommand(), NOW + RECORDING_ACCEPT_WINDOW_MS)).toEqual([])
    // The next deletion drops old ones from the state.
    execute(
      keepAudioCommand({ callId: "call_2", calledAt: NOW + 1 }),
      NOW + RECORDING_ACCEPT_WINDOW_MS,
    )
    execute({ type: "EraseRecordings", maxCount: 1 }, NOW + RECORDING_ACCEPT_WINDOW_MS)
    expect(recordingStatusOf(state(), "call_1", "call")).toBe("never came")
    expect(execute(keepAudioCommand(), NOW + RECORDING_ACCEPT_WINDOW_MS)).toBe("too_late")
  })

  it("that had not arrived yet is never stored, and is deleted once", () => {
    const { execute, state } = newRecordings()
    const both = deleteAudioCommand({ kinds: ["call", "voicemail"], availableKinds: ["call"] })
    expect(execute(both, NOW + 1)).toEqual([
      {
        type: "RecordingDeleted",
        at: NOW + 1,
        callId: "call_1",
        kind: "call",
        reason: "requested",
      },
    ])
    expect([
      execute(both, NOW + 2),
      execute(keepAudioCommand(), NOW + RECORDING_ACCEPT_WINDOW_MS - 1),
    ]).toEqual([[], []])
    expect(recordingStatusOf(state(), "call_1", "voicemail")).toBe("never came")
  })

  it("is not recorded for a call too long ago for a recording to arrive", () => {
    const { execute } = newRecordings()
    const late = deleteAudioCommand({ availableKinds: ["call"] })
    expect(execute(late, NOW + RECORDING_ACCEPT_WINDOW_MS)).toEqual([])
    expect(execute(late, NOW + RECORDING_ACCEPT_WINDOW_MS - 1)).toHaveLength(1)
  })
})

describe("a stored recording", () => {
  it("is deleted at the end of the day on which it reaches the retention age, counted from the call", () => {
    const { execute } = newRecordings()
    execute({ type: "SetRetention", days: 30 })
    execute(keepAudioCommand({ calledAt: TODAY }))
    execute(keepAudioCommand({ callId: "call_2", calledAt: TODAY + 1 }))
    const [last, after] = [TODAY + 29 * DAY_MS, TODAY + 30 * DAY_MS]
    expect(execute(deleteOld(last - DAY_MS), last)).toEqual([])
    expect(execute(deleteOld(last), after - 1)).toBe("day_not_over")
    expect(execute(deleteOld(last), after)).toMatchObject([
      { callId: "call_1", reason: "retention" },
    ])
    expect(execute(deleteOld(after), after + DAY_MS)).toMatchObject([{ callId: "call_2" }])
  })

  it("is erased in batches", () => {
    const { execute } = newRecordings()
    for (const i of [1, 2, 3]) execute(keepAudioCommand({ callId: `call_${i}` }))
    expect(execute({ type: "EraseRecordings", maxCount: 2 })).toHaveLength(2)
    expect(execute({ type: "EraseRecordings", maxCount: 2 })).toHaveLength(1)
    expect(execute({ type: "EraseRecordings", maxCount: 2 })).toEqual([])
  })
})

const histories = historiesOf(recordingCommand)

/** A nightly deletion one day too early for a recording, which random histories rarely contain. */
const A_DAY_EARLY: CommandHistory<RecordingCommand> = [
  { command: { type: "SetRetention", days: 30 }, stamp: { at: NOW } },
  { command: keepAudioCommand({ calledAt: TODAY }), stamp: { at: NOW } },
  { command: deleteOld(TODAY + 28 * DAY_MS), stamp: { at: TODAY + 29 * DAY_MS } },
]

const breaksLaw = (rules: RecordingDecider, law: RecordingLaw) =>
  fc.check(
    fc.property(histories, (history) => {
      expect(law(playRecordingCommands(rules, history))).toEqual([])
    }),
    { ...propertyRuns(400, 10_000), seed: 20_261_128, examples: [[A_DAY_EARLY]] },
  ).failed

describe("in any history of a company's recordings", () => {
  it.each(Object.entries(RECORDING_LAWS))("%s", (_title, law) => {
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

const decidingWith = (
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

const evolvingWith = (
  change: (state: Parameters<RecordingDecider["evolve"]>[0], fact: RecordingEvent) => void,
): RecordingDecider => ({
  ...recordingsDecider,
  evolve: (state, fact) => {
    const next = recordingsDecider.evolve(state, fact)
    change(next, fact)
    return next
  },
})

const FAULTY: readonly (readonly [
  title: string,
  rules: RecordingDecider,
  law: keyof typeof RECORDING_LAWS,
])[] = [
  [
    "rounds the total instead of each file",
    decidingWith((fact, { held }) => {
      if (fact.type !== "StoredMinutesCounted") return fact
      const seconds = [...held.values()].reduce((sum, audio) => sum + audio.seconds, 0)
      return { ...fact, minutes: Math.ceil(seconds / 60) }
    }),
    "the minutes of a day count the recordings that were stored before its end and are not deleted",
  ],
  [
    "counts recordings stored after the day",
    decidingWith((fact, { held }) => {
      if (fact.type !== "StoredMinutesCounted") return fact
      const all = [...held.values()].map(({ seconds }) => Math.ceil(seconds / 60))
      return { ...fact, minutes: all.reduce((sum, one) => sum + one, 0) }
    }),
    "the minutes of a day count the recordings that were stored before its end and are not deleted",
  ],
  [
    "forgets the last counted day",
    evolvingWith((state) => {
      state.countedDay = null
    }),
    "each day is counted once, in order, after its end",
  ],
  [
    "forgets deletions",
    evolvingWith((state) => state.deleted.clear()),
    "the same recording is stored at most once",
  ],
  [
    "forgets deletions of recordings that had not arrived",
    evolvingWith((state, fact) => {
      if (fact.type === "RecordingDeleted") state.deleted.delete(`${fact.callId} ${fact.kind}`)
    }),
    "a deleted recording is never stored",
  ],
  [
    "keeps deleted recordings",
    evolvingWith((state, fact) => {
      if (fact.type !== "RecordingDeleted") return
      const { callId, kind, at } = fact
      const rest = { seconds: 1, blobId: "b", calledAt: at, keptAt: at }
      state.held.set(`${callId} ${kind}`, { callId, kind, ...rest })
    }),
    "only a stored or awaited recording is deleted, and once",
  ],
  [
    "deletes recordings a day early",
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
    "a nightly deletion takes exactly the recordings that reach the retention age by the end of its day",
  ],
  [
    "counts the age from the time of storage",
    evolvingWith((state, fact) => {
      if (fact.type !== "RecordingStored") return
      const { type: _type, at, ...audio } = fact
      state.held.set(`${fact.callId} ${fact.kind}`, { ...audio, calledAt: at, keptAt: at })
    }),
    "a nightly deletion takes exactly the recordings that reach the retention age by the end of its day",
  ],
  [
    "records the same retention again",
    evolvingWith((state) => {
      state.days = null
    }),
    "the same command again records nothing",
  ],
]

describe("the law catches a decider that", () => {
  it.each(FAULTY)("%s", (_title, rules, law) => {
    expect(breaksLaw(rules, RECORDING_LAWS[law])).toBe(true)
  })
})
