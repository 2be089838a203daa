/** Transitions that several rules of a call share: ringing, accepting, the greeting and the end. */
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

/** The outcome of a call that ends in a phase, unless a voicemail was left. */
const OUTCOME_BY_PHASE: Readonly<Record<Exclude<CallPhase, "ended">, CallOutcome>> = {
  paying: "missed",
  ringing: "missed",
  accepted: "missed",
  talking: "answered",
  greeting: "missed",
  voicemail: "voicemail",
}

/**
 * Returns the outcome of a call that ends now. If the caller's leg was never answered, no greeting was heard, so
 * there is no voicemail unless a recording proves it.
 */
export function callOutcomeOf(
  { audio }: OfferedCall,
  phase: Exclude<CallPhase, "ended">,
  answeredAt: number | null,
): CallOutcome {
  const isUnheard = phase === "voicemail" && answeredAt === null
  const hasVoicemail =
    audio.voicemail !== null && isVoicemailLeft("voicemail", audio.voicemail.seconds)
  return isUnheard && !hasVoicemail ? "missed" : OUTCOME_BY_PHASE[phase]
}

/** Lists the legs that ring, are prompted or talk. */
export const activeLegs = ({ legs }: OfferedCall): readonly number[] =>
  legs.filter(isLegActive).map(({ leg }) => leg)

const idOf = ({ offered: { callId } }: OfferedCall) => ({ callId })

/** Starts with ringing phones, or with the greeting if there are none. */
export function startRinging(call: OfferedCall, at: number): readonly CallEvent[] {
  const { ringTo, ringMode, ringSeconds } = call.offered.settings
  if (ringTo.length === 0) return greetOrReject(call, at)
  const legs = ringMode === "all" ? ringTo.map((_, i) => i + 1) : [1]
  return [{ type: "LegsDialed", at, ...idOf(call), legs, deadlineAt: at + ringSeconds * 1_000 }]
}

/** Rings the next phone, or starts the greeting after the last. */
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

/** Prompts the person who answered, or gives them the call. */
export function promptOrAccept(call: OfferedCall, leg: number, at: number): readonly CallEvent[] {
  if (!call.offered.settings.screenCalls) return acceptCall(call, leg, at)
  return [{ type: "LegPrompted", at, ...idOf(call), leg, deadlineAt: at + PROMPT_TIMEOUT_MS }]
}

/** Gives a person the call; all other phones stop ringing. */
export function acceptCall(call: OfferedCall, leg: number, at: number): readonly CallEvent[] {
  const hangUpLegs = activeLegs(call).filter((one) => one !== leg)
  const phone = call.offered.settings.ringTo[leg - 1]?.phone
  // Legs are numbered by `ringTo`.
  if (phone === undefined) return []
  const accepted = {
    type: "CallAccepted",
    at,
    ...idOf(call),
    leg,
    phone,
    hangUpLegs,
  } as const
  return [{ ...accepted, deadlineAt: at + NOTICE_TIMEOUT_MS }]
}

/** Starts the notice if the call is to be recorded; otherwise connects both sides. */
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

/** Connects the caller and the person who accepted the call. */
export function bridgeCall(
  call: OfferedCall,
  leg: number,
  isRecorded: boolean,
  answeredAt: number,
  at: number,
): CallFact<"CallBridged"> {
  // Counted from the caller's leg, so that no minute starts after the last allowed one.
  const untilAt = answeredAt + MAX_TALK_MS
  return { type: "CallBridged", at, ...idOf(call), leg, isRecorded, deadlineAt: untilAt }
}

/** Records the caller's voicemail. */
export function startVoicemail(call: OfferedCall, at: number): CallFact<"VoicemailStarted"> {
  return { type: "VoicemailStarted", at, ...idOf(call), deadlineAt: at + MAX_VOICEMAIL_MS }
}

/** Ends a call. @param endedLegs legs that ended just now; 0 for the caller */
export function endCall(
  call: OfferedCall,
  outcome: CallOutcome,
  reason: CallEndReason,
  at: number,
  endedLegs: readonly number[] = [],
): CallFact<"CallEnded"> {
  const hangUpLegs = activeLegs(call).filter((leg) => !endedLegs.includes(leg))
  const hasCallerLeft = call.goneAt !== null || endedLegs.includes(0)
  const caller = hasCallerLeft ? "ended" : call.isToAnswer ? "hang_up" : "reject"
  return { type: "CallEnded", at, ...idOf(call), outcome, reason, hangUpLegs, caller }
}
