/**
 * What becomes of a call to a number, and what its texts are answered with (specification, "Phone and
 * texts"). Whatever a person wrote is sealed under the company's key.
 */
import type { ValueOf } from "../kernel/event-format.ts"
import { flag, integer, list, enumOf, optional, record } from "../kernel/event-format.ts"
import { sealedText } from "../kernel/id-field-types.ts"

/** Whose phone rings. */
const ringTarget = record({ phone: sealedText, name: optional(sealedText) })

/** What becomes of a call: a call keeps a copy of it as it was when the call came. */
export const callSettingsFields = {
  /** All phones at once, or one after another. */
  ringMode: enumOf("all", "order"),
  /** At most five, in this order; none: straight to voicemail. */
  ringTo: list(ringTarget),
  /** How long they ring, or each of them, seconds from 10 to 60. */
  ringSeconds: integer,
  /** Whether who answers has to press 1. */
  screenCalls: flag,
  recordCalls: flag,
  /** What both hear before a recording; null for the usual words. */
  recordingNotice: optional(sealedText),
  voicemail: flag,
  /** Null for the usual words. */
  voicemailGreeting: optional(sealedText),
}

const callSettings = record(callSettingsFields)

/** What becomes of a call to a number. */
export type CallSettings = ValueOf<typeof callSettings>

/** How one number is set up. */
export const numberSettings = record({
  label: optional(sealedText),
  ...callSettingsFields,
  /** What an opt-out by text to this number is answered with; null for the company's reply. */
  optOutReply: optional(sealedText),
})

/** How one number is set up. */
export type NumberSettings = ValueOf<typeof numberSettings>

/** What both hear before a recording where nobody chose other words. */
export const DEFAULT_RECORDING_NOTICE = "This call is recorded."

/** What every number begins with: without screening, a mobile's own voicemail would "answer". */
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
