/**
 * Events of one incoming call and their stored formats.
 *
 * A leg is one phone's side of a call: the caller's is 0, that of the nth number of `ringTo` is n. `answeredAt`,
 * `goneAt` and `startedAt` are times of the carrier's clock; `at` and `deadlineAt` are of the ledger's. The
 * caller's number is sealed under the caller's own key, everything else under the company's.
 */
import type { FactOf, EventFormats } from "../kernel/event-format.ts"
import {
  codecOf,
  flag,
  integer,
  list,
  micros,
  enumOf,
  optional,
  record,
  text,
  instant,
} from "../kernel/event-format.ts"
import { sealedText } from "../kernel/id-field-types.ts"
import { callerTag } from "../kernel/slots.ts"
import { numberId } from "../phone/ids.ts"
import { callSettingsFields } from "../phone/number-settings.ts"
import { AUDIO_KINDS, callId } from "../kernel/calls.ts"

/** The outcomes of a call (specification, Call). */
export const CALL_OUTCOMES = ["answered", "voicemail", "missed"] as const

/** The outcome of a call. */
export type CallOutcome = (typeof CALL_OUTCOMES)[number]

/** Why a call is rejected before any of it is charged. */
export const CALL_REJECT_REASONS = ["company_call_limit", "caller_call_limit", "closed"] as const

export type CallRejectReason = (typeof CALL_REJECT_REASONS)[number]

const END_REASONS = [
  "caller_hung_up",
  "callee_hung_up",
  "unanswered",
  "funds",
  "deadline",
  ...CALL_REJECT_REASONS,
] as const

/** Why a call ended. */
export type CallEndReason = (typeof END_REASONS)[number]

const base = { at: instant, callId }
const legFields = { ...base, leg: integer }
/** The latest time for the next step, by the ledger's clock. */
const deadlineField = { deadlineAt: instant }

/** The stored formats of a call's events. */
export const callFormats = {
  /** The carrier offers a call to a number of the company. */
  CallOffered: {
    version: 1,
    fields: {
      ...base,
      numberId,
      to: sealedText,
      /** The caller's number; null if the carrier shows none. */
      from: optional(sealedText),
      callerTag,
      settings: record(callSettingsFields),
      /** The carrier's id of the caller's leg. */
      carrierRef: text,
      /** When the carrier received the call. */
      startedAt: instant,
      /** The carriers' attestation of the caller's number (STIR/SHAKEN); null if there is none. */
      attestation: optional(enumOf("A", "B", "C")),
      /** Price of a minute without a leg outside the US and Canada. */
      minuteMicros: micros,
      /** Price of a minute with each number of `ringTo`, in their order. */
      legMicros: list(micros),
      priceVersion: integer,
    },
  },
  /** A minute must be paid: the first before any phone rings, the others when they start. */
  CallMinuteStarted: {
    version: 1,
    fields: {
      ...base,
      minute: integer,
      /** Whether the carrier reported at that moment that the caller is present. */
      isCallerPresent: flag,
    },
  },
  /** The minute has a pending charge. */
  CallMinutePaid: { version: 1, fields: { ...base, minute: integer } },
  /** The ledger refused the minute: it costs nothing, and no further one is requested. */
  CallMinuteRefused: { version: 1, fields: { ...base, minute: integer } },
  LegsDialed: { version: 1, fields: { ...base, legs: list(integer), ...deadlineField } },
  /** The carrier's id of a leg that it was asked to call. */
  LegDialed: { version: 1, fields: { ...legFields, ref: text } },
  /** A person or a machine answered a phone. */
  LegAnswered: { version: 1, fields: { ...legFields, answeredAt: instant, ref: optional(text) } },
  /** The person who answered is asked to press 1. */
  LegPrompted: { version: 1, fields: { ...legFields, ...deadlineField } },
  /** We hang up a leg. */
  LegHungUp: { version: 1, fields: legFields },
  /** A leg ended by itself, or could not be called. */
  LegEnded: { version: 1, fields: { ...legFields, goneAt: instant } },
  /** A person accepted the call: the other legs are hung up, and the caller's leg is answered. */
  CallAccepted: {
    version: 1,
    fields: {
      ...legFields,
      phone: sealedText,
      hangUpLegs: list(integer),
      ...deadlineField,
    },
  },
  /** The caller's leg is answered; the minutes are counted from here. */
  CallerAnswered: { version: 1, fields: { ...base, answeredAt: instant } },
  /** Both sides are informed that the call will be recorded. */
  RecordingNoticeStarted: { version: 1, fields: { ...legFields, ...deadlineField } },
  /** One side has heard the prompt to the end. */
  LegPromptPlayed: { version: 1, fields: legFields },
  CallBridged: { version: 1, fields: { ...legFields, isRecorded: flag, ...deadlineField } },
  /** No person accepts the call: the caller's leg is answered for the greeting. */
  GreetingStarted: { version: 1, fields: { ...base, ...deadlineField } },
  GreetingPlayed: { version: 1, fields: base },
  VoicemailStarted: { version: 1, fields: { ...base, ...deadlineField } },
  /** The caller hung up; also recorded if the carrier reports it before the call itself. */
  CallerHungUp: { version: 1, fields: { ...base, goneAt: instant } },
  /** The call ended: these legs are hung up, and the caller's leg as `caller` says. */
  CallEnded: {
    version: 1,
    fields: {
      ...base,
      outcome: enumOf(...CALL_OUTCOMES),
      reason: enumOf(...END_REASONS),
      hangUpLegs: list(integer),
      caller: enumOf("reject", "hang_up", "ended"),
    },
  },
  RecordingAvailable: {
    version: 1,
    fields: { ...base, kind: enumOf(...AUDIO_KINDS), seconds: integer, carrierRef: text },
  },
} satisfies EventFormats

export type CallEvent = FactOf<typeof callFormats>

/** An event of a call of type `T`. */
export type CallFact<T extends CallEvent["type"]> = Extract<CallEvent, { readonly type: T }>

export const callCodec = codecOf(callFormats)
