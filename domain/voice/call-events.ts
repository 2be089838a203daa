/**
 * The facts about one incoming call, and the forms they are stored in.
 *
 * A leg is one phone's side of a call: the caller's is 0, that of the nth number of `ringTo` is n. Times
 * that end in `At` beside `at` itself are the carrier's, and those in `untilAt` the ledger's. The
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
import { callId } from "./ids.ts"

/** What became of a call (specification, Call). */
export const CALL_OUTCOMES = ["answered", "voicemail", "missed"] as const

/** What became of a call. */
export type CallOutcome = (typeof CALL_OUTCOMES)[number]

/** Why a call is turned away before anything of it is paid. */
export const CALL_REJECT_REASONS = ["company_call_limit", "caller_call_limit", "closed"] as const

/** Why a call is turned away. */
export type CallRejectReason = (typeof CALL_REJECT_REASONS)[number]

/** Why a call ended. */
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

/** Of what a recording is: of the call, or what was left for nobody to answer. */
export const AUDIO_KINDS = ["call", "voicemail"] as const

/** Of what a recording is. */
export type AudioKind = (typeof AUDIO_KINDS)[number]

const base = { at: instant, callId }
const legFields = { ...base, leg: integer }
/** When something is to happen at the latest, by the ledger's clock. */
const deadlineField = { deadlineAt: instant }

/** Everything that can happen to a call. */
export const callFormats = {
  /** The carrier has a call for a number of the company's. */
  CallOffered: {
    version: 1,
    fields: {
      ...base,
      numberId,
      /** The number that was called. */
      to: sealedText,
      /** The caller's; null where the carrier shows none that is a number. */
      from: optional(sealedText),
      callerTag,
      /** The number's settings as they stood. */
      settings: record(callSettingsFields),
      /** What the carrier calls the caller's leg. */
      carrierRef: text,
      /** When the carrier had it. */
      startedAt: instant,
      /** How sure the carriers are of the caller's number (STIR/SHAKEN); null where they do not say. */
      attestation: optional(enumOf("A", "B", "C")),
      /** What a minute costs that nobody beyond the US and Canada is called for. */
      minuteMicros: micros,
      /** What a minute costs with each of `ringTo`, in their order. */
      legMicros: list(micros),
      priceVersion: integer,
    },
  },
  /** A minute is to be paid: the first before anybody rings, others when they begin. */
  CallMinuteStarted: {
    version: 1,
    fields: {
      ...base,
      /** From 1. */
      minute: integer,
      /** Whether the carrier said at that moment that the caller is there. */
      isCallerPresent: flag,
    },
  },
  /** It is charged, open. */
  CallMinutePaid: { version: 1, fields: { ...base, minute: integer } },
  /** The ledger refused it: it costs nothing, and no later one is asked for. */
  CallMinuteRefused: { version: 1, fields: { ...base, minute: integer } },
  /** These phones are called now. */
  LegsDialed: { version: 1, fields: { ...base, legs: list(integer), ...deadlineField } },
  /** What the carrier calls a leg that it was asked to call. */
  LegDialed: { version: 1, fields: { ...legFields, ref: text } },
  /** Somebody or something answered a phone. */
  LegAnswered: { version: 1, fields: { ...legFields, answeredAt: instant, ref: optional(text) } },
  /** Whoever answered is to press 1. */
  LegPrompted: { version: 1, fields: { ...legFields, ...deadlineField } },
  /** A leg is hung up. */
  LegHungUp: { version: 1, fields: legFields },
  /** A leg is gone by itself, or could not be called. */
  LegEnded: { version: 1, fields: { ...legFields, goneAt: instant } },
  /** Somebody takes the call: the others are hung up, and the caller's leg is opened. */
  CallAccepted: {
    version: 1,
    fields: {
      ...legFields,
      /** Their number. */
      phone: sealedText,
      hangUpLegs: list(integer),
      ...deadlineField,
    },
  },
  /** The caller's leg is open: the minutes are counted from here. */
  CallerAnswered: { version: 1, fields: { ...base, answeredAt: instant } },
  /** Both are told that the call will be recorded. */
  RecordingNoticeStarted: { version: 1, fields: { ...legFields, ...deadlineField } },
  /** A side has heard to the end what it was told. */
  LegPromptPlayed: { version: 1, fields: legFields },
  /** Both hear each other. */
  CallBridged: { version: 1, fields: { ...legFields, isRecorded: flag, ...deadlineField } },
  /** Nobody takes the call: the caller's leg is opened for the greeting. */
  GreetingStarted: { version: 1, fields: { ...base, ...deadlineField } },
  /** The greeting is said. */
  GreetingPlayed: { version: 1, fields: base },
  /** What the caller says is recorded. */
  VoicemailStarted: { version: 1, fields: { ...base, ...deadlineField } },
  /** The caller is gone; also where the carrier says so before it says that there is a call. */
  CallerHungUp: { version: 1, fields: { ...base, goneAt: instant } },
  /** It is over: these legs are hung up, and the caller's is as it says. */
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
  /** The carrier has a recording. */
  RecordingAvailable: {
    version: 1,
    fields: { ...base, kind: enumOf(...AUDIO_KINDS), seconds: integer, carrierRef: text },
  },
} satisfies EventFormats

/** Everything that can happen to a call. */
export type CallEvent = FactOf<typeof callFormats>

/** One of these facts. */
export type CallFact<T extends CallEvent["type"]> = Extract<CallEvent, { readonly type: T }>

/** Writes and reads the facts about a call. */
export const callCodec = codecOf(callFormats)
