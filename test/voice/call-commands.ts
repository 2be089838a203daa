/** A call under test, and commands with defaults for tests. */
import fc from "fast-check"
import type { CallCommand, OfferCall } from "../../domain/voice/call-commands.ts"
import { callDeadlineOf } from "../../domain/voice/call-commands.ts"
import type { CallEvent } from "../../domain/voice/call-events.ts"
import { callMinutesOf } from "../../domain/voice/call-minutes.ts"
import type { OfferedCall } from "../../domain/voice/call-state.ts"
import { callDecider } from "../../domain/voice/call.ts"
import { callInstructionsOf } from "../../domain/voice/call-instructions.ts"
import type { CallId } from "../../domain/kernel/calls.ts"
import type { KeyedHash, SealedText } from "../../domain/kernel/ids.ts"
import type { CallSettings } from "../../domain/phone/number-settings.ts"
import type { SlotCommand } from "../../domain/kernel/slots.ts"
import { MAX_CONCURRENT_CALLS, MAX_CALLS_PER_CALLER } from "../../domain/voice/aggregates.ts"
import { deciderSession } from "../support/decider-spec.ts"
import { DEFAULT_NUMBER_SETTINGS } from "../../domain/phone/number-settings.ts"

/** The call in all commands. */
export const CALL_ID: CallId = "call_0001"
/** When the call is offered. */
export const NOW = Date.UTC(2026, 10, 25, 10)

const sealed = (text: string): SealedText => `s1.company.${text}`
const { label: _label, optOutReply: _reply, ...DEFAULT_SETTINGS } = DEFAULT_NUMBER_SETTINGS

/** Settings that ring `count` phones. */
export function ringingSettings(count: number, others: Partial<CallSettings> = {}): CallSettings {
  const ringTo = Array.from({ length: count }, (_, i) => ({ phone: sealed(`p${i}`), name: null }))
  return { ...DEFAULT_SETTINGS, ringTo, ...others }
}

/** A call to a number with these settings. */
export function offerCallCommand(
  settings: CallSettings = ringingSettings(2),
  others: Partial<OfferCall> = {},
): OfferCall {
  return {
    type: "OfferCall",
    callId: CALL_ID,
    numberId: "num_0001",
    to: sealed("to"),
    from: sealed("from"),
    callerTag: "ab".repeat(16) as KeyedHash,
    settings,
    carrierRef: "v3:ref",
    startedAt: NOW,
    attestation: null,
    minuteMicros: 12_000,
    legMicros: settings.ringTo.map(() => 12_000),
    priceVersion: 1,
    rejectReason: null,
    ...others,
  }
}

const callId = CALL_ID
/** A minute is paid, by default the first. */
export const minutePaidCommand = (minute = 1): CallCommand => ({
  type: "PayMinute",
  callId,
  minute,
})
/** A minute is refused, by default the first. */
export const minuteRefusedCommand = (minute = 1): CallCommand => ({
  type: "RefuseMinute",
  callId,
  minute,
})
/** A minute may begin. */
export const beginMinuteCommand = (minute: number, isCallerPresent = true): CallCommand => {
  return { type: "StartMinute", callId, minute, isCallerPresent }
}
/** A leg is answered; 0 is the caller's. */
export const legOpenCommand = (leg: number, answeredAt = NOW + 5_000): CallCommand => {
  return { type: "AnswerLeg", callId, leg, answeredAt, ref: null }
}
/** A leg has ended. */
export const legGoneCommand = (
  leg: number,
  goneAt = NOW + 9_000,
  answeredAt: number | null = null,
) => {
  return { type: "EndLeg", callId, leg, goneAt, answeredAt } as const
}
/** Keys are pressed on a leg. */
export const pressKeysCommand = (leg: number, digits = "1"): CallCommand => {
  return { type: "PressDigits", callId, leg, digits }
}
/** A prompt was played to its end on a leg. */
export const promptPlayedCommand = (leg: number): CallCommand => ({
  type: "FinishPlayback",
  callId,
  leg,
})
/** The carrier has a recording. */
export const recordingReadyCommand = (kind: "call" | "voicemail", seconds = 5): CallCommand => {
  return { type: "RecordAudioAvailable", callId, kind, seconds, carrierRef: `ref-${kind}` }
}

/** A call that executes commands and collects their facts. */
export function callUnderTest(settings: CallSettings | null = null) {
  const { ask, facts, state } = deciderSession(callDecider)
  let now = NOW
  const execute = (command: CallCommand, at = now): readonly CallEvent[] | string => {
    now = Math.max(now, at)
    return ask(command, now)
  }
  /** Expires the newest deadline of this name. */
  const expireDeadline = (name: string): readonly CallEvent[] | string => {
    const found = facts.map(callDeadlineOf).findLast((one) => one?.of === name)
    if (found === undefined || found === null) throw new Error(`no deadline ${name} was set`)
    return execute({ type: "ExpireDeadline", callId, ...found }, found.deadlineAt)
  }
  const live = (): OfferedCall => {
    const { call } = state()
    if (call === null) throw new Error("there is no call")
    return call
  }
  if (settings !== null) execute(offerCallCommand(settings))
  return {
    execute,
    expireDeadline,
    facts,
    live,
    state,
    minutes: () => callMinutesOf(live()),
    types: () => facts.map(({ type }) => type),
    /** Instructions to the carrier, as `dial 1`. */
    instructions: () => facts.flatMap(callInstructionsOf).map(({ word, leg }) => `${word} ${leg}`),
  }
}

const leg = fc.integer({ min: 0, max: 3 })
const later = fc.nat(200_000).map((ms) => NOW + ms)
const commandAfterOffer = fc.oneof(
  fc
    .constantFrom(1, 1, 2, 3)
    .chain((minute) =>
      fc.constantFrom<CallCommand>(
        minutePaidCommand(minute),
        minutePaidCommand(minute),
        minuteRefusedCommand(minute),
        beginMinuteCommand(minute),
      ),
    ),
  fc.tuple(leg, later).map(([n, at]) => legOpenCommand(n, at)),
  fc.tuple(leg, later).map(([n, at]): CallCommand => legGoneCommand(n, at)),
  fc
    .tuple(leg, fc.constantFrom("1", "2", "11", "1#"))
    .map(([n, digits]) => pressKeysCommand(n, digits)),
  leg.map(promptPlayedCommand),
  leg.map((n): CallCommand => ({ type: "EndDigitPrompt", callId, leg: n })),
  leg.map((n): CallCommand => ({ type: "MarkLegDialed", callId, leg: n, ref: `ref-${n}` })),
  fc.constantFrom<CallCommand>(recordingReadyCommand("call"), recordingReadyCommand("voicemail"), {
    type: "AssumeCallerHungUp",
    callId,
  }),
)

const settings = fc.constantFrom(
  ringingSettings(0),
  ringingSettings(2),
  ringingSettings(2, { screenCalls: false, ringMode: "order" }),
  ringingSettings(1, { screenCalls: false, recordCalls: true, voicemail: false }),
)

/** A random command for a call, which may offer it. */
export const callCommand: fc.Arbitrary<CallCommand> = fc.oneof(
  { weight: 1, arbitrary: settings.map((one): CallCommand => offerCallCommand(one)) },
  { weight: 6, arbitrary: commandAfterOffer },
)

const anyCall = fc.constantFrom<CallId>("call_1", "call_2", "call_3")
const anyTag = fc.constantFrom("aa" as KeyedHash, "bb" as KeyedHash)

/** A random command for the call slots of a company. */
export const callSlotCommand: fc.Arbitrary<SlotCommand<CallId>> = fc.oneof(
  fc.tuple(anyCall, anyTag).map(([holderId, tag]) => {
    const caller = { tag, maxSlots: MAX_CALLS_PER_CALLER }
    return { type: "ReserveSlot", holderId, maxSlots: MAX_CONCURRENT_CALLS, caller } as const
  }),
  anyCall.map((holderId) => ({ type: "ReleaseSlot", holderId }) as const),
)
