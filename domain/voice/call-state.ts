/** How a call stands by its facts. */
import type { CheckpointFormat } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type { AudioKind, CallEvent, CallFact, CallEndReason, CallOutcome } from "./call-events.ts"
import type { CallDeadlineName } from "./call-commands.ts"
import { callDeadlineOf } from "./call-commands.ts"

/** How far a call has come. */
export type CallPhase =
  "paying" | "ringing" | "accepted" | "talking" | "greeting" | "voicemail" | "ended"

/** The leg of somebody who is called. */
export interface CallLeg {
  readonly leg: number
  ref: string | null
  answeredAt: number | null
  /** Until when they may press 1; null where they were not asked. */
  askedUntil: number | null
  isDropped: boolean
  goneAt: number | null
}

/** A recording that the carrier has. */
interface Audio {
  readonly seconds: number
  readonly carrierRef: string
}

/** A call that was offered. */
export interface OfferedCall {
  readonly offered: Omit<CallFact<"CallOffered">, "type">
  phase: CallPhase
  /** Those that were ever called, in that order. */
  legs: CallLeg[]
  /** Since when phones ring; null before. */
  ringingSince: number | null
  /** Who took it. */
  acceptedLeg: number | null
  /** What the phase waits for; a leg that was asked has a deadline of its own. */
  deadline: { readonly of: CallDeadlineName; readonly untilAt: number } | null
  /** Whether the caller's leg was ever to be opened. */
  isToAnswer: boolean
  /** The carrier's times of the caller's leg. */
  answeredAt: number | null
  goneAt: number | null
  /** Whether a notice or a greeting is being said. */
  isSaying: boolean
  /** The legs that heard it. */
  heard: number[]
  /** How many minutes have begun, are paid, and are known to have been lasted into. */
  begun: number
  paid: number
  seen: number
  /** The minute that was refused. */
  refused: number | null
  outcome: CallOutcome | null
  reason: CallEndReason | null
  endedAt: number | null
  audio: { call: Audio | null; voicemail: Audio | null }
  /** When anything was last recorded of it. */
  lastAt: number
  /** When the carrier last said something by which the caller was there, by the ledger's clock. */
  heardAt: number
}

/** A call; null before it was offered. Only the functions of this folder look inside. */
export interface CallState {
  call: OfferedCall | null
  /** When the caller went, where that was heard before the call was. */
  goneEarly: number | null
}

/** How a call stands, as others may keep it; null where it was never offered. */
export function offeredCallOf({ call }: CallState): OfferedCall | null {
  if (call === null) return null
  return { ...call, legs: call.legs.map((leg) => ({ ...leg })), heard: [...call.heard] }
}

/** A call of which nothing was heard. */
export const initialCall = (): CallState => ({ call: null, goneEarly: null })

/** Whether a leg rings, is asked or talks, and nobody has hung it up. */
export function isLegActive({ isDropped, goneAt }: CallLeg): boolean {
  return !isDropped && goneAt === null
}

/** The leg of this number; undefined where it was never called. */
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

/** Folds a fact. */
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

/** Whether a fact comes of the carrier's word, and the caller was there at it. */
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
      // Whoever is there now was there in the minute before: this one has only just begun.
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

function drop(call: OfferedCall, drops: readonly number[]): void {
  for (const one of call.legs) if (drops.includes(one.leg)) one.isDropped = true
}

/** Somebody spoke on a voicemail although the call had ended as missed by then. */
function saveAudio(
  call: OfferedCall,
  { kind, seconds, carrierRef }: CallFact<"RecordingAvailable"> & { readonly kind: AudioKind },
): void {
  call.audio = { ...call.audio, [kind]: { seconds, carrierRef } }
  if (isVoicemailLeft(kind, seconds) && call.outcome === "missed") call.outcome = "voicemail"
}

/** Whether a recording is a voicemail that somebody left. */
export function isVoicemailLeft(kind: AudioKind, seconds: number): boolean {
  return kind === "voicemail" && seconds >= 1
}

/** How a call is kept beside its stream. */
export const callCheckpoint: CheckpointFormat<CallState> = {
  version: 1,
  save: (state) => state,
  load: (saved) => {
    const { goneEarly } = saved as CallState
    return { call: offeredCallOf(saved as CallState), goneEarly }
  },
}

/** What a call takes in memory, in bytes, about. */
export function callBytes({ call }: CallState): number {
  return call === null ? 300 : 3_000 + call.legs.length * 300
}
