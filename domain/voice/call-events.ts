/**
 * The facts about one incoming call, and the forms they are stored in.
 *
 * A leg is one phone's side of a call: the caller's is 0, that of the nth number of `ringTo` is n. Times
 * that end in `At` beside `at` itself are the carrier's, and those in `untilAt` the ledger's. The
 * caller's number is sealed under the caller's own key, everything else under the company's.
 */
import type { FactOf, FormatTable } from "../kernel/format.ts"
import {
  codecOf,
  flag,
  int,
  list,
  micros,
  oneOf,
  optional,
  record,
  text,
  time,
} from "../kernel/format.ts"
import { sealed } from "../kernel/id-kinds.ts"
import { callerTag } from "../kernel/slots.ts"
import { numberId } from "../phone/ids.ts"
import { callSettingsFields } from "../phone/number-settings.ts"
import { callId } from "./ids.ts"

/** What became of a call (specification, Call). */
export const OUTCOMES = ["answered", "voicemail", "missed"] as const

/** What became of a call. */
export type Outcome = (typeof OUTCOMES)[number]

/** Why a call is turned away before anything of it is paid. */
export const TURNED_AWAY = ["company_call_limit", "caller_call_limit", "closed"] as const

/** Why a call is turned away. */
export type TurnedAway = (typeof TURNED_AWAY)[number]

/** Why a call ended. */
const END_REASONS = [
  "caller_hung_up",
  "callee_hung_up",
  "unanswered",
  "funds",
  "deadline",
  ...TURNED_AWAY,
] as const

/** Why a call ended. */
export type EndReason = (typeof END_REASONS)[number]

/** Of what a recording is: of the call, or what was left for nobody to answer. */
export const AUDIO_KINDS = ["call", "voicemail"] as const

/** Of what a recording is. */
export type AudioKind = (typeof AUDIO_KINDS)[number]

const base = { at: time, callId }
const ofLeg = { ...base, leg: int }
/** When something is to happen at the latest, by the ledger's clock. */
const until = { deadlineAt: time }

/** Everything that can happen to a call. */
export const callFormats = {
  /** The carrier has a call for a number of the company's. */
  CallOffered: {
    version: 1,
    fields: {
      ...base,
      numberId,
      /** The number that was called. */
      to: sealed,
      /** The caller's; null where the carrier shows none that is a number. */
      from: optional(sealed),
      callerTag,
      /** The number's settings as they stood. */
      settings: record(callSettingsFields),
      /** What the carrier calls the caller's leg. */
      carrierRef: text,
      /** When the carrier had it. */
      startedAt: time,
      /** How sure the carriers are of the caller's number (STIR/SHAKEN); null where they do not say. */
      attestation: optional(oneOf("A", "B", "C")),
      /** What a minute costs that nobody beyond the US and Canada is called for. */
      minuteMicros: micros,
      /** What a minute costs with each of `ringTo`, in their order. */
      legMicros: list(micros),
      priceVersion: int,
    },
  },
  /** A minute is to be paid: the first before anybody rings, others when they begin. */
  CallMinuteStarted: {
    version: 1,
    fields: {
      ...base,
      /** From 1. */
      minute: int,
      /** Whether the carrier said at that moment that the caller is there. */
      isCallerPresent: flag,
    },
  },
  /** It is charged, open. */
  CallMinutePaid: { version: 1, fields: { ...base, minute: int } },
  /** The ledger refused it: it costs nothing, and no later one is asked for. */
  CallMinuteRefused: { version: 1, fields: { ...base, minute: int } },
  /** These phones are called now. */
  LegsDialed: { version: 1, fields: { ...base, legs: list(int), ...until } },
  /** What the carrier calls a leg that it was asked to call. */
  LegDialed: { version: 1, fields: { ...ofLeg, ref: text } },
  /** Somebody or something answered a phone. */
  LegAnswered: { version: 1, fields: { ...ofLeg, answeredAt: time, ref: optional(text) } },
  /** Whoever answered is to press 1. */
  LegPrompted: { version: 1, fields: { ...ofLeg, ...until } },
  /** A leg is hung up. */
  LegHungUp: { version: 1, fields: ofLeg },
  /** A leg is gone by itself, or could not be called. */
  LegEnded: { version: 1, fields: { ...ofLeg, goneAt: time } },
  /** Somebody takes the call: the others are hung up, and the caller's leg is opened. */
  CallAccepted: {
    version: 1,
    fields: {
      ...ofLeg,
      /** Their number. */
      phone: sealed,
      hangUpLegs: list(int),
      ...until,
    },
  },
  /** The caller's leg is open: the minutes are counted from here. */
  CallerAnswered: { version: 1, fields: { ...base, answeredAt: time } },
  /** Both are told that the call will be recorded. */
  RecordingNoticeStarted: { version: 1, fields: { ...ofLeg, ...until } },
  /** A side has heard to the end what it was told. */
  LegPromptPlayed: { version: 1, fields: ofLeg },
  /** Both hear each other. */
  CallBridged: { version: 1, fields: { ...ofLeg, isRecorded: flag, ...until } },
  /** Nobody takes the call: the caller's leg is opened for the greeting. */
  GreetingStarted: { version: 1, fields: { ...base, ...until } },
  /** The greeting is said. */
  GreetingPlayed: { version: 1, fields: base },
  /** What the caller says is recorded. */
  VoicemailStarted: { version: 1, fields: { ...base, ...until } },
  /** The caller is gone; also where the carrier says so before it says that there is a call. */
  CallerHungUp: { version: 1, fields: { ...base, goneAt: time } },
  /** It is over: these legs are hung up, and the caller's is as it says. */
  CallEnded: {
    version: 1,
    fields: {
      ...base,
      outcome: oneOf(...OUTCOMES),
      reason: oneOf(...END_REASONS),
      hangUpLegs: list(int),
      caller: oneOf("reject", "hang_up", "ended"),
    },
  },
  /** The carrier has a recording. */
  RecordingAvailable: {
    version: 1,
    fields: { ...base, kind: oneOf(...AUDIO_KINDS), seconds: int, carrierRef: text },
  },
} satisfies FormatTable

/** Everything that can happen to a call. */
export type CallEvent = FactOf<typeof callFormats>

/** One of these facts. */
export type CallFact<T extends CallEvent["type"]> = Extract<CallEvent, { readonly type: T }>

/** Writes and reads the facts about a call. */
export const callCodec = codecOf(callFormats)
