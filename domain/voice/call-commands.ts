/** What a call can be told: what the carrier says of it, what the ledger says of its minutes, and the time. */
import type { AudioKind, CallFact, TurnedAway } from "./call-events.ts"
import type { DeadlineName } from "./deadlines.ts"
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
export interface PayMinute extends OfCall {
  readonly type: "PayMinute"
  readonly minute: number
}

/** The ledger refused the minute that began. Again, or where it was charged: nothing new. */
export interface RefuseMinute extends OfCall {
  readonly type: "RefuseMinute"
  readonly minute: number
}

/** The next minute may begin. Any other than the next, or before it is due: nothing new. */
export interface BeginMinute extends OfCall {
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
export interface PassDeadline extends OfLeg {
  readonly type: "PassDeadline"
  readonly of: DeadlineName
  readonly deadlineAt: number
}

/** Nobody says when the caller went of a call that has ended: it is taken for when that was recorded. */
export interface AssumeGone extends OfCall {
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
