/** Random commands to a company's audio. Calls are few and times near each other, so that commands meet. */
import fc from "fast-check"
import { dayStart } from "../../domain/kernel/window.ts"
import type { CallId, AudioKind } from "../../domain/recordings/recording-events.ts"
import { AUDIO_KINDS, KEEP_DAYS } from "../../domain/recordings/recording-events.ts"
import type {
  DeleteAudio,
  KeepAudio,
  RecordingCommand,
} from "../../domain/recordings/recordings.ts"

/** When the histories of a format's tests begin. */
export const NOW = Date.parse("2026-03-02T10:00:00.000Z")
/** A day. */
export const DAY_MS = 86_400_000
/** The day on which they begin. */
export const TODAY = Date.parse("2026-03-02T00:00:00.000Z")

/** The command that keeps a minute of a call that began now. */
export function keepAudio(changed: Partial<KeepAudio> = {}): KeepAudio {
  const { callId = "call_1", kind = "call" } = changed
  const rest = { seconds: 60, blobId: `${callId}-${kind}`, calledAt: NOW }
  return { type: "KeepAudio", callId, kind, ...rest, ...changed }
}

/** The command that deletes what is held of a call that began now. */
export function deleteAudio(changed: Partial<DeleteAudio> = {}): DeleteAudio {
  const rest = { kinds: ["call"] as const, saved: [], calledAt: NOW }
  return { type: "DeleteAudio", callId: "call_1", ...rest, ...changed }
}

/** Calls, each with the time at which it began: the days of histories are around those. */
const call = fc.nat(5).map((i) => ({
  callId: `call_${i}` as const satisfies CallId,
  calledAt: TODAY + i * 17 * DAY_MS + i,
}))
const kind = fc.constantFrom<AudioKind>(...AUDIO_KINDS)
const seconds = fc.oneof(fc.constantFrom(0, 1, 59, 60, 61, 3_600), fc.nat(20_000))
/** Days around those of the histories that `historiesOf` makes: they go forward by up to 40 at a time. */
const day = fc.integer({ min: -2, max: 200 }).map((days) => TODAY + days * DAY_MS)
/** Days around the one at whose end one of the calls is old enough. */
const lastDay = fc
  .tuple(call, fc.constantFrom(30, 90), fc.integer({ min: -2, max: 1 }))
  .map(([{ calledAt }, keep, off]) => dayStart(calledAt) + (keep + off) * DAY_MS)
const most = fc.constantFrom(1, 2, 500)

/** One of them. */
export const recordingCommand: fc.Arbitrary<RecordingCommand> = fc.oneof(
  {
    weight: 9,
    arbitrary: fc
      .record({ call, kind, seconds })
      .map(({ call: one, ...rest }): RecordingCommand => keepAudio({ ...one, ...rest })),
  },
  {
    weight: 3,
    arbitrary: fc
      .record({
        call,
        kinds: fc.array(kind, { maxLength: 3 }),
        saved: fc.subarray([...AUDIO_KINDS]),
      })
      .map(({ call: one, ...named }) => deleteAudio({ ...one, ...named })),
  },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(...KEEP_DAYS, null)
      .map((days): RecordingCommand => ({ type: "SetKeepDays", days })),
  },
  {
    weight: 5,
    arbitrary: fc
      .record({ day: fc.oneof(day, lastDay), most })
      .map((asked): RecordingCommand => ({ type: "DeleteOld", ...asked })),
  },
  {
    weight: 8,
    arbitrary: day.map((one): RecordingCommand => ({ type: "CountKeptMinutes", day: one })),
  },
  {
    weight: 1,
    arbitrary: most.map((some): RecordingCommand => ({ type: "EraseAudio", most: some })),
  },
)
