/** The state of a call, and how events change it. */
import type { CheckpointFormat } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type { CallEvent, CallFact, CallEndReason, CallOutcome } from "./call-events.ts"
import type { AudioKind } from "../kernel/calls.ts"
import type { CallDeadlineName } from "./call-commands.ts"
import { callDeadlineOf } from "./call-commands.ts"

export type CallPhase =
  "paying" | "ringing" | "accepted" | "talking" | "greeting" | "voicemail" | "ended"

export interface CallLeg {
  readonly leg: number
  ref: string | null
  answeredAt: number | null
  /** Until when 1 can be pressed; null if the leg was not prompted. */
  askedUntil: number | null
  isDropped: boolean
  goneAt: number | null
}

interface Audio {
  readonly seconds: number
  readonly carrierRef: string
}

export interface OfferedCall {
  readonly offered: Omit<CallFact<"CallOffered">, "type">
  phase: CallPhase
  /** The legs that were called, in that order. */
  legs: CallLeg[]
  /** Since when phones ring; null before. */
  ringingSince: number | null
  acceptedLeg: number | null
  /** The deadline of the phase; a prompted leg has its own. */
  deadline: { readonly of: CallDeadlineName; readonly untilAt: number } | null
  /** Whether the caller's leg was ever instructed to be answered. */
  isToAnswer: boolean
  /** Times of the caller's leg by the carrier's clock. */
  answeredAt: number | null
  goneAt: number | null
  isSaying: boolean
  /** The legs that have heard it. */
  heard: number[]
  /** Minutes that started, that are paid, and that are known to have been reached. */
  begun: number
  paid: number
  seen: number
  refused: number | null
  outcome: CallOutcome | null
  reason: CallEndReason | null
  endedAt: number | null
  audio: { call: Audio | null; voicemail: Audio | null }
  lastAt: number
  /** When a report of the carrier last proved the caller present, by the ledger's clock. */
  heardAt: number
}

/** A call; null before it was offered. Only the functions of this folder access its fields. */
export interface CallState {
  call: OfferedCall | null
  /** When the caller hung up, if that was reported before the call itself. */
  goneEarly: number | null
}

/** Returns a copy of the call; null if it was never offered. */
export function offeredCallOf({ call }: CallState): OfferedCall | null {
  if (call === null) return null
  return { ...call, legs: call.legs.map((leg) => ({ ...leg })), heard: [...call.heard] }
}

/** Returns the state of a call before its first event. */
export const initialCall = (): CallState => ({ call: null, goneEarly: null })

/** Whether a leg rings, is prompted or talks, and we have not hung it up. */
export function isLegActive({ isDropped, goneAt }: CallLeg): boolean {
  return !isDropped && goneAt === null
}

/** Finds a leg by number; undefined if it was never called. */
export function findLeg({ legs }: Pick<OfferedCall, "legs">, leg: number): CallLeg | undefined {
  return legs.find((one) => one.leg === leg)
}

function newOfferedCall(offered: CallFact<"CallOffered">, goneEarly: number | null): OfferedCall {
  const { type: _type, ...rest } = offered
  return {
    offered: rest,
    phase: "paying",
    legs: [],
    ringingSince: null,
    acceptedLeg: null,
    deadline: null,
    isToAnswer: false,
    answeredAt: null,
    goneAt: goneEarly,
    isSaying: false,
    heard: [],
    begun: 0,
    paid: 0,
    seen: 0,
    refused: null,
    outcome: null,
    reason: null,
    endedAt: null,
    audio: { call: null, voicemail: null },
    lastAt: offered.at,
    heardAt: offered.at,
  }
}

function newLeg(leg: number): CallLeg {
  return { leg, ref: null, answeredAt: null, askedUntil: null, isDropped: false, goneAt: null }
}

/** Applies an event to the state. */
export function evolveCallState(state: CallState, event: CallEvent): CallState {
  if (event.type === "CallOffered") {
    state.call = newOfferedCall(event, state.goneEarly)
    return state
  }
  const { call } = state
  if (call === null) {
    if (event.type === "CallerHungUp") state.goneEarly = event.goneAt
    return state
  }
  call.lastAt = event.at
  if (provesCallerPresent(event)) call.heardAt = event.at
  const deadline = callDeadlineOf(event)
  if (deadline !== null && deadline.of !== "ask") {
    call.deadline = { of: deadline.of, untilAt: deadline.deadlineAt }
  }
  if ("leg" in event) evolveLeg(call, event)
  else evolveCall(call, event)
  return state
}

/** Whether an event comes from a report that proves the caller present. */
function provesCallerPresent(event: CallEvent): boolean {
  switch (event.type) {
    case "LegDialed":
    case "LegAnswered":
    case "LegEnded":
    case "CallAccepted":
    case "CallerAnswered":
    case "LegPromptPlayed":
    case "GreetingPlayed":
      return true
    case "CallMinuteStarted":
      return event.isCallerPresent
    case "CallOffered":
    case "CallMinutePaid":
    case "CallMinuteRefused":
    case "LegsDialed":
    case "LegPrompted":
    case "LegHungUp":
    case "RecordingNoticeStarted":
    case "CallBridged":
    case "GreetingStarted":
    case "VoicemailStarted":
    case "CallerHungUp":
    case "CallEnded":
    case "RecordingAvailable":
      return false
  }
}

type LegEvent = Extract<CallEvent, { readonly leg: number }>

function evolveLeg(call: OfferedCall, event: LegEvent): void {
  const leg = findLeg(call, event.leg)
  switch (event.type) {
    case "LegDialed":
      if (leg !== undefined) leg.ref ??= event.ref
      return
    case "LegAnswered":
      if (leg === undefined) return
      leg.answeredAt = event.answeredAt
      leg.ref ??= event.ref
      return
    case "LegPrompted":
      if (leg !== undefined) leg.askedUntil = event.deadlineAt
      return
    case "LegHungUp":
      if (leg !== undefined) leg.isDropped = true
      return
    case "LegEnded":
      if (leg !== undefined) leg.goneAt = event.goneAt
      return
    case "CallAccepted":
      Object.assign(call, { phase: "accepted", acceptedLeg: event.leg, isToAnswer: true })
      drop(call, event.hangUpLegs)
      return
    case "RecordingNoticeStarted":
      call.isSaying = true
      return
    case "LegPromptPlayed":
      call.heard.push(event.leg)
      return
    case "CallBridged":
      call.phase = "talking"
      call.isSaying = false
      return
    default:
      return unreachable(event)
  }
}

function evolveCall(
  call: OfferedCall,
  event: Exclude<CallEvent, LegEvent | { readonly type: "CallOffered" }>,
): void {
  switch (event.type) {
    case "CallMinuteStarted":
      call.begun = event.minute
      // A caller who is present now was present in the minute before; this minute has only just started.
      if (event.isCallerPresent) call.seen = Math.max(call.seen, event.minute - 1)
      return
    case "CallMinutePaid":
      call.paid = event.minute
      return
    case "CallMinuteRefused":
      call.refused = event.minute
      return
    case "LegsDialed":
      call.phase = "ringing"
      call.ringingSince ??= event.at
      call.legs.push(...event.legs.map(newLeg))
      return
    case "CallerAnswered":
      call.answeredAt = event.answeredAt
      return
    case "GreetingStarted":
      Object.assign(call, { phase: "greeting", isToAnswer: true })
      return
    case "GreetingPlayed":
      call.isSaying = true
      return
    case "VoicemailStarted":
      Object.assign(call, { phase: "voicemail", isSaying: false })
      return
    case "CallerHungUp":
      call.goneAt = event.goneAt
      return
    case "CallEnded":
      Object.assign(call, { phase: "ended", outcome: event.outcome, reason: event.reason })
      Object.assign(call, { endedAt: event.at, deadline: null })
      drop(call, event.hangUpLegs)
      return
    case "RecordingAvailable":
      saveAudio(call, event)
      return
    default:
      return unreachable(event)
  }
}

function drop(call: OfferedCall, dropped: readonly number[]): void {
  for (const leg of call.legs) if (dropped.includes(leg.leg)) leg.isDropped = true
}

/** A voicemail may turn up after the call had ended as missed. */
function saveAudio(
  call: OfferedCall,
  { kind, seconds, carrierRef }: CallFact<"RecordingAvailable"> & { readonly kind: AudioKind },
): void {
  call.audio = { ...call.audio, [kind]: { seconds, carrierRef } }
  if (isVoicemailLeft(kind, seconds) && call.outcome === "missed") call.outcome = "voicemail"
}

/** Whether a recording is a voicemail that is not empty. */
export function isVoicemailLeft(kind: AudioKind, seconds: number): boolean {
  return kind === "voicemail" && seconds >= 1
}

/** The checkpoint format of a call. */
export const callCheckpoint: CheckpointFormat<CallState> = {
  version: 1,
  save: (state) => state,
  load: (saved) => {
    const { goneEarly } = saved as CallState
    return { call: offeredCallOf(saved as CallState), goneEarly }
  },
}

/** Estimates the memory of a call in bytes. */
export function callBytes({ call }: CallState): number {
  return call === null ? 300 : 3_000 + call.legs.length * 300
}
