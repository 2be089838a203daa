/** What happens in each state of a call: the rules that its table is made of. */
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

/** A command of one type. */
export type CallCommandOf<T extends CallCommand["type"]> = Extract<
  CallCommand,
  { readonly type: T }
>

/** What a call records in one state because of one command. */
export type CallRule<T extends CallCommand["type"]> = (
  call: OfferedCall,
  told: CallCommandOf<T>,
  at: number,
) => readonly CallEvent[]

/** The end of a call in the state that it is in. */
function endEvents(
  call: OfferedCall,
  reason: Parameters<typeof endCall>[2],
  at: number,
  gone: readonly number[] = [],
  answeredAt = call.answeredAt,
): readonly CallEvent[] {
  if (call.phase === "ended") return []
  return [endCall(call, callOutcomeOf(call, call.phase, answeredAt), reason, at, gone)]
}

/** Nothing comes of it in this state. */
export const ignoreCommand = (): readonly CallEvent[] => []

const isOwed = ({ begun, paid }: OfferedCall, minute: number) => minute === begun && minute > paid

/** A minute is paid: said also behind the end, where its charge is given back. */
export const recordMinutePaid: CallRule<"PayMinute"> = (call, { callId, minute }, at) =>
  isOwed(call, minute) ? [{ type: "CallMinutePaid", at, callId, minute }] : []

/** The first minute is paid: phones ring, unless the caller has gone meanwhile. */
export const ringOncePaid: CallRule<"PayMinute"> = (call, told, at) => {
  const paid = recordMinutePaid(call, told, at)
  if (paid.length === 0) return paid
  return [
    ...paid,
    ...(call.goneAt === null ? startRinging(call, at) : endEvents(call, "caller_hung_up", at)),
  ]
}

/** A minute is refused: the call ends, if it has not. */
export const refuseMinute: CallRule<"RefuseMinute"> = (call, { callId, minute }, at) => {
  if (!isOwed(call, minute) || call.refused !== null) return []
  return [{ type: "CallMinuteRefused", at, callId, minute }, ...endEvents(call, "funds", at)]
}

/** The next minute begins where it is due: while it lasts by the clock, behind the end by what was spoken. */
export const startNextMinute: CallRule<"StartMinute"> = (
  call,
  { callId, minute, isCallerPresent },
  at,
) => {
  const { next } = callMinutesOf(call)
  if (next === null || next.minute !== minute || at < next.dueAt) return []
  return [{ type: "CallMinuteStarted", at, callId, minute, isCallerPresent }]
}

/** When the caller's leg was opened, where only its end says so. */
function earlierAnswerEvents(
  call: OfferedCall,
  { callId, answeredAt }: CallCommandOf<"EndLeg">,
  at: number,
): readonly CallEvent[] {
  if (answeredAt === null || call.answeredAt !== null || !call.isToAnswer) return []
  return [{ type: "CallerAnswered", at, callId, answeredAt }]
}

/** The caller has gone while nobody knows whether the first minute can be paid: that is remembered. */
export const rememberCallerHangUp: CallRule<"EndLeg"> = (call, { callId, goneAt }, at) =>
  call.goneAt === null ? [{ type: "CallerHungUp", at, callId, goneAt }] : []

/** The caller has gone: it is over. */
export const endOnCallerHangUp: CallRule<"EndLeg"> = (call, told, at) => {
  const { callId, goneAt } = told
  const gone: CallEvent = { type: "CallerHungUp", at, callId, goneAt }
  const answeredAt = call.answeredAt ?? told.answeredAt
  const ended = endEvents(call, "caller_hung_up", at, [0], answeredAt)
  return [...earlierAnswerEvents(call, told, at), gone, ...ended]
}

/**
 * It was over: of two times at which the caller went, the earlier counts. One who went unanswered by all that was
 * known then stays so: the money is back by now.
 */
export const recordEarlierHangUp: CallRule<"EndLeg"> = (call, told, at) => {
  const { callId, goneAt } = told
  const gone: CallEvent = { type: "CallerHungUp", at, callId, goneAt }
  if (call.goneAt === null) return [...earlierAnswerEvents(call, told, at), gone]
  return call.goneAt <= goneAt ? [] : [gone]
}

/** A phone is answered. */
export const answerRinging: CallRule<"AnswerLeg"> = (call, told, at) => {
  const { callId, leg, answeredAt, ref } = told
  const known = findLeg(call, leg)
  if (known === undefined || !isLegActive(known)) return hangUpLateAnswer(call, told, at)
  if (known.answeredAt !== null) return []
  const answered: CallEvent = { type: "LegAnswered", at, callId, leg, answeredAt, ref }
  return [answered, ...promptOrAccept(call, leg, at)]
}

/** A phone is answered too late: nobody is there any more, so it is hung up (once more). */
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

/** Who was asked pressed 1. */
export const acceptPrompted: CallRule<"PressDigits"> = (call, { leg }, at) => {
  const known = findLeg(call, leg)
  const isAsked = known !== undefined && isLegActive(known) && known.askedUntil !== null
  return isAsked ? acceptCall(call, leg, at) : []
}

/** Who was asked does not take it. Whoever took the call may press what they like. */
export const hangUpPrompted = (
  call: OfferedCall,
  told: CallCommandOf<"PressDigits" | "EndDigitPrompt" | "ExpireDeadline">,
  at: number,
): readonly CallEvent[] => {
  const { callId, leg } = told
  const known = findLeg(call, leg)
  if (known === undefined || !isLegActive(known) || leg === call.acceptedLeg) return []
  if (known.askedUntil === null) return []
  if (told.type === "ExpireDeadline" && told.deadlineAt !== known.askedUntil) return []
  const dropped: CallEvent = { type: "LegHungUp", at, callId, leg }
  return [dropped, ...ringNextWithout(call, leg, at)]
}

/** A leg is gone; where it was the last that could take the call, the next one rings. */
export const recordLegEnd: CallRule<"EndLeg"> = (call, { callId, leg, goneAt }, at) => {
  const known = findLeg(call, leg)
  if (known === undefined || known.goneAt !== null) return []
  const gone: CallEvent = { type: "LegEnded", at, callId, leg, goneAt }
  return isLegActive(known) ? [gone, ...ringNextWithout(call, leg, at)] : [gone]
}

function ringNextWithout(call: OfferedCall, leg: number, at: number): readonly CallEvent[] {
  if (call.phase !== "ringing") return []
  return activeLegs(call).some((one) => one !== leg) ? [] : ringNextLeg(call, at)
}

/** Who took the call is gone: it is over. */
export const endOnCalleeHangUp: CallRule<"EndLeg"> = (call, told, at) => {
  const lost = recordLegEnd(call, told, at)
  if (lost.length === 0 || told.leg !== call.acceptedLeg) return lost
  return [...lost, ...endEvents(call, "callee_hung_up", at, [told.leg])]
}

/** It rang for its time: those that only ring are hung up, those that are asked keep theirs. */
export const stopRinging: CallRule<"ExpireDeadline"> = (call, { callId, deadlineAt }, at) => {
  const { deadline } = call
  if (deadline?.of !== "ring" || deadline.untilAt !== deadlineAt) return []
  const alive = call.legs.filter(isLegActive)
  const drops = alive.filter(({ askedUntil }) => askedUntil === null)
  const dropped = drops.map(({ leg }): CallEvent => ({ type: "LegHungUp", at, callId, leg }))
  const isLast = drops.length > 0 && drops.length === alive.length
  return isLast ? [...dropped, ...ringNextLeg(call, at)] : dropped
}

/** The caller's leg is open, and somebody waits for it. */
export const answerForTalk: CallRule<"AnswerLeg"> = (call, { callId, answeredAt }, at) => {
  if (call.answeredAt !== null || call.acceptedLeg === null) return []
  const opened: CallEvent = { type: "CallerAnswered", at, callId, answeredAt }
  return [opened, ...playNoticeOrBridge(call, call.acceptedLeg, answeredAt, at)]
}

/** The caller's leg is open, and nobody is there. */
export const answerForGreeting: CallRule<"AnswerLeg"> = (call, { callId, answeredAt }, at) => {
  if (call.answeredAt !== null) return []
  const opened: CallEvent = { type: "CallerAnswered", at, callId, answeredAt }
  return [opened, { type: "GreetingPlayed", at, callId }]
}

/** The caller's leg was open before it was said. */
export const recordLateAnswer: CallRule<"AnswerLeg"> = (call, { callId, answeredAt }, at) =>
  call.answeredAt === null ? [{ type: "CallerAnswered", at, callId, answeredAt }] : []

/** The caller's leg is open of a call that is over: it is hung up (once more), if nobody said that it is gone. */
export const answerAfterEnd: CallRule<"AnswerLeg"> = (call, told, at) => {
  if (!call.isToAnswer || call.answeredAt !== null || call.goneAt !== null) return []
  return [
    ...recordLateAnswer(call, told, at),
    { type: "LegHungUp", at, callId: told.callId, leg: 0 },
  ]
}

/** A side heard the notice: once both did, they hear each other, and that is recorded. */
export const finishNotice: CallRule<"FinishPlayback"> = (call, { callId, leg }, at) => {
  const { acceptedLeg, answeredAt, heard } = call
  if (!call.isSaying || acceptedLeg === null || answeredAt === null) return []
  const isSide = leg === 0 || leg === acceptedLeg
  if (!isSide || heard.includes(leg)) return []
  const said: CallEvent = { type: "LegPromptPlayed", at, callId, leg }
  return heard.length === 0 ? [said] : [said, bridgeCall(call, acceptedLeg, true, answeredAt, at)]
}

/** The caller heard the greeting. */
export const finishGreeting: CallRule<"FinishPlayback"> = (call, { leg }, at) =>
  call.isSaying && leg === 0 ? [startVoicemail(call, at)] : []

/** What the state waited for did not come in time. */
export const expireDeadline: CallRule<"ExpireDeadline"> = (call, { of, deadlineAt }, at) => {
  const { deadline, acceptedLeg, answeredAt } = call
  if (deadline?.of !== of || deadline.untilAt !== deadlineAt || at < deadlineAt) return []
  if (of === "greeting") return [startVoicemail(call, at)]
  // Whoever took the call does not wait for ever for a notice; what was not announced is not recorded.
  if (of === "notice" && acceptedLeg !== null && answeredAt !== null) {
    return [bridgeCall(call, acceptedLeg, false, answeredAt, at)]
  }
  return endEvents(call, "deadline", at)
}

/** A recording is kept in whatever state; the first of its kind. */
export const recordAudio: CallRule<"RecordAudioAvailable"> = (call, told, at) => {
  const { type: _type, ...audio } = told
  return call.audio[told.kind] === null ? [{ ...audio, type: "RecordingAvailable", at }] : []
}
