/**
 * One box: its status, the minutes that started, and why it ends.
 *
 * Stream `box-<companyId>-<boxId>`. A minute starts here, while the box is known to run, and is charged afterwards;
 * so no interleaved stop leaves a charge for a minute that never started. Minute n + 1 starts one millisecond after
 * minute n is full (docs/decisions/boxes.md).
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
import { BOX_REFUSAL_MESSAGES, MAX_BOX_PREVIEWS } from "./box-commands.ts"
import type { BoxEvent, BoxFact, BoxFailReason, BoxStopReason } from "./box-events.ts"

/** A minute of a box in milliseconds. */
export const BOX_MINUTE_MS = 60_000
/** A full minute is checked within this time, unless the server was away or overloaded. */
const LATE_MS = 1_000

export type BoxStatus = "starting" | "running" | "stopped" | "failed"

interface OpenPort {
  readonly port: number
  readonly token: BoxFact<"PreviewOpened">["token"]
}

interface State {
  readonly started: Omit<BoxFact<"BoxStarted">, "type">
  status: BoxStatus
  runningAt: number | null
  /** The host that runs it; null before it runs. */
  host: string | null
  /** When it was last known to run. */
  seenAt: number
  /** When its end was recorded. */
  endedAt: number | null
  /** When it ended: if lost, when it was last seen; at a cap, when the cap was reached. */
  stoppedAt: number | null
  reason: BoxStopReason | BoxFailReason | null
  /** Minutes that started; the first starts with the box. */
  minutes: number
  isLastRefused: boolean
  activities: number
  activeAt: number
  /** The latest commit that equaled its files. */
  commit: string | null
  previews: readonly OpenPort[]
  isDeleted: boolean
}

/** A box; null before it started, "abandoned" if it never will. */
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
      // Minutes that had started when the box was last seen are charged, and no more (docs/decisions/boxes.md).
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

/** Checks a full minute in this order: caps and budget, idle time, key. Otherwise the next minute starts. */
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
  // When the minute was full, however late the check is: only minutes that started are charged.
  const fullAt = runningAt + known.minutes * BOX_MINUTE_MS
  if (known.minutes >= cap.minutes)
    return [{ ...stoppedEvent(boxId, cap.reason, at), effectiveAt: fullAt }]
  const isActive = observed.isBusy || observed.activities > known.activities
  // Activity was counted before the check; a late check may include activity after the minute.
  const seenAt = at - fullAt < LATE_MS ? fullAt : at
  const activeAt = isActive ? seenAt : known.activeAt
  if (fullAt - activeAt >= known.started.idleMinutes * BOX_MINUTE_MS) return stop("idle")
  if (!isKeyUsable) return stop("key_changed")
  const activities = Math.max(known.activities, observed.activities)
  return [{ type: "BoxMinuteStarted", at, boxId, minute, activities, activeAt }]
}

/** A box that was stopped meanwhile had started the minute all the same, so only the minute is refused. */
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

/** The event of a box that ended without a caller. */
function stoppedEvent(
  boxId: TickBox["boxId"],
  reason: BoxStopReason,
  at: number,
): BoxFact<"BoxStopped"> {
  return { type: "BoxStopped", at, boxId, reason, effectiveAt: null, keyId: null, personId: null }
}

function dueAt(runningAt: number, minute: number): number {
  return runningAt + (minute - 1) * BOX_MINUTE_MS + 1
}

/** The most minutes it may run, and why it stops then (docs/decisions/boxes.md). */
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

/** Returns how many minutes a budget covers; Infinity without a budget or a price. */
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
  // `BoxStarted` is always the first event.
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

/** What callers may read about a box. */
export interface BoxView extends Readonly<State> {
  /** The next minute and when it is due; null if the box is not running. */
  readonly next: { readonly minute: number; readonly dueAt: number } | null
}

/** Whether the box was abandoned before it started. */
export function isBoxAbandoned({ box: known }: BoxState): boolean {
  return known === "abandoned"
}

/** Returns the view of a box; null if there is none. */
export function viewOfBox({ box: known }: BoxState): BoxView | null {
  if (known === null || known === "abandoned") return null
  const { status, runningAt, minutes } = known
  const isRunning = status === "running" && runningAt !== null
  const minute = minutes + 1
  return { ...known, next: isRunning ? { minute, dueAt: dueAt(runningAt, minute) } : null }
}

/**
 * Returns the latest time at which a box stops, counted from when it runs, or from its start if it does not run
 * yet.
 */
export function latestStopAt(
  startedAt: number,
  runningAt: number | null,
  limits: Parameters<typeof runLimitOf>[0],
): number {
  return (runningAt ?? startedAt) + runLimitOf(limits).minutes * BOX_MINUTE_MS
}

/** The checkpoint format of a box. */
export const boxCheckpoint: CheckpointFormat<BoxState> = {
  version: 2,
  save: ({ box: known }) => known,
  load: (saved) => {
    const known = saved as BoxState["box"]
    return { box: known === null || known === "abandoned" ? known : { ...known } }
  },
}

/** Estimates the memory of a box in bytes. */
export function boxBytes(state: BoxState): number {
  return 1_500 + (viewOfBox(state)?.previews.length ?? 0) * 300
}
