/**
 * The recordings of a company's calls.
 *
 * Stream `recordings-<companyId>`: up to two events per call, as many deletions, and one per night. The charged
 * minutes are counted from this state and not from a read model. The state has the stored recordings and the
 * deletions that are recent enough to matter; a checkpoint bounds the time to load it.
 */
import type { CheckpointFormat, Decider, DecisionStamp } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import { dayStart } from "../kernel/window.ts"
import type { RetentionDays, RecordingEvent, RecordingFact } from "./recording-events.ts"
import type { CallId, AudioKind } from "../kernel/calls.ts"

const DAY_MS = 86_400_000

/**
 * Audio of older calls is not stored. Deletions are remembered as long, so a deleted recording is never stored
 * again.
 */
export const RECORDING_ACCEPT_WINDOW_MS = 30 * DAY_MS

/** Upper bound for the difference between the carrier's clock and ours. */
const MAX_CLOCK_SKEW_MS = DAY_MS

type Command<T extends RecordingEvent["type"], Type extends string> = {
  readonly type: Type
} & Omit<RecordingFact<T>, "type" | "at">

/** Stores a recording. Records nothing if the call's recording of this kind is stored or was deleted. */
export type StoreRecording = Command<"RecordingStored", "StoreRecording">
/** Deletes recordings of a call. Skips those that are neither stored nor may still arrive. */
export interface DeleteRecordings {
  readonly type: "DeleteRecordings"
  readonly callId: CallId
  readonly kinds: readonly AudioKind[]
  /** The kinds that the carrier has and may still deliver. */
  readonly availableKinds: readonly AudioKind[]
  readonly calledAt: number
}
/** Sets the retention period. Idempotent. */
export interface SetRetention {
  readonly type: "SetRetention"
  readonly days: RetentionDays
}
/** Deletes up to `maxCount` recordings that had expired at the end of a day. */
export interface DeleteExpiredRecordings {
  readonly type: "DeleteExpiredRecordings"
  readonly day: number
  readonly maxCount: number
}
/** Counts the minutes stored during a day. Records nothing if it or a later day was counted. */
export interface CountStoredMinutes {
  readonly type: "CountStoredMinutes"
  readonly day: number
}
/** Deletes up to `maxCount` recordings of an erased company. */
export interface EraseRecordings {
  readonly type: "EraseRecordings"
  readonly maxCount: number
}

export type RecordingCommand =
  | StoreRecording
  | DeleteRecordings
  | SetRetention
  | DeleteExpiredRecordings
  | CountStoredMinutes
  | EraseRecordings

export interface RecordingRefused {
  readonly type: "RecordingRefused"
  readonly at: number
  readonly code: "too_late" | "day_not_over"
  readonly message: string
}

export type StoredRecording = Omit<RecordingFact<"RecordingStored">, "type" | "at"> & {
  readonly keptAt: number
}

interface State {
  /** By call and kind, oldest first. */
  readonly held: Map<string, StoredRecording>
  /** By call and kind, until when a recording could still arrive; oldest deletion first. */
  readonly deleted: Map<string, number>
  days: RetentionDays
  countedDay: number | null
}

/** The state of a company's recordings. Only the functions of this file access its fields. */
export type RecordingsState = State

/** The rules of recordings. */
export const recordingsDecider: Decider<
  RecordingCommand,
  RecordingsState,
  RecordingEvent,
  RecordingRefused
> = {
  initial: () => ({ held: new Map(), deleted: new Map(), days: null, countedDay: null }),
  decide,
  evolve,
}

const recordingKey = (callId: CallId, kind: AudioKind): string => `${callId} ${kind}`

function decide(
  command: RecordingCommand,
  state: RecordingsState,
  { at }: DecisionStamp,
): readonly RecordingEvent[] | RecordingRefused {
  switch (command.type) {
    case "StoreRecording":
      return storeRecording(command, state, at)
    case "DeleteRecordings": {
      const kinds = [...new Set(command.kinds)].filter((kind) =>
        canBeDeleted(state, command, kind, at),
      )
      const recordings = kinds.map((kind) => ({ callId: command.callId, kind }))
      return deletedEvents(recordings, "requested", at)
    }
    case "SetRetention":
      return command.days === state.days ? [] : [{ ...command, type: "RetentionSet", at }]
    case "DeleteExpiredRecordings": {
      if (at < endOf(command.day)) return refuse("day_not_over", at)
      return deletedEvents(
        takeMatching(state, command.maxCount, isExpiredAt(state, endOf(command.day))),
        "retention",
        at,
      )
    }
    case "CountStoredMinutes":
      return count(command, state, at)
    case "EraseRecordings":
      return deletedEvents(
        takeMatching(state, command.maxCount, () => true),
        "erased",
        at,
      )
    default:
      return unreachable(command)
  }
}

function storeRecording(
  { type: _type, ...audio }: StoreRecording,
  { held, deleted }: RecordingsState,
  at: number,
): readonly RecordingEvent[] | RecordingRefused {
  const name = recordingKey(audio.callId, audio.kind)
  if (held.has(name) || deleted.has(name)) return []
  return at - audio.calledAt < RECORDING_ACCEPT_WINDOW_MS
    ? [{ ...audio, type: "RecordingStored", at }]
    : refuse("too_late", at)
}

/**
 * Whether a recording is stored or may still arrive; in the latter case the deletion is remembered, so that it is
 * not stored then.
 */
function canBeDeleted(
  state: RecordingsState,
  { callId, availableKinds, calledAt }: DeleteRecordings,
  kind: AudioKind,
  at: number,
): boolean {
  const status = recordingStatusOf(state, callId, kind)
  if (status !== "never came") return status === "held"
  const ageMs = at - calledAt
  return (
    availableKinds.includes(kind) &&
    ageMs < RECORDING_ACCEPT_WINDOW_MS &&
    ageMs > -MAX_CLOCK_SKEW_MS
  )
}

function deletedEvents(
  audio: readonly Pick<StoredRecording, "callId" | "kind">[],
  reason: RecordingFact<"RecordingDeleted">["reason"],
  at: number,
): readonly RecordingEvent[] {
  return audio.map(({ callId, kind }) => ({ type: "RecordingDeleted", at, callId, kind, reason }))
}

function count(
  { day }: CountStoredMinutes,
  { held, countedDay }: RecordingsState,
  at: number,
): readonly RecordingEvent[] | RecordingRefused {
  if (at < endOf(day)) return refuse("day_not_over", at)
  if (countedDay !== null && day <= countedDay) return []
  const stored = [...held.values()].filter(({ keptAt }) => keptAt < endOf(day))
  if (stored.length === 0) return []
  const minutes = stored.reduce((sum, { seconds }) => sum + Math.ceil(seconds / 60), 0)
  return [{ type: "StoredMinutesCounted", at, day, minutes }]
}

const MESSAGES: Readonly<Record<RecordingRefused["code"], string>> = {
  too_late: "The call is more than 30 days old; its recording can no longer be stored.",
  day_not_over: "This day has not ended; try again after midnight UTC.",
}

function refuse(code: RecordingRefused["code"], at: number): RecordingRefused {
  return { type: "RecordingRefused", at, code, message: MESSAGES[code] }
}

const endOf = (day: number): number => day + DAY_MS

function isExpiredAt({ days }: RecordingsState, at: number): (audio: StoredRecording) => boolean {
  if (days === null) return () => false
  const retentionMs = days * DAY_MS
  return ({ calledAt }) => at - calledAt >= retentionMs
}

function takeMatching(
  { held }: RecordingsState,
  maxCount: number,
  matches: (audio: StoredRecording) => boolean,
): readonly StoredRecording[] {
  const taken: StoredRecording[] = []
  for (const audio of held.values()) {
    if (taken.length >= maxCount) break
    if (matches(audio)) taken.push(audio)
  }
  return taken
}

function evolve(state: RecordingsState, event: RecordingEvent): RecordingsState {
  switch (event.type) {
    case "RecordingStored": {
      const { type: _type, at: keptAt, ...audio } = event
      state.held.set(recordingKey(audio.callId, audio.kind), { ...audio, keptAt })
      return state
    }
    case "RecordingDeleted": {
      const name = recordingKey(event.callId, event.kind)
      const calledAt = state.held.get(name)?.calledAt ?? event.at + MAX_CLOCK_SKEW_MS
      state.held.delete(name)
      // The carrier's clock may be ahead of ours.
      state.deleted.set(name, Math.max(event.at, calledAt) + RECORDING_ACCEPT_WINDOW_MS)
      for (const [other, until] of state.deleted) {
        if (event.at < until) break
        state.deleted.delete(other)
      }
      return state
    }
    case "RetentionSet":
      state.days = event.days as RetentionDays
      return state
    case "StoredMinutesCounted":
      state.countedDay = event.day
      return state
    default:
      return unreachable(event)
  }
}

/** The checkpoint format of recordings. */
export const recordingsCheckpoint: CheckpointFormat<RecordingsState> = {
  version: 1,
  save: ({ held, deleted, days, countedDay }) => ({
    held: [...held.values()],
    deleted: [...deleted],
    days,
    countedDay,
  }),
  load: (saved) => {
    const { held, deleted, ...rest } = saved as {
      readonly held: readonly StoredRecording[]
      readonly deleted: readonly (readonly [string, number])[]
      readonly days: RetentionDays
      readonly countedDay: number | null
    }
    const entries = held.map((audio) => [recordingKey(audio.callId, audio.kind), audio] as const)
    return { ...rest, held: new Map(entries), deleted: new Map(deleted) }
  },
}

/** Estimates the memory of a company's recordings in bytes. */
export function recordingsBytes({ held, deleted }: RecordingsState): number {
  return 1_000 + held.size * 300 + deleted.size * 100
}

/** Returns whether a call's recording is held, was deleted, or never arrived. */
export function recordingStatusOf(
  state: RecordingsState,
  callId: CallId,
  kind: AudioKind,
): "held" | "deleted" | "never came" {
  const name = recordingKey(callId, kind)
  if (state.held.has(name)) return "held"
  return state.deleted.has(name) ? "deleted" : "never came"
}

/** Finds the stored recording of a call; null if there is none. */
export function findStoredRecording(
  state: RecordingsState,
  callId: CallId,
  kind: AudioKind,
): StoredRecording | null {
  return state.held.get(recordingKey(callId, kind)) ?? null
}

/** Returns the retention period in days. */
export function retentionDaysOf({ days }: RecordingsState): RetentionDays {
  return days
}

/** Returns the first day whose minutes must be counted; null without recordings. */
export function nextDayToCount({ held, countedDay }: RecordingsState): number | null {
  const [first] = held.values()
  if (first === undefined) return null
  // Recordings are in the order of their events, so the first is the oldest.
  const day = dayStart(first.keptAt)
  return countedDay === null ? day : Math.max(day, countedDay + DAY_MS)
}
