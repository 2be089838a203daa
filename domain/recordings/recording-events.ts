/** The facts about the audio of a company's calls, and the forms they are stored in. */
import type { FactOf, EventFormats } from "../kernel/event-format.ts"
import { codecOf, integer, enumOf, optional, asciiText, instant } from "../kernel/event-format.ts"
import { idFieldType } from "../kernel/id-field-types.ts"
import { createIdParser } from "../kernel/ids.ts"

/** `call_` and a unique part. */
export type CallId = `call_${string}`

/** The call id that a text is. */
export const parseCallId = createIdParser("call_")

/** Ids of calls, in the forms of facts. */
const callId = idFieldType("a call's id", parseCallId)

/** What audio is of: the call as it was spoken, or what the caller left behind the greeting. */
export const AUDIO_KINDS = ["call", "voicemail"] as const

/** What audio is of. */
export type AudioKind = (typeof AUDIO_KINDS)[number]

/** For so many days audio can be kept, from its call on. */
export const RETENTION_DAYS = [30, 90, 365] as const

/** For how many days audio is kept; null until somebody deletes it. */
export type RetentionDays = (typeof RETENTION_DAYS)[number] | null

const kind = enumOf(...AUDIO_KINDS)

/** Everything that can happen to the audio of a company's calls. */
const recordingFormats = {
  /** Audio is kept. */
  RecordingStored: {
    version: 1,
    fields: {
      at: instant,
      callId,
      kind,
      seconds: integer,
      /** The blob that holds it, sealed. */
      blobId: asciiText,
      /** When the call began: its age counts from here. */
      calledAt: instant,
    },
  },
  /**
   * Audio is deleted for good: somebody asked for it, it was kept for long enough, or the company is erased. What
   * somebody asked for may never have been kept: it was still on its way, and is not kept any more.
   */
  RecordingDeleted: {
    version: 1,
    fields: { at: instant, callId, kind, reason: enumOf("requested", "retention", "erased") },
  },
  /** For how many days audio is kept; null until somebody deletes it. */
  RetentionSet: { version: 1, fields: { at: instant, days: optional(integer) } },
  /** How many minutes were kept over a day that is over; `day` is its first millisecond in UTC. */
  StoredMinutesCounted: { version: 1, fields: { at: instant, day: instant, minutes: integer } },
} satisfies EventFormats

/** Everything that can happen to the audio of a company's calls. */
export type RecordingEvent = FactOf<typeof recordingFormats>

/** One of these facts. */
export type RecordingFact<T extends RecordingEvent["type"]> = Extract<
  RecordingEvent,
  { readonly type: T }
>

/** Writes and reads the facts about audio. */
export const recordingCodec = codecOf(recordingFormats)
