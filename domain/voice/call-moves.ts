/** What several rows of a call's table come to: ringing, accepting, the greeting, and the end. */
import type { CallEvent, CallFact, EndReason, Outcome } from "./call-events.ts"
import type { Live, Phase } from "./call-state.ts"
import { isAlive, isLeft } from "./call-state.ts"
import { ASK_MS, GREETING_MS, NOTICE_MS, ORDER_MS, TALK_MS, VOICEMAIL_MS } from "./call-commands.ts"

/** What a call that ends in this state came to, unless a voicemail is found to have been left. */
const OUTCOME_OF: Readonly<Record<Exclude<Phase, "ended">, Outcome>> = {
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
export function outcomeOf(
  { audio }: Live,
  phase: Exclude<Phase, "ended">,
  answeredAt: number | null,
): Outcome {
  const isEmpty = phase === "voicemail" && answeredAt === null
  const isSpoken = audio.voicemail !== null && isLeft("voicemail", audio.voicemail.seconds)
  return isEmpty && !isSpoken ? "missed" : OUTCOME_OF[phase]
}

/** The legs that ring, are asked or talk. */
export const aliveLegs = ({ legs }: Live): readonly number[] =>
  legs.filter(isAlive).map(({ leg }) => leg)

const idOf = ({ offered: { callId } }: Live) => ({ callId })

/** Everything begins with a phone that rings, or with the greeting. */
export function ringFirst(call: Live, at: number): readonly CallEvent[] {
  const { ringTo, ringMode, ringSeconds } = call.offered.settings
  if (ringTo.length === 0) return greetOrReject(call, at)
  const legs = ringMode === "all" ? ringTo.map((_, i) => i + 1) : [1]
  return [{ type: "LegsDialed", at, ...idOf(call), legs, deadlineAt: at + ringSeconds * 1_000 }]
}

/** Nobody is left who rings: the next one does, or the greeting begins. */
export function ringNext(call: Live, at: number): readonly CallEvent[] {
  const { ringTo, ringMode, ringSeconds } = call.offered.settings
  const next = Math.max(0, ...call.legs.map(({ leg }) => leg)) + 1
  const lastAt = (call.ringingSince ?? at) + ORDER_MS
  if (ringMode === "all" || next > ringTo.length || at >= lastAt) return greetOrReject(call, at)
  const untilAt = Math.min(at + ringSeconds * 1_000, lastAt)
  return [{ type: "LegsDialed", at, ...idOf(call), legs: [next], deadlineAt: untilAt }]
}

function greetOrReject(call: Live, at: number): readonly CallEvent[] {
  if (!call.offered.settings.voicemail) return [end(call, "missed", "unanswered", at)]
  return [{ type: "GreetingStarted", at, ...idOf(call), deadlineAt: at + GREETING_MS }]
}

/** Asks somebody who answered whether it is them, or gives them the call. */
export function askOrAccept(call: Live, leg: number, at: number): readonly CallEvent[] {
  if (!call.offered.settings.screenCalls) return accept(call, leg, at)
  return [{ type: "LegPrompted", at, ...idOf(call), leg, deadlineAt: at + ASK_MS }]
}

/** Gives somebody the call: nobody else's phone rings from here on. */
export function accept(call: Live, leg: number, at: number): readonly CallEvent[] {
  const drops = aliveLegs(call).filter((one) => one !== leg)
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
  return [{ ...accepted, deadlineAt: at + NOTICE_MS }]
}

/** Begins the notice where the call is to be recorded; else both hear each other. */
export function noticeOrJoin(
  call: Live,
  leg: number,
  answeredAt: number,
  at: number,
): readonly CallEvent[] {
  if (!call.offered.settings.recordCalls) return [join(call, leg, false, answeredAt, at)]
  return [{ type: "RecordingNoticeStarted", at, ...idOf(call), leg, deadlineAt: at + NOTICE_MS }]
}

/** Joins the caller and who took the call. */
export function join(
  call: Live,
  leg: number,
  isRecorded: boolean,
  answeredAt: number,
  at: number,
): CallFact<"CallBridged"> {
  // Counted from the caller's leg, so that no minute begins behind the last.
  const untilAt = answeredAt + TALK_MS
  return { type: "CallBridged", at, ...idOf(call), leg, isRecorded, deadlineAt: untilAt }
}

/** Records what the caller says. */
export function beginVoicemail(call: Live, at: number): CallFact<"VoicemailStarted"> {
  return { type: "VoicemailStarted", at, ...idOf(call), deadlineAt: at + VOICEMAIL_MS }
}

/**
 * Ends a call.
 *
 * @param gone legs that went just now; 0 for the caller
 */
export function end(
  call: Live,
  outcome: Outcome,
  reason: EndReason,
  at: number,
  gone: readonly number[] = [],
): CallFact<"CallEnded"> {
  const drops = aliveLegs(call).filter((leg) => !gone.includes(leg))
  const isGone = call.goneAt !== null || gone.includes(0)
  const caller = isGone ? "ended" : call.isToAnswer ? "hang_up" : "reject"
  return { type: "CallEnded", at, ...idOf(call), outcome, reason, hangUpLegs: drops, caller }
}
