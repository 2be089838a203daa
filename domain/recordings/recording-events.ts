/** The facts about the audio of a company's calls, and the forms they are stored in. */
import type { FactOf, FormatTable } from "../kernel/format.ts"
import { codecOf, int, oneOf, optional, plain, time } from "../kernel/format.ts"
import { idKind } from "../kernel/id-kinds.ts"
import { idParser } from "../kernel/ids.ts"

/** `call_` and a unique part. */
export type CallId = `call_${string}`

/** The call id that a text is. */
export const parseCallId = idParser("call_")

/** Ids of calls, in the forms of facts. */
const callId = idKind("a call's id", parseCallId)

/** What audio is of: the call as it was spoken, or what the caller left behind the greeting. */
export const AUDIO_KINDS = ["call", "voicemail"] as const

/** What audio is of. */
export type AudioKind = (typeof AUDIO_KINDS)[number]

/** For so many days audio can be kept, from its call on. */
export const KEEP_DAYS = [30, 90, 365] as const

/** For how many days audio is kept; null until somebody deletes it. */
export type KeepDays = (typeof KEEP_DAYS)[number] | null

const kind = oneOf(...AUDIO_KINDS)

/** Everything that can happen to the audio of a company's calls. */
const recordingFormats = {
  /** Audio is kept. */
  RecordingStored: {
    version: 1,
    fields: {
      at: time,
      callId,
      kind,
      seconds: int,
      /** The blob that holds it, sealed. */
      blobId: plain,
      /** When the call began: its age counts from here. */
      calledAt: time,
    },
  },
  /**
   * Audio is deleted for good: somebody asked for it, it was kept for long enough, or the company is erased. What
   * somebody asked for may never have been kept: it was still on its way, and is not kept any more.
   */
  RecordingDeleted: {
    version: 1,
    fields: { at: time, callId, kind, reason: oneOf("requested", "retention", "erased") },
  },
  /** For how many days audio is kept; null until somebody deletes it. */
  RetentionSet: { version: 1, fields: { at: time, days: optional(int) } },
  /** How many minutes were kept over a day that is over; `day` is its first millisecond in UTC. */
  StoredMinutesCounted: { version: 1, fields: { at: time, day: time, minutes: int } },
} satisfies FormatTable

/** Everything that can happen to the audio of a company's calls. */
export type RecordingEvent = FactOf<typeof recordingFormats>

/** One of these facts. */
export type RecordingFact<T extends RecordingEvent["type"]> = Extract<
  RecordingEvent,
  { readonly type: T }
>

/** Writes and reads the facts about audio. */
export const recordingCodec = codecOf(recordingFormats)
