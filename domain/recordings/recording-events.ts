/** Events of the recordings of a company's calls, and their stored formats. */
import type { FactOf, EventFormats } from "../kernel/event-format.ts"
import { codecOf, integer, enumOf, optional, asciiText, instant } from "../kernel/event-format.ts"
import { AUDIO_KINDS, callId } from "../kernel/calls.ts"

/** The possible retention periods, in days since the call. */
export const RETENTION_DAYS = [30, 90, 365] as const

/** The retention period in days; null to keep recordings until they are deleted. */
export type RetentionDays = (typeof RETENTION_DAYS)[number] | null

const kind = enumOf(...AUDIO_KINDS)

const recordingFormats = {
  RecordingStored: {
    version: 1,
    fields: {
      at: instant,
      callId,
      kind,
      seconds: integer,
      blobId: asciiText,
      /** When the call started, from which the retention period counts. */
      calledAt: instant,
    },
  },
  /**
   * A recording was deleted: on request, after its retention period, or because the company is erased. A requested
   * deletion may concern a recording that was not stored yet and now never will be.
   */
  RecordingDeleted: {
    version: 1,
    fields: { at: instant, callId, kind, reason: enumOf("requested", "retention", "erased") },
  },
  /** Null to keep recordings until they are deleted. */
  RetentionSet: { version: 1, fields: { at: instant, days: optional(integer) } },
  /** The minutes stored during a UTC day that has ended; `day` is its first millisecond. */
  StoredMinutesCounted: { version: 1, fields: { at: instant, day: instant, minutes: integer } },
} satisfies EventFormats

export type RecordingEvent = FactOf<typeof recordingFormats>

/** An event of recordings of type `T`. */
export type RecordingFact<T extends RecordingEvent["type"]> = Extract<
  RecordingEvent,
  { readonly type: T }
>

export const recordingCodec = codecOf(recordingFormats)
