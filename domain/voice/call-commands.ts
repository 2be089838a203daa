/** What a call can be told: what the carrier says of it, what the ledger says of its minutes, and the time. */
import type { AudioKind, CallFact, CallRejectReason, CallEvent } from "./call-events.ts"
import type { CallId } from "./ids.ts"

interface CallCommandBase {
  readonly callId: CallId
}

interface LegCommandBase extends CallCommandBase {
  /** 0 is the caller's. */
  readonly leg: number
}

/** The carrier has a call. Again: nothing new. */
export interface OfferCall extends Omit<CallFact<"CallOffered">, "type" | "at"> {
  readonly type: "OfferCall"
  /** Why it is rejected unanswered; null where it is not. */
  readonly rejectReason: CallRejectReason | null
}

/** The minute that began is charged. Again: nothing new. */
interface PayMinute extends CallCommandBase {
  readonly type: "PayMinute"
  readonly minute: number
}

/** The ledger refused the minute that began. Again, or where it was charged: nothing new. */
interface RefuseMinute extends CallCommandBase {
  readonly type: "RefuseMinute"
  readonly minute: number
}

/** The next minute may begin. Any other than the next, or before it is due: nothing new. */
interface StartMinute extends CallCommandBase {
  readonly type: "StartMinute"
  readonly minute: number
  /** Whether the carrier just said that the caller is there. */
  readonly isCallerPresent: boolean
}

/** What the carrier calls a leg. A second name: nothing new. */
export interface MarkLegDialed extends LegCommandBase {
  readonly type: "MarkLegDialed"
  readonly ref: string
}

/** A leg is open. */
export interface AnswerLeg extends LegCommandBase {
  readonly type: "AnswerLeg"
  readonly answeredAt: number
  readonly ref: string | null
}

/** Somebody pressed keys. */
export interface PressDigits extends LegCommandBase {
  readonly type: "PressDigits"
  readonly digits: string
}

/** The carrier no longer waits for keys. */
export interface EndDigitPrompt extends LegCommandBase {
  readonly type: "EndDigitPrompt"
}

/** A leg is gone. */
export interface EndLeg extends LegCommandBase {
  readonly type: "EndLeg"
  readonly goneAt: number
  /** When it was opened, where the carrier says so; null where not. */
  readonly answeredAt: number | null
}

/** A leg has heard to the end what it was told. */
export interface FinishPlayback extends LegCommandBase {
  readonly type: "FinishPlayback"
}

/** The carrier has a recording. A second one of a kind: nothing new. */
export interface RecordAudioAvailable extends CallCommandBase {
  readonly type: "RecordAudioAvailable"
  readonly kind: AudioKind
  readonly seconds: number
  readonly carrierRef: string
}

/** A deadline is over. One that no longer stands: nothing new. */
interface ExpireDeadline extends LegCommandBase {
  readonly type: "ExpireDeadline"
  readonly of: CallDeadlineName
  readonly deadlineAt: number
}

/** Nobody says when the caller went of a call that has ended: it is taken for when that was recorded. */
interface AssumeCallerHungUp extends CallCommandBase {
  readonly type: "AssumeCallerHungUp"
}

/** What a call can be told. */
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

/** There is no such call. */
export interface CallRefused {
  readonly type: "CallRefused"
  readonly at: number
  readonly code: "no_call"
}

/** What a deadline is of. */
export const DEADLINE_NAMES = [
  "ring",
  "ask",
  "answer",
  "notice",
  "greeting",
  "voicemail",
  "talk",
] as const

/** What a deadline is of. */
export type CallDeadlineName = (typeof DEADLINE_NAMES)[number]

/** How long somebody who answered has to press 1, milliseconds. */
export const PROMPT_TIMEOUT_MS = 20_000
/** How long the caller's leg has to open, and then both to hear the notice. */
export const NOTICE_TIMEOUT_MS = 20_000
/** How long the greeting may take, the opening of the caller's leg included. */
export const GREETING_TIMEOUT_MS = 60_000
/** How long somebody may speak on a voicemail. */
export const MAX_VOICEMAIL_MS = 180_000
/** How long a call may take. */
export const MAX_TALK_MS = 4 * 3_600_000
/** How long phones ring one after another, in all: the caller's network gives up then. */
export const MAX_SEQUENTIAL_RING_MS = 120_000

/** A deadline. */
export interface CallDeadline {
  readonly of: CallDeadlineName
  /** The leg that it is of; 0 for the whole call. */
  readonly leg: number
  /** By the ledger's clock. */
  readonly deadlineAt: number
}

/** The deadline that a fact sets; null where it sets none. */
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

/** What a carrier knows of a leg: UTC milliseconds by its clock, null where it does not say. */
export interface CarrierLegState {
  readonly isAlive: boolean
  readonly answeredAt: number | null
  readonly endedAt: number | null
}

/**
 * The commands that a call may have missed; one that it knows changes nothing.
 *
 * @param heardAt when the caller was last known to be there: what nobody says the end of ended then, so that
 *   nobody pays for time of which nothing is known
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
