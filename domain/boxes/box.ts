/**
 * One box: how far it has come, which of its minutes have begun, and what ends it.
 *
 * Stream `box-<companyId>-<boxId>`. A minute begins here, while the box is known to run, and is charged
 * then: so no stop, however it interleaves, leaves a charge for a minute that never began. Minute n + 1
 * begins one millisecond after minute n is full (decisions.md §8).
 */
import type { CheckpointFormat, Decider, DecisionStamp } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type {
  BoxCommand,
  BoxCommandRefused,
  OpenPreview,
  RefuseMinute,
  TickBox,
} from "./box-commands.ts"
import { BOX_REFUSAL_MESSAGES } from "./box-commands.ts"
import type { BoxEvent, BoxFact, BoxFailReason, BoxStopReason } from "./box-events.ts"

/** A minute of a box, milliseconds. */
export const BOX_MINUTE_MS = 60_000
/** A full minute is looked at within this, unless its server was away or very busy. */
const LATE_MS = 1_000
/** So many ports of a box are open at once. */
export const MAX_BOX_PREVIEWS = 16

/** How far a box has come. */
export type BoxStatus = "starting" | "running" | "stopped" | "failed"

/** A port that is open. */
interface OpenPort {
  readonly port: number
  readonly token: BoxFact<"PreviewOpened">["token"]
}

interface State {
  readonly started: Omit<BoxFact<"BoxStarted">, "type">
  status: BoxStatus
  /** When it began to run; null where it never did. */
  runningAt: number | null
  /** Where it lives; null before it runs. */
  host: string | null
  /** When it was last seen to live. */
  seenAt: number
  /** When its end was recorded. */
  endedAt: number | null
  /** When it ended, as far as is known: where it was lost, when it was last seen; at a cap, when that was reached. */
  stoppedAt: number | null
  reason: BoxStopReason | BoxFailReason | null
  /** How many minutes have begun; the first with the start. */
  minutes: number
  /** Whether the last of them was refused. */
  isLastRefused: boolean
  activities: number
  activeAt: number
  /** What its files were last the same as in the repository. */
  commit: string | null
  previews: readonly OpenPort[]
  isDeleted: boolean
}

/** A box; null before it was started, "abandoned" where it never will be. */
export interface BoxState {
  box: State | "abandoned" | null
}

/** The rules of a box. */
export const boxDecider: Decider<BoxCommand, BoxState, BoxEvent, BoxCommandRefused> = {
  initial: () => ({ box: null }),
  decide,
  evolve,
}

function decide(
  command: BoxCommand,
  { box: known }: BoxState,
  { at }: DecisionStamp,
): readonly BoxEvent[] | BoxCommandRefused {
  if (command.type === "StartBox") {
    if (known === "abandoned") return refuse("no_box", at)
    return known === null ? [{ ...command, type: "BoxStarted", at }] : []
  }
  if (command.type === "AbandonBox") {
    return known === null ? [{ ...command, type: "BoxAbandoned", at }] : []
  }
  if (known === null || known === "abandoned") return refuse("no_box", at)
  const hasEnded = known.endedAt !== null
  switch (command.type) {
    case "MarkBoxRunning":
      if (hasEnded) return refuse("box_stopped", at)
      return known.status === "running" ? [] : [{ ...command, type: "BoxRunning", at }]
    case "FailBox":
      if (known.status === "starting") return [{ ...command, type: "BoxFailed", at }]
      return known.status === "failed" ? [] : refuse("box_runs", at)
    case "TickBox":
      return tick(command, known, at)
    case "RefuseMinute":
      return refuseMinute(command, known, at)
    case "StopBox":
      return hasEnded ? [] : [{ ...command, type: "BoxStopped", at, effectiveAt: null }]
    case "MarkBoxLost":
      // What had begun by its last sign of life is charged, and nothing beyond it (decisions.md §8).
      if (hasEnded) return []
      return [{ ...stoppedEvent(command.boxId, "stopped", at), effectiveAt: known.seenAt }]
    case "OpenPreview":
      return openPreview(command, known, at)
    case "ClosePreview":
      if (!known.previews.some(({ port }) => port === command.port)) return []
      return [{ ...command, type: "PreviewClosed", at }]
    case "RecordBoxPush":
      return [{ ...command, type: "BoxPushed", at }]
    case "DeleteBox":
      if (!hasEnded) return refuse("box_runs", at)
      return known.isDeleted ? [] : [{ ...command, type: "BoxDeleted", at }]
    default:
      return unreachable(command)
  }
}

/** A full minute: caps, budget, idle and the key are looked at before the next begins, in this order. */
function tick(
  { boxId, minute, observed, isKeyUsable }: TickBox,
  known: State,
  at: number,
): readonly BoxEvent[] {
  const { runningAt } = known
  if (known.status !== "running" || runningAt === null) return []
  if (minute !== known.minutes + 1 || at < dueAt(runningAt, minute)) return []
  const stop = (reason: BoxStopReason): readonly BoxEvent[] => [stoppedEvent(boxId, reason, at)]
  const cap = runLimitOf(known.started)
  // By when the minute was full, however late this is looked at: what is charged is what had begun.
  const fullAt = runningAt + known.minutes * BOX_MINUTE_MS
  if (known.minutes >= cap.minutes)
    return [{ ...stoppedEvent(boxId, cap.reason, at), effectiveAt: fullAt }]
  const isActive = observed.isBusy || observed.activities > known.activities
  // What was done is of before the look; only a late one may see what was done behind the minute.
  const seenAt = at - fullAt < LATE_MS ? fullAt : at
  const activeAt = isActive ? seenAt : known.activeAt
  if (fullAt - activeAt >= known.started.idleMinutes * BOX_MINUTE_MS) return stop("idle")
  if (!isKeyUsable) return stop("key_changed")
  const activities = Math.max(known.activities, observed.activities)
  return [{ type: "BoxMinuteStarted", at, boxId, minute, activities, activeAt }]
}

/** Who stopped the box meanwhile had begun the minute all the same: it is refused, and nothing else. */
function refuseMinute(
  { boxId, minute, reason }: RefuseMinute,
  known: State,
  at: number,
): readonly BoxEvent[] {
  if (minute !== known.minutes || minute < 2 || known.isLastRefused) return []
  const refused: BoxEvent = { type: "BoxMinuteRefused", at, boxId, minute }
  if (known.endedAt !== null) return [refused]
  return [refused, stoppedEvent(boxId, reason, at)]
}

/** It ended by itself, and not by anybody's word. */
function stoppedEvent(
  boxId: TickBox["boxId"],
  reason: BoxStopReason,
  at: number,
): BoxFact<"BoxStopped"> {
  return { type: "BoxStopped", at, boxId, reason, effectiveAt: null, keyId: null, personId: null }
}

/** When a minute falls due, from 2. */
function dueAt(runningAt: number, minute: number): number {
  return runningAt + (minute - 1) * BOX_MINUTE_MS + 1
}

/** How many minutes it may run at most, and why it then stops (decisions.md §8). */
function runLimitOf({
  maxMinutes,
  budgetMicros,
  unitPriceMicros,
}: Pick<State["started"], "maxMinutes" | "budgetMicros" | "unitPriceMicros">): {
  readonly minutes: number
  readonly reason: "time_cap" | "budget"
} {
  const covered = minutesCoveredBy(budgetMicros, unitPriceMicros)
  return covered < maxMinutes
    ? { minutes: covered, reason: "budget" }
    : { minutes: maxMinutes, reason: "time_cap" }
}

/** How many minutes a budget covers; what costs nothing, or has no budget, is covered for ever. */
export function minutesCoveredBy(budgetMicros: number | null, unitPriceMicros: number): number {
  if (budgetMicros === null || unitPriceMicros === 0) return Infinity
  return Math.floor(budgetMicros / unitPriceMicros)
}

function openPreview(
  command: OpenPreview,
  known: State,
  at: number,
): readonly BoxEvent[] | BoxCommandRefused {
  if (known.endedAt !== null) return refuse("box_stopped", at)
  if (known.status === "starting") return refuse("box_starting", at)
  if (known.previews.some(({ port }) => port === command.port)) return []
  if (known.previews.length >= MAX_BOX_PREVIEWS) return refuse("too_many_previews", at)
  return [{ ...command, type: "PreviewOpened", at }]
}

function refuse(code: BoxCommandRefused["code"], at: number): BoxCommandRefused {
  return { type: "BoxCommandRefused", at, code, message: BOX_REFUSAL_MESSAGES[code] }
}

function evolve(state: BoxState, event: BoxEvent): BoxState {
  if (event.type === "BoxStarted") {
    const { type: _type, ...started } = event
    state.box = {
      started,
      status: "starting",
      runningAt: null,
      host: null,
      endedAt: null,
      seenAt: event.at,
      stoppedAt: null,
      reason: null,
      minutes: 1,
      isLastRefused: false,
      activities: 0,
      activeAt: event.at,
      commit: null,
      previews: [],
      isDeleted: false,
    }
    return state
  }
  if (event.type === "BoxAbandoned") {
    state.box = "abandoned"
    return state
  }
  // No fact stands before the first.
  const known = state.box as State
  switch (event.type) {
    case "BoxRunning":
      Object.assign(known, { status: "running", runningAt: event.at, activeAt: event.at })
      known.seenAt = event.at
      known.commit = event.commit
      known.host = event.host
      return state
    case "BoxFailed":
      Object.assign(known, { status: "failed", endedAt: event.at, reason: event.reason })
      known.stoppedAt = event.at
      return state
    case "BoxMinuteStarted":
      known.minutes = event.minute
      known.activities = event.activities
      known.activeAt = event.activeAt
      known.seenAt = event.at
      return state
    case "BoxMinuteRefused":
      known.isLastRefused = true
      return state
    case "BoxStopped":
      Object.assign(known, { status: "stopped", endedAt: event.at, reason: event.reason })
      known.stoppedAt = event.effectiveAt ?? event.at
      known.previews = []
      return state
    case "PreviewOpened":
      known.previews = [...known.previews, { port: event.port, token: event.token }]
      return state
    case "PreviewClosed":
      known.previews = known.previews.filter(({ port }) => port !== event.port)
      return state
    case "BoxPushed":
      known.commit = event.commit
      return state
    case "BoxDeleted":
      known.isDeleted = true
      return state
    default:
      return unreachable(event)
  }
}

/** What everybody may know of a box. */
export interface BoxView extends Readonly<State> {
  /** The next minute, and when it falls due; null where it does not run. */
  readonly next: { readonly minute: number; readonly dueAt: number } | null
}

/** Whether it was made sure that it never begins. */
export function isBoxAbandoned({ box: known }: BoxState): boolean {
  return known === "abandoned"
}

/** How a box stands; null where there is none. */
export function viewOfBox({ box: known }: BoxState): BoxView | null {
  if (known === null || known === "abandoned") return null
  const { status, runningAt, minutes } = known
  const isRunning = status === "running" && runningAt !== null
  const minute = minutes + 1
  return { ...known, next: isRunning ? { minute, dueAt: dueAt(runningAt, minute) } : null }
}

/** When it stops at the latest, counted from when it runs, or where it does not yet, from its start. */
export function latestStopAt(
  startedAt: number,
  runningAt: number | null,
  asked: Parameters<typeof runLimitOf>[0],
): number {
  return (runningAt ?? startedAt) + runLimitOf(asked).minutes * BOX_MINUTE_MS
}

/** How a box is kept beside its stream. */
export const boxCheckpoint: CheckpointFormat<BoxState> = {
  version: 2,
  save: ({ box: known }) => known,
  load: (saved) => {
    const known = saved as BoxState["box"]
    return { box: known === null || known === "abandoned" ? known : { ...known } }
  },
}

/** What a box takes in memory, in bytes, about. */
export function boxBytes(state: BoxState): number {
  return 1_500 + (viewOfBox(state)?.previews.length ?? 0) * 300
}
