/**
 * One incoming call: a table of what happens in which state. Nobody's phone rings before the first
 * minute is paid, and once somebody takes the call nobody else's does.
 *
 * Stream `call-<companyId>-<callId>`. What the carrier says may come late, twice, in another order or
 * not at all: a row of the table is found by what the call is in, and what no longer fits changes nothing.
 * Each state that waits has a deadline that names it (`call-commands.ts`).
 */
import type { Decider, DecisionStamp } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type { CallCommand, CallRefused, OfferCall } from "./call-commands.ts"
import type { CallEvent } from "./call-events.ts"
import * as rules from "./call-rules.ts"
import type { CallRule } from "./call-rules.ts"
import { endCall } from "./call-transitions.ts"
import type { CallState, OfferedCall, CallPhase } from "./call-state.ts"
import { evolveCallState, initialCall } from "./call-state.ts"

/** What comes of a command, by the state of the call. */
type RuleByPhase<T extends CallCommand["type"]> = Readonly<Record<CallPhase, CallRule<T>>>

const rulesByPhase = <T extends CallCommand["type"]>(
  rule: CallRule<T>,
  others: Partial<RuleByPhase<T>> = {},
) => ({
  paying: rule,
  ringing: rule,
  accepted: rule,
  talking: rule,
  greeting: rule,
  voicemail: rule,
  ended: rule,
  ...others,
})
const none = rules.ignoreCommand

const PAID: RuleByPhase<"PayMinute"> = rulesByPhase(rules.recordMinutePaid, {
  paying: rules.ringOncePaid,
})
const REFUSED: RuleByPhase<"RefuseMinute"> = rulesByPhase(rules.refuseMinute)
const MINUTE_BEGINS: RuleByPhase<"StartMinute"> = rulesByPhase(rules.startNextMinute)
const CALLER_GONE: RuleByPhase<"EndLeg"> = rulesByPhase(rules.endOnCallerHangUp, {
  paying: rules.rememberCallerHangUp,
  ended: rules.recordEarlierHangUp,
})
const LEG_ANSWERED: RuleByPhase<"AnswerLeg"> = rulesByPhase(rules.hangUpLateAnswer, {
  ringing: rules.answerRinging,
})
const DIGIT_ONE: RuleByPhase<"PressDigits"> = rulesByPhase<"PressDigits">(rules.hangUpPrompted, {
  ringing: rules.acceptPrompted,
})
const OTHER_DIGIT: RuleByPhase<"PressDigits"> = rulesByPhase<"PressDigits">(rules.hangUpPrompted)
const ASK_OVER: RuleByPhase<"EndDigitPrompt"> = rulesByPhase<"EndDigitPrompt">(rules.hangUpPrompted)
const ASK_TIME_OVER: RuleByPhase<"ExpireDeadline"> = rulesByPhase<"ExpireDeadline">(
  rules.hangUpPrompted,
)
const LEG_GONE: RuleByPhase<"EndLeg"> = rulesByPhase(rules.recordLegEnd, {
  accepted: rules.endOnCalleeHangUp,
  talking: rules.endOnCalleeHangUp,
})
const RING_TIME_OVER: RuleByPhase<"ExpireDeadline"> = rulesByPhase<"ExpireDeadline">(none, {
  ringing: rules.stopRinging,
})
const CALLER_OPEN: RuleByPhase<"AnswerLeg"> = rulesByPhase<"AnswerLeg">(none, {
  accepted: rules.answerForTalk,
  greeting: rules.answerForGreeting,
  voicemail: rules.recordLateAnswer,
  ended: rules.answerAfterEnd,
})
const SAID: RuleByPhase<"FinishPlayback"> = rulesByPhase<"FinishPlayback">(none, {
  accepted: rules.finishNotice,
  greeting: rules.finishGreeting,
})
const TIME_OVER: RuleByPhase<"ExpireDeadline"> = rulesByPhase<"ExpireDeadline">(
  rules.expireDeadline,
  {
    paying: none,
    ringing: none,
    ended: none,
  },
)
const AUDIO: RuleByPhase<"RecordAudioAvailable"> = rulesByPhase(rules.recordAudio)

/** The rules of a call. */
export const callDecider: Decider<CallCommand, CallState, CallEvent, CallRefused> = {
  initial: initialCall,
  decide,
  evolve: evolveCallState,
}

function decide(
  command: CallCommand,
  { call: known, goneEarly }: CallState,
  { at }: DecisionStamp,
): readonly CallEvent[] | CallRefused {
  if (command.type === "OfferCall") {
    return known === null ? offer(command, goneEarly, at) : []
  }
  if (known !== null) return decideLive(command, known, at)
  // What overtook the call itself is remembered, and nothing else of it (phone.md §2).
  if (command.type !== "EndLeg" || command.leg !== 0)
    return { type: "CallRefused", at, code: "no_call" }
  const { callId, goneAt } = command
  if (goneEarly !== null && goneEarly <= goneAt) return []
  return [{ type: "CallerHungUp", at, callId, goneAt }]
}

/** The first minute is owed from here, unless the call is turned away or nobody calls any more. */
function offer(
  { type: _type, rejectReason, ...offered }: OfferCall,
  goneEarly: number | null,
  at: number,
): readonly CallEvent[] {
  const fact: CallEvent = { ...offered, type: "CallOffered", at }
  const reason = goneEarly === null ? rejectReason : "caller_hung_up"
  const { callId } = offered
  if (reason === null) {
    return [fact, { type: "CallMinuteStarted", at, callId, minute: 1, isCallerPresent: false }]
  }
  const before = evolveCallState({ call: null, goneEarly }, fact).call as OfferedCall
  return [fact, endCall(before, "missed", reason, at)]
}

function decideLive(
  command: Exclude<CallCommand, OfferCall>,
  known: OfferedCall,
  at: number,
): readonly CallEvent[] {
  const { phase } = known
  switch (command.type) {
    case "PayMinute":
      return PAID[phase](known, command, at)
    case "RefuseMinute":
      return REFUSED[phase](known, command, at)
    case "StartMinute":
      return MINUTE_BEGINS[phase](known, command, at)
    case "MarkLegDialed": {
      const { callId, leg, ref } = command
      const isNamed = known.legs.find((one) => one.leg === leg)?.ref !== null
      return isNamed ? [] : [{ type: "LegDialed", at, callId, leg, ref }]
    }
    case "AnswerLeg":
      return (command.leg === 0 ? CALLER_OPEN : LEG_ANSWERED)[phase](known, command, at)
    case "PressDigits":
      // Who presses 1 twice, or 1 and another key, has pressed 1 first.
      return (command.digits.startsWith("1") ? DIGIT_ONE : OTHER_DIGIT)[phase](known, command, at)
    case "EndDigitPrompt":
      return ASK_OVER[phase](known, command, at)
    case "EndLeg":
      return (command.leg === 0 ? CALLER_GONE : LEG_GONE)[phase](known, command, at)
    case "FinishPlayback":
      return SAID[phase](known, command, at)
    case "RecordAudioAvailable":
      return AUDIO[phase](known, command, at)
    case "ExpireDeadline": {
      if (at < command.deadlineAt) return []
      if (command.of === "ring") return RING_TIME_OVER[phase](known, command, at)
      return (command.of === "ask" ? ASK_TIME_OVER : TIME_OVER)[phase](known, command, at)
    }
    case "AssumeCallerHungUp": {
      const { callId } = command
      if (known.endedAt === null || known.goneAt !== null) return []
      return [{ type: "CallerHungUp", at, callId, goneAt: known.endedAt }]
    }
    default:
      return unreachable(command)
  }
}
