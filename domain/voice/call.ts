/**
 * One incoming call: tables of the reactions in each phase. No phone rings before the first minute is paid, and all
 * others stop when a person accepts the call.
 *
 * Stream `call-<companyId>-<callId>`. The carrier's reports may come late, twice, out of order or not at all: the
 * call's phase selects the rule, and a report that no longer fits changes nothing. Each phase that waits has a
 * deadline (`call-commands.ts`).
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

const MINUTE_PAID: RuleByPhase<"PayMinute"> = rulesByPhase(rules.recordMinutePaid, {
  paying: rules.ringOncePaid,
})
const MINUTE_REFUSED: RuleByPhase<"RefuseMinute"> = rulesByPhase(rules.refuseMinute)
const MINUTE_STARTED: RuleByPhase<"StartMinute"> = rulesByPhase(rules.startNextMinute)
const CALLER_HUNG_UP: RuleByPhase<"EndLeg"> = rulesByPhase(rules.endOnCallerHangUp, {
  paying: rules.rememberCallerHangUp,
  ended: rules.recordEarlierHangUp,
})
const LEG_ANSWERED: RuleByPhase<"AnswerLeg"> = rulesByPhase(rules.hangUpLateAnswer, {
  ringing: rules.answerRinging,
})
const PRESSED_ONE: RuleByPhase<"PressDigits"> = rulesByPhase<"PressDigits">(rules.hangUpPrompted, {
  ringing: rules.acceptPrompted,
})
const PRESSED_OTHER: RuleByPhase<"PressDigits"> = rulesByPhase<"PressDigits">(rules.hangUpPrompted)
const PROMPT_ENDED: RuleByPhase<"EndDigitPrompt"> = rulesByPhase<"EndDigitPrompt">(
  rules.hangUpPrompted,
)
const PROMPT_EXPIRED: RuleByPhase<"ExpireDeadline"> = rulesByPhase<"ExpireDeadline">(
  rules.hangUpPrompted,
)
const LEG_ENDED: RuleByPhase<"EndLeg"> = rulesByPhase(rules.recordLegEnd, {
  accepted: rules.endOnCalleeHangUp,
  talking: rules.endOnCalleeHangUp,
})
const RING_EXPIRED: RuleByPhase<"ExpireDeadline"> = rulesByPhase<"ExpireDeadline">(none, {
  ringing: rules.stopRinging,
})
const CALLER_ANSWERED: RuleByPhase<"AnswerLeg"> = rulesByPhase<"AnswerLeg">(none, {
  accepted: rules.answerForTalk,
  greeting: rules.answerForGreeting,
  voicemail: rules.recordLateAnswer,
  ended: rules.answerAfterEnd,
})
const PLAYBACK_FINISHED: RuleByPhase<"FinishPlayback"> = rulesByPhase<"FinishPlayback">(none, {
  accepted: rules.finishNotice,
  greeting: rules.finishGreeting,
})
const DEADLINE_EXPIRED: RuleByPhase<"ExpireDeadline"> = rulesByPhase<"ExpireDeadline">(
  rules.expireDeadline,
  {
    paying: none,
    ringing: none,
    ended: none,
  },
)
const AUDIO_AVAILABLE: RuleByPhase<"RecordAudioAvailable"> = rulesByPhase(rules.recordAudio)

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
  // The only command that may arrive before the call itself is the caller's hang-up.
  if (command.type !== "EndLeg" || command.leg !== 0)
    return { type: "CallRefused", at, code: "no_call" }
  const { callId, goneAt } = command
  if (goneEarly !== null && goneEarly <= goneAt) return []
  return [{ type: "CallerHungUp", at, callId, goneAt }]
}

/** The first minute is owed from here, unless the call is rejected or the caller has already hung up. */
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
      return MINUTE_PAID[phase](known, command, at)
    case "RefuseMinute":
      return MINUTE_REFUSED[phase](known, command, at)
    case "StartMinute":
      return MINUTE_STARTED[phase](known, command, at)
    case "MarkLegDialed": {
      const { callId, leg, ref } = command
      const isDialed = known.legs.find((one) => one.leg === leg)?.ref !== null
      return isDialed ? [] : [{ type: "LegDialed", at, callId, leg, ref }]
    }
    case "AnswerLeg":
      return (command.leg === 0 ? CALLER_ANSWERED : LEG_ANSWERED)[phase](known, command, at)
    case "PressDigits":
      // If 1 is followed by other digits, the person pressed 1 first.
      return (command.digits.startsWith("1") ? PRESSED_ONE : PRESSED_OTHER)[phase](
        known,
        command,
        at,
      )
    case "EndDigitPrompt":
      return PROMPT_ENDED[phase](known, command, at)
    case "EndLeg":
      return (command.leg === 0 ? CALLER_HUNG_UP : LEG_ENDED)[phase](known, command, at)
    case "FinishPlayback":
      return PLAYBACK_FINISHED[phase](known, command, at)
    case "RecordAudioAvailable":
      return AUDIO_AVAILABLE[phase](known, command, at)
    case "ExpireDeadline": {
      if (at < command.deadlineAt) return []
      if (command.of === "ring") return RING_EXPIRED[phase](known, command, at)
      return (command.of === "ask" ? PROMPT_EXPIRED : DEADLINE_EXPIRED)[phase](known, command, at)
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
