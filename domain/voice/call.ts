/**
 * One incoming call: a table of what happens in which state. Nobody's phone rings before the first
 * minute is paid, and once somebody takes the call nobody else's does.
 *
 * Stream `call-<companyId>-<callId>`. What the carrier says may come late, twice, in another order or
 * not at all: a row of the table is found by what the call is in, and what no longer fits changes nothing.
 * Each state that waits has a deadline that names it (`call-commands.ts`).
 */
import type { Decider, Stamp } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type { CallCommand, CallRefused, OfferCall } from "./call-commands.ts"
import type { CallEvent } from "./call-events.ts"
import * as rules from "./call-rules.ts"
import type { Rule } from "./call-rules.ts"
import { end } from "./call-moves.ts"
import type { Call, Live, Phase } from "./call-state.ts"
import { evolve, noCall } from "./call-state.ts"

/** What comes of a command, by the state of the call. */
type Row<T extends CallCommand["type"]> = Readonly<Record<Phase, Rule<T>>>

const all = <T extends CallCommand["type"]>(rule: Rule<T>, others: Partial<Row<T>> = {}) => ({
  paying: rule,
  ringing: rule,
  accepted: rule,
  talking: rule,
  greeting: rule,
  voicemail: rule,
  ended: rule,
  ...others,
})
const none = rules.nothing

const PAID: Row<"PayMinute"> = all(rules.notePaid, { paying: rules.ringPaid })
const REFUSED: Row<"RefuseMinute"> = all(rules.refuse)
const MINUTE_BEGINS: Row<"BeginMinute"> = all(rules.beginMinute)
const CALLER_GONE: Row<"EndLeg"> = all(rules.endByCaller, {
  paying: rules.rememberGone,
  ended: rules.goneBefore,
})
const LEG_ANSWERED: Row<"OpenLeg"> = all(rules.dropLate, { ringing: rules.answerRinging })
const DIGIT_ONE: Row<"PressDigits"> = all<"PressDigits">(rules.dropAsked, {
  ringing: rules.acceptAsked,
})
const OTHER_DIGIT: Row<"PressDigits"> = all<"PressDigits">(rules.dropAsked)
const ASK_OVER: Row<"EndAsk"> = all<"EndAsk">(rules.dropAsked)
const ASK_TIME_OVER: Row<"PassDeadline"> = all<"PassDeadline">(rules.dropAsked)
const LEG_GONE: Row<"EndLeg"> = all(rules.loseLeg, {
  accepted: rules.loseAccepted,
  talking: rules.loseAccepted,
})
const RING_TIME_OVER: Row<"PassDeadline"> = all<"PassDeadline">(none, { ringing: rules.endRinging })
const CALLER_OPEN: Row<"OpenLeg"> = all<"OpenLeg">(none, {
  accepted: rules.openForTalk,
  greeting: rules.openForGreeting,
  voicemail: rules.openUnheard,
  ended: rules.openTooLate,
})
const SAID: Row<"FinishSaying"> = all<"FinishSaying">(none, {
  accepted: rules.hearNotice,
  greeting: rules.hearGreeting,
})
const TIME_OVER: Row<"PassDeadline"> = all<"PassDeadline">(rules.passDeadline, {
  paying: none,
  ringing: none,
  ended: none,
})
const AUDIO: Row<"SaveAudio"> = all(rules.keepAudio)

/** The rules of a call. */
export const call: Decider<CallCommand, Call, CallEvent, CallRefused> = {
  initial: noCall,
  decide,
  evolve,
}

function decide(
  command: CallCommand,
  { call: known, goneEarly }: Call,
  { at }: Stamp,
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
  { type: _type, turnedAway, ...offered }: OfferCall,
  goneEarly: number | null,
  at: number,
): readonly CallEvent[] {
  const fact: CallEvent = { ...offered, type: "CallOffered", at }
  const reason = goneEarly === null ? turnedAway : "caller_hung_up"
  const { callId } = offered
  if (reason === null) {
    return [fact, { type: "CallMinuteStarted", at, callId, minute: 1, isCallerPresent: false }]
  }
  const before = evolve({ call: null, goneEarly }, fact).call as Live
  return [fact, end(before, "missed", reason, at)]
}

function decideLive(
  command: Exclude<CallCommand, OfferCall>,
  known: Live,
  at: number,
): readonly CallEvent[] {
  const { phase } = known
  switch (command.type) {
    case "PayMinute":
      return PAID[phase](known, command, at)
    case "RefuseMinute":
      return REFUSED[phase](known, command, at)
    case "BeginMinute":
      return MINUTE_BEGINS[phase](known, command, at)
    case "PlaceLeg": {
      const { callId, leg, ref } = command
      const isNamed = known.legs.find((one) => one.leg === leg)?.ref !== null
      return isNamed ? [] : [{ type: "LegDialed", at, callId, leg, ref }]
    }
    case "OpenLeg":
      return (command.leg === 0 ? CALLER_OPEN : LEG_ANSWERED)[phase](known, command, at)
    case "PressDigits":
      // Who presses 1 twice, or 1 and another key, has pressed 1 first.
      return (command.digits.startsWith("1") ? DIGIT_ONE : OTHER_DIGIT)[phase](known, command, at)
    case "EndAsk":
      return ASK_OVER[phase](known, command, at)
    case "EndLeg":
      return (command.leg === 0 ? CALLER_GONE : LEG_GONE)[phase](known, command, at)
    case "FinishSaying":
      return SAID[phase](known, command, at)
    case "SaveAudio":
      return AUDIO[phase](known, command, at)
    case "PassDeadline": {
      if (at < command.deadlineAt) return []
      if (command.of === "ring") return RING_TIME_OVER[phase](known, command, at)
      return (command.of === "ask" ? ASK_TIME_OVER : TIME_OVER)[phase](known, command, at)
    }
    case "AssumeGone": {
      const { callId } = command
      if (known.endedAt === null || known.goneAt !== null) return []
      return [{ type: "CallerHungUp", at, callId, goneAt: known.endedAt }]
    }
    default:
      return unreachable(command)
  }
}
