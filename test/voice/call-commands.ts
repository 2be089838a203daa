/** A call to be told one thing after the other, and commands as tests mostly want them. */
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

/** The call that all of it is about. */
export const CALL_ID: CallId = "call_0001"
/** When it comes. */
export const NOW = Date.UTC(2026, 10, 25, 10)

const sealed = (text: string): SealedText => `s1.company.${text}`
const { label: _label, optOutReply: _reply, ...DEFAULT_SETTINGS } = DEFAULT_NUMBER_SETTINGS

/** Settings that ring so many phones. */
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
/** The first minute, or another one, is paid. */
export const minutePaidCommand = (minute = 1): CallCommand => ({
  type: "PayMinute",
  callId,
  minute,
})
/** It is refused. */
export const minuteRefusedCommand = (minute = 1): CallCommand => ({
  type: "RefuseMinute",
  callId,
  minute,
})
/** A minute may begin. */
export const beginMinuteCommand = (minute: number, isSeen = true): CallCommand => {
  return { type: "StartMinute", callId, minute, isCallerPresent: isSeen }
}
/** A leg is open; 0 is the caller's. */
export const legOpenCommand = (leg: number, answeredAt = NOW + 5_000): CallCommand => {
  return { type: "AnswerLeg", callId, leg, answeredAt, ref: null }
}
/** A leg is gone. */
export const legGoneCommand = (
  leg: number,
  goneAt = NOW + 9_000,
  answeredAt: number | null = null,
) => {
  return { type: "EndLeg", callId, leg, goneAt, answeredAt } as const
}
/** Somebody pressed keys. */
export const pressKeysCommand = (leg: number, digits = "1"): CallCommand => {
  return { type: "PressDigits", callId, leg, digits }
}
/** A leg heard what it was told. */
export const promptPlayedCommand = (leg: number): CallCommand => ({
  type: "FinishPlayback",
  callId,
  leg,
})
/** The carrier has a recording. */
export const recordingReadyCommand = (kind: "call" | "voicemail", seconds = 5): CallCommand => {
  return { type: "RecordAudioAvailable", callId, kind, seconds, carrierRef: `ref-${kind}` }
}

/** A call that answers what it is told with facts. */
export function callUnderTest(settings: CallSettings | null = null) {
  const { ask, facts, state } = deciderSession(callDecider)
  let now = NOW
  const tell = (command: CallCommand, at = now): readonly CallEvent[] | string => {
    now = Math.max(now, at)
    return ask(command, now)
  }
  /** Passes the deadline that was set last of these. */
  const pass = (of: string): readonly CallEvent[] | string => {
    const found = facts.map(callDeadlineOf).findLast((one) => one?.of === of)
    if (found === undefined || found === null) throw new Error(`no deadline ${of} was set`)
    return tell({ type: "ExpireDeadline", callId, ...found }, found.deadlineAt)
  }
  const live = (): OfferedCall => {
    const { call: known } = state()
    if (known === null) throw new Error("there is no call")
    return known
  }
  if (settings !== null) tell(offerCallCommand(settings))
  return {
    tell,
    pass,
    facts,
    live,
    state,
    minutes: () => callMinutesOf(live()),
    types: () => facts.map(({ type }) => type),
    /** What the carrier was to do, by words and legs. */
    words: () => facts.flatMap(callInstructionsOf).map(({ word, leg }) => `${word} ${leg}`),
  }
}

const leg = fc.integer({ min: 0, max: 3 })
const later = fc.nat(200_000).map((ms) => NOW + ms)
const anyOf = fc.oneof(
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

/** Anything that a call can be told; the call itself among them, so that most find one. */
export const callCommand: fc.Arbitrary<CallCommand> = fc.oneof(
  { weight: 1, arbitrary: settings.map((one): CallCommand => offerCallCommand(one)) },
  { weight: 6, arbitrary: anyOf },
)

const anyCall = fc.constantFrom<CallId>("call_1", "call_2", "call_3")
const anyTag = fc.constantFrom("aa" as KeyedHash, "bb" as KeyedHash)

/** Anything that can be asked of the slots of a company. */
export const callSlotCommand: fc.Arbitrary<SlotCommand<CallId>> = fc.oneof(
  fc.tuple(anyCall, anyTag).map(([holderId, tag]) => {
    const caller = { tag, maxSlots: MAX_CALLS_PER_CALLER }
    return { type: "ReserveSlot", holderId, maxSlots: MAX_CONCURRENT_CALLS, caller } as const
  }),
  anyCall.map((holderId) => ({ type: "ReleaseSlot", holderId }) as const),
)
