/** Random commands on a company's recordings. Calls are few and times close, so that commands interact. */
import fc from "fast-check"
import { dayStart } from "../../domain/kernel/window.ts"
import type { CallId, AudioKind } from "../../domain/kernel/calls.ts"
import { RETENTION_DAYS } from "../../domain/recordings/recording-events.ts"
import { AUDIO_KINDS } from "../../domain/kernel/calls.ts"
import type {
  DeleteRecordings,
  StoreRecording,
  RecordingCommand,
} from "../../domain/recordings/recordings.ts"

/** Start time of the histories. */
export const NOW = Date.parse("2026-03-02T10:00:00.000Z")
/** Milliseconds of a day. */
export const DAY_MS = 86_400_000
/** The day on which the histories start. */
export const TODAY = Date.parse("2026-03-02T00:00:00.000Z")

/** Stores a minute of audio of a call that began now. */
export function keepAudioCommand(changed: Partial<StoreRecording> = {}): StoreRecording {
  const { callId = "call_1", kind = "call" } = changed
  const rest = { seconds: 60, blobId: `${callId}-${kind}`, calledAt: NOW }
  return { type: "StoreRecording", callId, kind, ...rest, ...changed }
}

/** Deletes the recordings of a call that began now. */
export function deleteAudioCommand(changed: Partial<DeleteRecordings> = {}): DeleteRecordings {
  const rest = { kinds: ["call"] as const, availableKinds: [], calledAt: NOW }
  return { type: "DeleteRecordings", callId: "call_1", ...rest, ...changed }
}

/** Calls with their start times, which lie among the days of the histories. */
const call = fc.nat(5).map((i) => ({
  callId: `call_${i}` as const satisfies CallId,
  calledAt: TODAY + i * 17 * DAY_MS + i,
}))
const kind = fc.constantFrom<AudioKind>(...AUDIO_KINDS)
const seconds = fc.oneof(fc.constantFrom(0, 1, 59, 60, 61, 3_600), fc.nat(20_000))
/** Days around those of the histories that `historiesOf` makes; a history advances by up to 40 days per step. */
const day = fc.integer({ min: -2, max: 200 }).map((days) => TODAY + days * DAY_MS)
/** Days around the one on which a call reaches the retention age. */
const lastDay = fc
  .tuple(call, fc.constantFrom(30, 90), fc.integer({ min: -2, max: 1 }))
  .map(([{ calledAt }, keep, off]) => dayStart(calledAt) + (keep + off) * DAY_MS)
const maxCount = fc.constantFrom(1, 2, 500)

export const recordingCommand: fc.Arbitrary<RecordingCommand> = fc.oneof(
  {
    weight: 9,
    arbitrary: fc
      .record({ call, kind, seconds })
      .map(({ call: one, ...rest }): RecordingCommand => keepAudioCommand({ ...one, ...rest })),
  },
  {
    weight: 3,
    arbitrary: fc
      .record({
        call,
        kinds: fc.array(kind, { maxLength: 3 }),
        availableKinds: fc.subarray([...AUDIO_KINDS]),
      })
      .map(({ call: one, ...rest }) => deleteAudioCommand({ ...one, ...rest })),
  },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom(...RETENTION_DAYS, null)
      .map((days): RecordingCommand => ({ type: "SetRetention", days })),
  },
  {
    weight: 5,
    arbitrary: fc
      .record({ day: fc.oneof(day, lastDay), maxCount })
      .map((rest): RecordingCommand => ({ type: "DeleteExpiredRecordings", ...rest })),
  },
  {
    weight: 8,
    arbitrary: day.map((one): RecordingCommand => ({ type: "CountStoredMinutes", day: one })),
  },
  {
    weight: 1,
    arbitrary: maxCount.map((count): RecordingCommand => ({
      type: "EraseRecordings",
      maxCount: count,
    })),
  },
)
