/**
 * One installed app of a company: its daily check-ins and the updates of its devices.
 *
 * Stream `app-<companyId>-<installId>`: one event a day and a few per update; a checkpoint bounds the time to load
 * it, and only the latest reports are remembered.
 */
import type { CheckpointFormat, Decider, DecisionStamp } from "../kernel/decider.ts"
import { unreachable } from "../kernel/decider.ts"
import type { AppCheckedIn, AppEvent, DeviceReported } from "./app-events.ts"
import { APP_COUNT_NAMES } from "./app-events.ts"

/** Maximum number of remembered reports; an older one that is sent again counts as new. */
const REPORTS_REMEMBERED = 2_000
const DAY_MS = 86_400_000

/** Records an app's check-in. Idempotent within a UTC day. */
export type CheckIn = { readonly type: "CheckIn" } & Omit<AppCheckedIn, "type" | "at">

/** Records a device's report about an update. Idempotent. */
export type ReportDevice = { readonly type: "ReportDevice" } & Omit<DeviceReported, "type" | "at">

export interface AppRefused {
  readonly type: "AppRefused"
  readonly at: number
  readonly code: "event_taken"
  readonly message: string
}

/** The state of an installed app. Only the functions of this file access its fields. */
export interface AppState {
  last: { readonly day: number; readonly said: string } | null
  readonly reports: Map<string, string>
}

/** The rules of installed apps. */
export const appDecider: Decider<CheckIn | ReportDevice, AppState, AppEvent, AppRefused> = {
  initial: () => ({ last: null, reports: new Map() }),
  decide,
  evolve,
}

function decide(
  command: CheckIn | ReportDevice,
  state: AppState,
  { at }: DecisionStamp,
): readonly AppEvent[] | AppRefused {
  switch (command.type) {
    case "CheckIn": {
      const isSame = state.last?.day === dayOf(at) && state.last.said === checkInKeyOf(command)
      return isSame ? [] : [{ ...command, type: "AppCheckedIn", at }]
    }
    case "ReportDevice": {
      const former = state.reports.get(command.eventId)
      if (former === undefined) return [{ ...command, type: "DeviceReported", at }]
      if (former === reportKeyOf(command)) return []
      const message = "This eventId was used for another report; use a new one."
      return { type: "AppRefused", at, code: "event_taken", message }
    }
    default:
      return unreachable(command)
  }
}

function evolve(state: AppState, event: AppEvent): AppState {
  switch (event.type) {
    case "AppCheckedIn":
      state.last = { day: dayOf(event.at), said: checkInKeyOf(event) }
      return state
    case "DeviceReported": {
      const { reports } = state
      reports.set(event.eventId, reportKeyOf(event))
      for (const oldest of reports.keys()) {
        if (reports.size <= REPORTS_REMEMBERED) break
        reports.delete(oldest)
      }
      return state
    }
    default:
      return unreachable(event)
  }
}

function dayOf(at: number): number {
  return Math.floor(at / DAY_MS)
}

/** Serializes a check-in so that equal ones have equal text. */
function checkInKeyOf({
  version,
  platform,
  coreHash,
  counts,
}: Omit<AppCheckedIn, "type" | "at">): string {
  return JSON.stringify([
    version,
    platform,
    coreHash,
    ...APP_COUNT_NAMES.map((name) => counts[name]),
  ])
}

/** Serializes a report without its id, so that equal ones have equal text. */
function reportKeyOf(report: Omit<DeviceReported, "type" | "at">): string {
  const { attemptId, sequence, kind, version, status, reason } = report
  return JSON.stringify([attemptId, sequence, kind, version, status, reason])
}

/** The checkpoint format of an installed app. */
export const appCheckpoint: CheckpointFormat<AppState> = {
  version: 1,
  save: ({ last, reports }) => ({ last, reports: [...reports] }),
  load: (saved) => {
    const { last, reports } = saved as {
      readonly last: AppState["last"]
      readonly reports: readonly (readonly [string, string])[]
    }
    return { last, reports: new Map(reports) }
  },
}

/** Estimates the memory of an installed app in bytes. */
export function appBytes({ reports }: AppState): number {
  return 500 + reports.size * 300
}
