/**
 * The audio of a company's calls.
 *
 * Stream `recordings-<companyId>`: up to two facts a call, as many that delete, and one a night. What is
 * charged for keeping is folded here, at a revision, and read from no read model. The state is the audio
 * that is held, and what was deleted within the time in which it could be brought once more; a checkpoint
 * bounds the time to load it.
 */
import type { CheckpointFormat, Decider, DecisionStamp } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import { dayStart } from "../kernel/window.ts"
import type {
  CallId,
  AudioKind,
  RetentionDays,
  RecordingEvent,
  RecordingFact,
} from "./recording-events.ts"

const DAY_MS = 86_400_000

/**
 * Audio of a call that is older is not kept any more. A deletion is remembered for as long, so what was
 * deleted never comes back, whoever brings it once more.
 */
export const RECORDING_ACCEPT_WINDOW_MS = 30 * DAY_MS

/** The clocks of those who say when a call began and when its audio is deleted differ by less. */
const MAX_CLOCK_SKEW_MS = DAY_MS

type Command<T extends RecordingEvent["type"], Type extends string> = {
  readonly type: Type
} & Omit<RecordingFact<T>, "type" | "at">

/** Keeps audio. The same call's of this kind again, also one that was deleted since: nothing new. */
export type StoreRecording = Command<"RecordingStored", "StoreRecording">
/** Deletes audio of a call. What is neither held nor on its way: nothing new. */
export interface DeleteRecordings {
  readonly type: "DeleteRecordings"
  readonly callId: CallId
  readonly kinds: readonly AudioKind[]
  /** What the carrier has of the call, and may still be brought. */
  readonly availableKinds: readonly AudioKind[]
  /** When the call began. */
  readonly calledAt: number
}
/** Says for how long audio is kept. The same again: nothing new. */
export interface SetRetention {
  readonly type: "SetRetention"
  readonly days: RetentionDays
}
/** Deletes what was old enough at the end of a day, up to so many. None: nothing new. */
export interface DeleteExpiredRecordings {
  readonly type: "DeleteExpiredRecordings"
  readonly day: number
  readonly maxCount: number
}
/** Counts the minutes kept over a day. One that was counted, or one behind it: nothing new. */
export interface CountStoredMinutes {
  readonly type: "CountStoredMinutes"
  readonly day: number
}
/** Deletes whatever there is of an erased company, up to so many. None: nothing new. */
export interface EraseRecordings {
  readonly type: "EraseRecordings"
  readonly maxCount: number
}

/** What can be asked of a company's audio. */
export type RecordingCommand =
  | StoreRecording
  | DeleteRecordings
  | SetRetention
  | DeleteExpiredRecordings
  | CountStoredMinutes
  | EraseRecordings

/** A command was refused. */
export interface RecordingRefused {
  readonly type: "RecordingRefused"
  readonly at: number
  readonly code: "too_late" | "day_not_over"
  readonly message: string
}

/** Audio that is held. */
export type StoredRecording = Omit<RecordingFact<"RecordingStored">, "type" | "at"> & {
  readonly keptAt: number
}

interface State {
  /** By call and kind, the longest held first. */
  readonly held: Map<string, StoredRecording>
  /** By call and kind, from when on nothing of it can be brought; the first that was deleted first. */
  readonly deleted: Map<string, number>
  days: RetentionDays
  /** The last day that was counted. */
  countedDay: number | null
}

/** A company's audio. Only the functions of this file look inside. */
export type RecordingsState = State

/** The rules of audio. */
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
      const named = kinds.map((kind) => ({ callId: command.callId, kind }))
      return deletedEvents(named, "requested", at)
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
  { held, deleted: gone }: RecordingsState,
  at: number,
): readonly RecordingEvent[] | RecordingRefused {
  const name = recordingKey(audio.callId, audio.kind)
  if (held.has(name) || gone.has(name)) return []
  return at - audio.calledAt < RECORDING_ACCEPT_WINDOW_MS
    ? [{ ...audio, type: "RecordingStored", at }]
    : refuse("too_late", at)
}

/** Whether audio is held, or may still be brought: then its deletion is remembered, so that it never is. */
function canBeDeleted(
  state: RecordingsState,
  { callId, availableKinds, calledAt }: DeleteRecordings,
  kind: AudioKind,
  at: number,
): boolean {
  const standing = recordingStatusOf(state, callId, kind)
  if (standing !== "never came") return standing === "held"
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
  const kept = [...held.values()].filter(({ keptAt }) => keptAt < endOf(day))
  if (kept.length === 0) return []
  const minutes = kept.reduce((sum, { seconds }) => sum + Math.ceil(seconds / 60), 0)
  return [{ type: "StoredMinutesCounted", at, day, minutes }]
}

const MESSAGES: Readonly<Record<RecordingRefused["code"], string>> = {
  too_late: "The call is too long ago for its audio to be kept now.",
  day_not_over: "This day is not over.",
}

function refuse(code: RecordingRefused["code"], at: number): RecordingRefused {
  return { type: "RecordingRefused", at, code, message: MESSAGES[code] }
}

const endOf = (day: number): number => day + DAY_MS

function isExpiredAt({ days }: RecordingsState, at: number): (audio: StoredRecording) => boolean {
  if (days === null) return () => false
  const keptMs = days * DAY_MS
  return ({ calledAt }) => at - calledAt >= keptMs
}

function takeMatching(
  { held }: RecordingsState,
  most: number,
  isMeant: (audio: StoredRecording) => boolean,
): readonly StoredRecording[] {
  const some: StoredRecording[] = []
  for (const audio of held.values()) {
    if (some.length >= most) break
    if (isMeant(audio)) some.push(audio)
  }
  return some
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
      // A carrier's clock may be ahead of ours.
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

/** How a company's audio is kept beside its stream. */
export const recordingsCheckpoint: CheckpointFormat<RecordingsState> = {
  version: 1,
  save: ({ held, deleted: gone, days, countedDay }) => ({
    held: [...held.values()],
    deleted: [...gone],
    days,
    countedDay,
  }),
  load: (saved) => {
    const {
      held,
      deleted: gone,
      ...rest
    } = saved as {
      readonly held: readonly StoredRecording[]
      readonly deleted: readonly (readonly [string, number])[]
      readonly days: RetentionDays
      readonly countedDay: number | null
    }
    const named = held.map((audio) => [recordingKey(audio.callId, audio.kind), audio] as const)
    return { ...rest, held: new Map(named), deleted: new Map(gone) }
  },
}

/** What a company's audio takes in memory, in bytes, about. */
export function recordingsBytes({ held, deleted: gone }: RecordingsState): number {
  return 1_000 + held.size * 300 + gone.size * 100
}

/** Whether audio of a call is held, was deleted, or never came. */
export function recordingStatusOf(
  state: RecordingsState,
  callId: CallId,
  kind: AudioKind,
): "held" | "deleted" | "never came" {
  const name = recordingKey(callId, kind)
  if (state.held.has(name)) return "held"
  return state.deleted.has(name) ? "deleted" : "never came"
}

/** The audio of a call that is held; null where there is none. */
export function findStoredRecording(
  state: RecordingsState,
  callId: CallId,
  kind: AudioKind,
): StoredRecording | null {
  return state.held.get(recordingKey(callId, kind)) ?? null
}

/** For how long audio is kept. */
export function retentionDaysOf({ days }: RecordingsState): RetentionDays {
  return days
}

/** The first day whose minutes are to be counted; null where nothing is held. */
export function nextDayToCount({ held, countedDay }: RecordingsState): number | null {
  const [first] = held.values()
  if (first === undefined) return null
  // They are kept in the order of the facts, so the first was there before all others.
  const day = dayStart(first.keptAt)
  return countedDay === null ? day : Math.max(day, countedDay + DAY_MS)
}
