/** The rules of a call for each phase and command, from which its tables are made. */
import type { CallCommand } from "./call-commands.ts"
import type { CallEvent } from "./call-events.ts"
import {
  acceptCall,
  promptOrAccept,
  startVoicemail,
  endCall,
  bridgeCall,
  playNoticeOrBridge,
  callOutcomeOf,
  startRinging,
  ringNextLeg,
  activeLegs,
} from "./call-transitions.ts"
import { callMinutesOf } from "./call-minutes.ts"
import type { OfferedCall } from "./call-state.ts"
import { isLegActive, findLeg } from "./call-state.ts"

export type CallCommandOf<T extends CallCommand["type"]> = Extract<
  CallCommand,
  { readonly type: T }
>

/** Decides one command in one phase of a call. */
export type CallRule<T extends CallCommand["type"]> = (
  call: OfferedCall,
  command: CallCommandOf<T>,
  at: number,
) => readonly CallEvent[]

function endEvents(
  call: OfferedCall,
  reason: Parameters<typeof endCall>[2],
  at: number,
  endedLegs: readonly number[] = [],
  answeredAt = call.answeredAt,
): readonly CallEvent[] {
  if (call.phase === "ended") return []
  return [endCall(call, callOutcomeOf(call, call.phase, answeredAt), reason, at, endedLegs)]
}

/** Ignores the command. */
export const ignoreCommand = (): readonly CallEvent[] => []

const isOwed = ({ begun, paid }: OfferedCall, minute: number) => minute === begun && minute > paid

/** Records that a minute is paid, even after the end of the call; its charge is then refunded. */
export const recordMinutePaid: CallRule<"PayMinute"> = (call, { callId, minute }, at) =>
  isOwed(call, minute) ? [{ type: "CallMinutePaid", at, callId, minute }] : []

/** After the first minute is paid, phones ring, unless the caller hung up meanwhile. */
export const ringOncePaid: CallRule<"PayMinute"> = (call, command, at) => {
  const paid = recordMinutePaid(call, command, at)
  if (paid.length === 0) return paid
  return [
    ...paid,
    ...(call.goneAt === null ? startRinging(call, at) : endEvents(call, "caller_hung_up", at)),
  ]
}

/** Records that a minute was refused and ends the call. */
export const refuseMinute: CallRule<"RefuseMinute"> = (call, { callId, minute }, at) => {
  if (!isOwed(call, minute) || call.refused !== null) return []
  return [{ type: "CallMinuteRefused", at, callId, minute }, ...endEvents(call, "funds", at)]
}

/** Starts the next minute when it is due: by the clock during the call, by the billable minutes after its end. */
export const startNextMinute: CallRule<"StartMinute"> = (
  call,
  { callId, minute, isCallerPresent },
  at,
) => {
  const { next } = callMinutesOf(call)
  if (next === null || next.minute !== minute || at < next.dueAt) return []
  return [{ type: "CallMinuteStarted", at, callId, minute, isCallerPresent }]
}

/** The answer of the caller's leg, if only its end reports it. */
function earlierAnswerEvents(
  call: OfferedCall,
  { callId, answeredAt }: CallCommandOf<"EndLeg">,
  at: number,
): readonly CallEvent[] {
  if (answeredAt === null || call.answeredAt !== null || !call.isToAnswer) return []
  return [{ type: "CallerAnswered", at, callId, answeredAt }]
}

/** Remembers that the caller hung up before the first minute was paid or refused. */
export const rememberCallerHangUp: CallRule<"EndLeg"> = (call, { callId, goneAt }, at) =>
  call.goneAt === null ? [{ type: "CallerHungUp", at, callId, goneAt }] : []

/** Ends the call because the caller hung up. */
export const endOnCallerHangUp: CallRule<"EndLeg"> = (call, command, at) => {
  const { callId, goneAt } = command
  const hungUp: CallEvent = { type: "CallerHungUp", at, callId, goneAt }
  const answeredAt = call.answeredAt ?? command.answeredAt
  const ended = endEvents(call, "caller_hung_up", at, [0], answeredAt)
  return [...earlierAnswerEvents(call, command, at), hungUp, ...ended]
}

/**
 * After the end, the earlier of two reported times counts. A call that was unanswered as far as known then stays
 * so, because its charge is already refunded.
 */
export const recordEarlierHangUp: CallRule<"EndLeg"> = (call, command, at) => {
  const { callId, goneAt } = command
  const hungUp: CallEvent = { type: "CallerHungUp", at, callId, goneAt }
  if (call.goneAt === null) return [...earlierAnswerEvents(call, command, at), hungUp]
  return call.goneAt <= goneAt ? [] : [hungUp]
}

/** A phone that rings is answered. */
export const answerRinging: CallRule<"AnswerLeg"> = (call, command, at) => {
  const { callId, leg, answeredAt, ref } = command
  const known = findLeg(call, leg)
  if (known === undefined || !isLegActive(known)) return hangUpLateAnswer(call, command, at)
  if (known.answeredAt !== null) return []
  const answered: CallEvent = { type: "LegAnswered", at, callId, leg, answeredAt, ref }
  return [answered, ...promptOrAccept(call, leg, at)]
}

/** A phone is answered too late, so it is hung up (again). */
export const hangUpLateAnswer: CallRule<"AnswerLeg"> = (
  call,
  { callId, leg, answeredAt, ref },
  at,
) => {
  const known = findLeg(call, leg)
  if (known === undefined || known.answeredAt !== null || known.goneAt !== null) return []
  return [
    { type: "LegAnswered", at, callId, leg, answeredAt, ref },
    { type: "LegHungUp", at, callId, leg },
  ]
}

/** The person who was prompted pressed 1. */
export const acceptPrompted: CallRule<"PressDigits"> = (call, { leg }, at) => {
  const known = findLeg(call, leg)
  const isPrompted = known !== undefined && isLegActive(known) && known.askedUntil !== null
  return isPrompted ? acceptCall(call, leg, at) : []
}

/** The person who was prompted does not accept. The person who accepted the call may press any digit. */
export const hangUpPrompted = (
  call: OfferedCall,
  command: CallCommandOf<"PressDigits" | "EndDigitPrompt" | "ExpireDeadline">,
  at: number,
): readonly CallEvent[] => {
  const { callId, leg } = command
  const known = findLeg(call, leg)
  if (known === undefined || !isLegActive(known) || leg === call.acceptedLeg) return []
  if (known.askedUntil === null) return []
  if (command.type === "ExpireDeadline" && command.deadlineAt !== known.askedUntil) return []
  const dropped: CallEvent = { type: "LegHungUp", at, callId, leg }
  return [dropped, ...ringNextWithout(call, leg, at)]
}

/** A leg ended; if it was the last that could accept the call, the next one rings. */
export const recordLegEnd: CallRule<"EndLeg"> = (call, { callId, leg, goneAt }, at) => {
  const known = findLeg(call, leg)
  if (known === undefined || known.goneAt !== null) return []
  const legEnded: CallEvent = { type: "LegEnded", at, callId, leg, goneAt }
  return isLegActive(known) ? [legEnded, ...ringNextWithout(call, leg, at)] : [legEnded]
}

function ringNextWithout(call: OfferedCall, leg: number, at: number): readonly CallEvent[] {
  if (call.phase !== "ringing") return []
  return activeLegs(call).some((one) => one !== leg) ? [] : ringNextLeg(call, at)
}

/** Ends the call because the person who accepted it hung up. */
export const endOnCalleeHangUp: CallRule<"EndLeg"> = (call, command, at) => {
  const ended = recordLegEnd(call, command, at)
  if (ended.length === 0 || command.leg !== call.acceptedLeg) return ended
  return [...ended, ...endEvents(call, "callee_hung_up", at, [command.leg])]
}

/** The ring time is over: legs that only ring are hung up, prompted ones keep their own deadline. */
export const stopRinging: CallRule<"ExpireDeadline"> = (call, { callId, deadlineAt }, at) => {
  const { deadline } = call
  if (deadline?.of !== "ring" || deadline.untilAt !== deadlineAt) return []
  const alive = call.legs.filter(isLegActive)
  const unprompted = alive.filter(({ askedUntil }) => askedUntil === null)
  const dropped = unprompted.map(({ leg }): CallEvent => ({ type: "LegHungUp", at, callId, leg }))
  const isLast = unprompted.length > 0 && unprompted.length === alive.length
  return isLast ? [...dropped, ...ringNextLeg(call, at)] : dropped
}

/** The caller's leg is answered for the person who accepted the call. */
export const answerForTalk: CallRule<"AnswerLeg"> = (call, { callId, answeredAt }, at) => {
  if (call.answeredAt !== null || call.acceptedLeg === null) return []
  const answered: CallEvent = { type: "CallerAnswered", at, callId, answeredAt }
  return [answered, ...playNoticeOrBridge(call, call.acceptedLeg, answeredAt, at)]
}

/** The caller's leg is answered for the greeting. */
export const answerForGreeting: CallRule<"AnswerLeg"> = (call, { callId, answeredAt }, at) => {
  if (call.answeredAt !== null) return []
  const answered: CallEvent = { type: "CallerAnswered", at, callId, answeredAt }
  return [answered, { type: "GreetingPlayed", at, callId }]
}

/** The report that the caller's leg was answered arrives late. */
export const recordLateAnswer: CallRule<"AnswerLeg"> = (call, { callId, answeredAt }, at) =>
  call.answeredAt === null ? [{ type: "CallerAnswered", at, callId, answeredAt }] : []

/** The caller's leg is answered after the call has ended: it is hung up (again) unless it has already ended. */
export const answerAfterEnd: CallRule<"AnswerLeg"> = (call, command, at) => {
  if (!call.isToAnswer || call.answeredAt !== null || call.goneAt !== null) return []
  return [
    ...recordLateAnswer(call, command, at),
    { type: "LegHungUp", at, callId: command.callId, leg: 0 },
  ]
}

/** One side heard the notice; after both did, they are connected and recorded. */
export const finishNotice: CallRule<"FinishPlayback"> = (call, { callId, leg }, at) => {
  const { acceptedLeg, answeredAt, heard } = call
  if (!call.isSaying || acceptedLeg === null || answeredAt === null) return []
  const isSide = leg === 0 || leg === acceptedLeg
  if (!isSide || heard.includes(leg)) return []
  const played: CallEvent = { type: "LegPromptPlayed", at, callId, leg }
  return heard.length === 0
    ? [played]
    : [played, bridgeCall(call, acceptedLeg, true, answeredAt, at)]
}

/** The caller heard the greeting. */
export const finishGreeting: CallRule<"FinishPlayback"> = (call, { leg }, at) =>
  call.isSaying && leg === 0 ? [startVoicemail(call, at)] : []

/** The phase did not finish in time. */
export const expireDeadline: CallRule<"ExpireDeadline"> = (call, { of, deadlineAt }, at) => {
  const { deadline, acceptedLeg, answeredAt } = call
  if (deadline?.of !== of || deadline.untilAt !== deadlineAt || at < deadlineAt) return []
  if (of === "greeting") return [startVoicemail(call, at)]
  // The person who accepted does not wait longer for the notice; without a notice the call is not recorded.
  if (of === "notice" && acceptedLeg !== null && answeredAt !== null) {
    return [bridgeCall(call, acceptedLeg, false, answeredAt, at)]
  }
  return endEvents(call, "deadline", at)
}

/** Records the first recording of each kind, in any phase. */
export const recordAudio: CallRule<"RecordAudioAvailable"> = (call, command, at) => {
  const { type: _type, ...audio } = command
  return call.audio[command.kind] === null ? [{ ...audio, type: "RecordingAvailable", at }] : []
}
