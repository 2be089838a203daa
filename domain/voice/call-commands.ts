/** The commands of a call: reports of the carrier, results of the ledger, and deadlines. */
import type { CallFact, CallRejectReason, CallEvent } from "./call-events.ts"
import type { AudioKind } from "../kernel/calls.ts"
import type { CallId } from "../kernel/calls.ts"

interface CallCommandBase {
  readonly callId: CallId
}

interface LegCommandBase extends CallCommandBase {
  /** 0 is the caller's leg. */
  readonly leg: number
}

/** Records that the carrier offers a call. Idempotent. */
export interface OfferCall extends Omit<CallFact<"CallOffered">, "type" | "at"> {
  readonly type: "OfferCall"
  readonly rejectReason: CallRejectReason | null
}

/** Records that the minute that started is charged. Idempotent. */
interface PayMinute extends CallCommandBase {
  readonly type: "PayMinute"
  readonly minute: number
}

/**
 * Records that the ledger refused the minute that started. Records nothing if it was refused or charged already.
 */
interface RefuseMinute extends CallCommandBase {
  readonly type: "RefuseMinute"
  readonly minute: number
}

/** Starts the next minute. Records nothing for any other minute, or before it is due. */
interface StartMinute extends CallCommandBase {
  readonly type: "StartMinute"
  readonly minute: number
  /** Whether the carrier just reported that the caller is present. */
  readonly isCallerPresent: boolean
}

/** Records the carrier's id of a leg. Idempotent; a second id is ignored. */
export interface MarkLegDialed extends LegCommandBase {
  readonly type: "MarkLegDialed"
  readonly ref: string
}

export interface AnswerLeg extends LegCommandBase {
  readonly type: "AnswerLeg"
  readonly answeredAt: number
  readonly ref: string | null
}

export interface PressDigits extends LegCommandBase {
  readonly type: "PressDigits"
  readonly digits: string
}

/** Records that the carrier no longer waits for digits. */
export interface EndDigitPrompt extends LegCommandBase {
  readonly type: "EndDigitPrompt"
}

/** Records that a leg ended. */
export interface EndLeg extends LegCommandBase {
  readonly type: "EndLeg"
  readonly goneAt: number
  /** When it was answered, if the carrier says so; otherwise null. */
  readonly answeredAt: number | null
}

/** Records that a leg has heard a prompt to the end. */
export interface FinishPlayback extends LegCommandBase {
  readonly type: "FinishPlayback"
}

/** Records that the carrier has a recording. A second one of a kind is ignored. */
export interface RecordAudioAvailable extends CallCommandBase {
  readonly type: "RecordAudioAvailable"
  readonly kind: AudioKind
  readonly seconds: number
  readonly carrierRef: string
}

/** Records that a deadline expired. Ignored if it is no longer set. */
interface ExpireDeadline extends LegCommandBase {
  readonly type: "ExpireDeadline"
  readonly of: CallDeadlineName
  readonly deadlineAt: number
}

/** Assumes the caller hung up when the end of the call was recorded, because the carrier never reported it. */
interface AssumeCallerHungUp extends CallCommandBase {
  readonly type: "AssumeCallerHungUp"
}

export type CallCommand =
  | OfferCall
  | PayMinute
  | RefuseMinute
  | StartMinute
  | MarkLegDialed
  | AnswerLeg
  | PressDigits
  | EndDigitPrompt
  | EndLeg
  | FinishPlayback
  | RecordAudioAvailable
  | ExpireDeadline
  | AssumeCallerHungUp

/** The command was refused: there is no such call. */
export interface CallRefused {
  readonly type: "CallRefused"
  readonly at: number
  readonly code: "no_call"
}

export const DEADLINE_NAMES = [
  "ring",
  "ask",
  "answer",
  "notice",
  "greeting",
  "voicemail",
  "talk",
] as const

export type CallDeadlineName = (typeof DEADLINE_NAMES)[number]

/** How long a person who answered may take to press 1, in milliseconds. */
export const PROMPT_TIMEOUT_MS = 20_000
/** How long answering the caller's leg may take, and then playing the notice to both sides, in milliseconds. */
export const NOTICE_TIMEOUT_MS = 20_000
/** How long answering the caller's leg and playing the greeting may take, in milliseconds. */
export const GREETING_TIMEOUT_MS = 60_000
/** Maximum length of a voicemail in milliseconds. */
export const MAX_VOICEMAIL_MS = 180_000
/** Maximum length of a call in milliseconds. */
export const MAX_TALK_MS = 4 * 3_600_000
/** Maximum total time that phones ring one after another, in milliseconds; then the caller's network gives up. */
export const MAX_SEQUENTIAL_RING_MS = 120_000

export interface CallDeadline {
  readonly of: CallDeadlineName
  readonly leg: number
  /** By the ledger's clock. */
  readonly deadlineAt: number
}

/** Returns the deadline that an event sets; null for none. */
export function callDeadlineOf(fact: CallEvent): CallDeadline | null {
  switch (fact.type) {
    case "LegsDialed":
      return { of: "ring", leg: fact.legs[0] ?? 0, deadlineAt: fact.deadlineAt }
    case "LegPrompted":
      return { of: "ask", leg: fact.leg, deadlineAt: fact.deadlineAt }
    case "CallAccepted":
      return { of: "answer", leg: 0, deadlineAt: fact.deadlineAt }
    case "RecordingNoticeStarted":
      return { of: "notice", leg: 0, deadlineAt: fact.deadlineAt }
    case "GreetingStarted":
      return { of: "greeting", leg: 0, deadlineAt: fact.deadlineAt }
    case "VoicemailStarted":
      return { of: "voicemail", leg: 0, deadlineAt: fact.deadlineAt }
    case "CallBridged":
      return { of: "talk", leg: 0, deadlineAt: fact.deadlineAt }
    case "CallOffered":
    case "CallMinuteStarted":
    case "CallMinutePaid":
    case "CallMinuteRefused":
    case "LegDialed":
    case "LegAnswered":
    case "LegHungUp":
    case "LegEnded":
    case "CallerAnswered":
    case "LegPromptPlayed":
    case "GreetingPlayed":
    case "CallerHungUp":
    case "CallEnded":
    case "RecordingAvailable":
      return null
  }
}

/** What a carrier knows of a leg: UTC milliseconds by its clock, null if unknown. */
export interface CarrierLegState {
  readonly isAlive: boolean
  readonly answeredAt: number | null
  readonly endedAt: number | null
}

/**
 * Returns the commands that a call may have missed; those it already recorded have no effect.
 *
 * @param heardAt when the caller was last known to be present. A leg with an unknown end is assumed to have ended
 * then, so that no unknown time is charged.
 */
export function missedCommandsOf(
  callId: CallId,
  leg: number,
  { isAlive, answeredAt, endedAt }: CarrierLegState,
  heardAt: number,
): readonly CallCommand[] {
  if (!isAlive) return [{ type: "EndLeg", callId, leg, goneAt: endedAt ?? heardAt, answeredAt }]
  return answeredAt === null ? [] : [{ type: "AnswerLeg", callId, leg, answeredAt, ref: null }]
}
