/** What a call can be told: what the carrier says of it, what the ledger says of its minutes, and the time. */
import type { AudioKind, CallFact, TurnedAway, CallEvent } from "./call-events.ts"
import type { CallId } from "./ids.ts"

interface OfCall {
  readonly callId: CallId
}

interface OfLeg extends OfCall {
  /** 0 is the caller's. */
  readonly leg: number
}

/** The carrier has a call. Again: nothing new. */
export interface OfferCall extends Omit<CallFact<"CallOffered">, "type" | "at"> {
  readonly type: "OfferCall"
  /** Why it is rejected unanswered; null where it is not. */
  readonly turnedAway: TurnedAway | null
}

/** The minute that began is charged. Again: nothing new. */
interface PayMinute extends OfCall {
  readonly type: "PayMinute"
  readonly minute: number
}

/** The ledger refused the minute that began. Again, or where it was charged: nothing new. */
interface RefuseMinute extends OfCall {
  readonly type: "RefuseMinute"
  readonly minute: number
}

/** The next minute may begin. Any other than the next, or before it is due: nothing new. */
interface BeginMinute extends OfCall {
  readonly type: "BeginMinute"
  readonly minute: number
  /** Whether the carrier just said that the caller is there. */
  readonly isCallerPresent: boolean
}

/** What the carrier calls a leg. A second name: nothing new. */
export interface PlaceLeg extends OfLeg {
  readonly type: "PlaceLeg"
  readonly ref: string
}

/** A leg is open. */
export interface OpenLeg extends OfLeg {
  readonly type: "OpenLeg"
  readonly answeredAt: number
  readonly ref: string | null
}

/** Somebody pressed keys. */
export interface PressDigits extends OfLeg {
  readonly type: "PressDigits"
  readonly digits: string
}

/** The carrier no longer waits for keys. */
export interface EndAsk extends OfLeg {
  readonly type: "EndAsk"
}

/** A leg is gone. */
export interface EndLeg extends OfLeg {
  readonly type: "EndLeg"
  readonly goneAt: number
  /** When it was opened, where the carrier says so; null where not. */
  readonly answeredAt: number | null
}

/** A leg has heard to the end what it was told. */
export interface FinishSaying extends OfLeg {
  readonly type: "FinishSaying"
}

/** The carrier has a recording. A second one of a kind: nothing new. */
export interface SaveAudio extends OfCall {
  readonly type: "SaveAudio"
  readonly kind: AudioKind
  readonly seconds: number
  readonly carrierRef: string
}

/** A deadline is over. One that no longer stands: nothing new. */
interface PassDeadline extends OfLeg {
  readonly type: "PassDeadline"
  readonly of: DeadlineName
  readonly deadlineAt: number
}

/** Nobody says when the caller went of a call that has ended: it is taken for when that was recorded. */
interface AssumeGone extends OfCall {
  readonly type: "AssumeGone"
}

/** What a call can be told. */
export type CallCommand =
  | OfferCall
  | PayMinute
  | RefuseMinute
  | BeginMinute
  | PlaceLeg
  | OpenLeg
  | PressDigits
  | EndAsk
  | EndLeg
  | FinishSaying
  | SaveAudio
  | PassDeadline
  | AssumeGone

/** There is no such call. */
export interface CallRefused {
  readonly type: "CallRefused"
  readonly at: number
  readonly code: "no_call"
}

/** What a deadline is of. */
export const DEADLINES = [
  "ring",
  "ask",
  "answer",
  "notice",
  "greeting",
  "voicemail",
  "talk",
] as const

/** What a deadline is of. */
export type DeadlineName = (typeof DEADLINES)[number]

/** How long somebody who answered has to press 1, milliseconds. */
export const ASK_MS = 20_000
/** How long the caller's leg has to open, and then both to hear the notice. */
export const NOTICE_MS = 20_000
/** How long the greeting may take, the opening of the caller's leg included. */
export const GREETING_MS = 60_000
/** How long somebody may speak on a voicemail. */
export const VOICEMAIL_MS = 180_000
/** How long a call may take. */
export const TALK_MS = 4 * 3_600_000
/** How long phones ring one after another, in all: the caller's network gives up then. */
export const ORDER_MS = 120_000

/** A deadline. */
export interface Deadline {
  readonly of: DeadlineName
  /** The leg that it is of; 0 for the whole call. */
  readonly leg: number
  /** By the ledger's clock. */
  readonly deadlineAt: number
}

/** The deadline that a fact sets; null where it sets none. */
export function deadlineOf(fact: CallEvent): Deadline | null {
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
export interface LegKnowledge {
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
export function missedOf(
  callId: CallId,
  leg: number,
  { isAlive, answeredAt, endedAt }: LegKnowledge,
  heardAt: number,
): readonly CallCommand[] {
  if (!isAlive) return [{ type: "EndLeg", callId, leg, goneAt: endedAt ?? heardAt, answeredAt }]
  return answeredAt === null ? [] : [{ type: "OpenLeg", callId, leg, answeredAt, ref: null }]
}
