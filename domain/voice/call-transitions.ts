/** What several rows of a call's table come to: ringing, accepting, the greeting, and the end. */
import type { CallEvent, CallFact, CallEndReason, CallOutcome } from "./call-events.ts"
import type { OfferedCall, CallPhase } from "./call-state.ts"
import { isLegActive, isVoicemailLeft } from "./call-state.ts"
import {
  PROMPT_TIMEOUT_MS,
  GREETING_TIMEOUT_MS,
  NOTICE_TIMEOUT_MS,
  MAX_SEQUENTIAL_RING_MS,
  MAX_TALK_MS,
  MAX_VOICEMAIL_MS,
} from "./call-commands.ts"

/** What a call that ends in this state came to, unless a voicemail is found to have been left. */
const OUTCOME_BY_PHASE: Readonly<Record<Exclude<CallPhase, "ended">, CallOutcome>> = {
  paying: "missed",
  ringing: "missed",
  accepted: "missed",
  talking: "answered",
  greeting: "missed",
  voicemail: "voicemail",
}

/**
 * What a call comes to that ends now. Where the caller's leg was never opened nobody heard a greeting: a carrier that
 * does not answer makes no voicemail, unless one was left all the same.
 */
export function callOutcomeOf(
  { audio }: OfferedCall,
  phase: Exclude<CallPhase, "ended">,
  answeredAt: number | null,
): CallOutcome {
  const isEmpty = phase === "voicemail" && answeredAt === null
  const isSpoken = audio.voicemail !== null && isVoicemailLeft("voicemail", audio.voicemail.seconds)
  return isEmpty && !isSpoken ? "missed" : OUTCOME_BY_PHASE[phase]
}

/** The legs that ring, are asked or talk. */
export const activeLegs = ({ legs }: OfferedCall): readonly number[] =>
  legs.filter(isLegActive).map(({ leg }) => leg)

const idOf = ({ offered: { callId } }: OfferedCall) => ({ callId })

/** Everything begins with a phone that rings, or with the greeting. */
export function startRinging(call: OfferedCall, at: number): readonly CallEvent[] {
  const { ringTo, ringMode, ringSeconds } = call.offered.settings
  if (ringTo.length === 0) return greetOrReject(call, at)
  const legs = ringMode === "all" ? ringTo.map((_, i) => i + 1) : [1]
  return [{ type: "LegsDialed", at, ...idOf(call), legs, deadlineAt: at + ringSeconds * 1_000 }]
}

/** Nobody is left who rings: the next one does, or the greeting begins. */
export function ringNextLeg(call: OfferedCall, at: number): readonly CallEvent[] {
  const { ringTo, ringMode, ringSeconds } = call.offered.settings
  const next = Math.max(0, ...call.legs.map(({ leg }) => leg)) + 1
  const lastAt = (call.ringingSince ?? at) + MAX_SEQUENTIAL_RING_MS
  if (ringMode === "all" || next > ringTo.length || at >= lastAt) return greetOrReject(call, at)
  const untilAt = Math.min(at + ringSeconds * 1_000, lastAt)
  return [{ type: "LegsDialed", at, ...idOf(call), legs: [next], deadlineAt: untilAt }]
}

function greetOrReject(call: OfferedCall, at: number): readonly CallEvent[] {
  if (!call.offered.settings.voicemail) return [endCall(call, "missed", "unanswered", at)]
  return [{ type: "GreetingStarted", at, ...idOf(call), deadlineAt: at + GREETING_TIMEOUT_MS }]
}

/** Asks somebody who answered whether it is them, or gives them the call. */
export function promptOrAccept(call: OfferedCall, leg: number, at: number): readonly CallEvent[] {
  if (!call.offered.settings.screenCalls) return acceptCall(call, leg, at)
  return [{ type: "LegPrompted", at, ...idOf(call), leg, deadlineAt: at + PROMPT_TIMEOUT_MS }]
}

/** Gives somebody the call: nobody else's phone rings from here on. */
export function acceptCall(call: OfferedCall, leg: number, at: number): readonly CallEvent[] {
  const drops = activeLegs(call).filter((one) => one !== leg)
  const phone = call.offered.settings.ringTo[leg - 1]?.phone
  // Legs are those of the numbers that ring.
  if (phone === undefined) return []
  const accepted = {
    type: "CallAccepted",
    at,
    ...idOf(call),
    leg,
    phone,
    hangUpLegs: drops,
  } as const
  return [{ ...accepted, deadlineAt: at + NOTICE_TIMEOUT_MS }]
}

/** Begins the notice where the call is to be recorded; else both hear each other. */
export function playNoticeOrBridge(
  call: OfferedCall,
  leg: number,
  answeredAt: number,
  at: number,
): readonly CallEvent[] {
  if (!call.offered.settings.recordCalls) return [bridgeCall(call, leg, false, answeredAt, at)]
  return [
    { type: "RecordingNoticeStarted", at, ...idOf(call), leg, deadlineAt: at + NOTICE_TIMEOUT_MS },
  ]
}

/** Joins the caller and who took the call. */
export function bridgeCall(
  call: OfferedCall,
  leg: number,
  isRecorded: boolean,
  answeredAt: number,
  at: number,
): CallFact<"CallBridged"> {
  // Counted from the caller's leg, so that no minute begins behind the last.
  const untilAt = answeredAt + MAX_TALK_MS
  return { type: "CallBridged", at, ...idOf(call), leg, isRecorded, deadlineAt: untilAt }
}

/** Records what the caller says. */
export function startVoicemail(call: OfferedCall, at: number): CallFact<"VoicemailStarted"> {
  return { type: "VoicemailStarted", at, ...idOf(call), deadlineAt: at + MAX_VOICEMAIL_MS }
}

/**
 * Ends a call.
 *
 * @param gone legs that went just now; 0 for the caller
 */
export function endCall(
  call: OfferedCall,
  outcome: CallOutcome,
  reason: CallEndReason,
  at: number,
  gone: readonly number[] = [],
): CallFact<"CallEnded"> {
  const drops = activeLegs(call).filter((leg) => !gone.includes(leg))
  const isGone = call.goneAt !== null || gone.includes(0)
  const caller = isGone ? "ended" : call.isToAnswer ? "hang_up" : "reject"
  return { type: "CallEnded", at, ...idOf(call), outcome, reason, hangUpLegs: drops, caller }
}
