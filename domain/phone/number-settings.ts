/**
 * How calls to a number are handled and its texts are answered (specification, "Phone and texts"). Text that a
 * person wrote is sealed under the company's key.
 */
import type { ValueOf } from "../kernel/event-format.ts"
import { flag, integer, list, enumOf, optional, record } from "../kernel/event-format.ts"
import { sealedText } from "../kernel/id-field-types.ts"

const ringTarget = record({ phone: sealedText, name: optional(sealedText) })

/** How a call is handled. A call stores a copy of these settings as they were when it came. */
export const callSettingsFields = {
  /** Ring all phones concurrently, or one after another. */
  ringMode: enumOf("all", "order"),
  /** At most five, in this order; if empty, calls go to voicemail. */
  ringTo: list(ringTarget),
  /** How long the phones, or each of them, ring: 10 to 60 seconds. */
  ringSeconds: integer,
  /** Whether the person who answers must press 1. */
  screenCalls: flag,
  recordCalls: flag,
  /** What both sides hear before a recording; null for the default text. */
  recordingNotice: optional(sealedText),
  voicemail: flag,
  /** Null for the default text. */
  voicemailGreeting: optional(sealedText),
}

const callSettings = record(callSettingsFields)

/** How a call to a number is handled. */
export type CallSettings = ValueOf<typeof callSettings>

export const numberSettings = record({
  label: optional(sealedText),
  ...callSettingsFields,
  /** The reply to an opt-out by text to this number; null for the company's reply. */
  optOutReply: optional(sealedText),
})

export type NumberSettings = ValueOf<typeof numberSettings>

/** The default text that both sides hear before a recording. */
export const DEFAULT_RECORDING_NOTICE = "This call is recorded."

/** The initial settings of a number. Without screening, a mobile's own voicemail would "answer" calls. */
export const DEFAULT_NUMBER_SETTINGS: NumberSettings = {
  label: null,
  ringMode: "all",
  ringTo: [],
  ringSeconds: 25,
  screenCalls: true,
  recordCalls: false,
  recordingNotice: null,
  voicemail: true,
  voicemailGreeting: null,
  optOutReply: null,
}
