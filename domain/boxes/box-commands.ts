/** The commands of a box and its refusals. */
import type { BoxEvent, BoxFact, BoxStopReason } from "./box-events.ts"

type Command<T extends BoxEvent["type"], Type extends string> = { readonly type: Type } & Omit<
  BoxFact<T>,
  "type" | "at"
>

/** Records that a box is about to start. Idempotent. */
export type StartBox = Command<"BoxStarted", "StartBox">
/** Makes sure that a box never starts. Records nothing if it started or was abandoned. */
export type AbandonBox = Command<"BoxAbandoned", "AbandonBox">
/** Records that the box runs. Idempotent. */
export type MarkBoxRunning = Command<"BoxRunning", "MarkBoxRunning">
/** Records that the box could not be created. Idempotent. */
export type FailBox = Command<"BoxFailed", "FailBox">

/**
 * Starts the next minute if it is due, or stops the box by the limits of its start. Records nothing if no minute is
 * due.
 */
export interface TickBox {
  readonly type: "TickBox"
  readonly boxId: BoxFact<"BoxStarted">["boxId"]
  /** The minute that may start, from 2. Records nothing for any other than the next. */
  readonly minute: number
  /** The latest observation of the box. */
  readonly observed: {
    readonly activities: number
    /** Whether a command is running that a caller waits for. */
    readonly isBusy: boolean
  }
  readonly isKeyUsable: boolean
}

/** Records that the ledger refused the latest minute, and why. Idempotent. */
export type RefuseMinute = Command<"BoxMinuteRefused", "RefuseMinute"> & {
  readonly reason: BoxStopReason
}

/** Stops the box. Idempotent. */
export type StopBox = Omit<Command<"BoxStopped", "StopBox">, "effectiveAt">

/** Records that the box is gone although no caller stopped it. Idempotent. */
export interface MarkBoxLost {
  readonly type: "MarkBoxLost"
  readonly boxId: BoxFact<"BoxStarted">["boxId"]
}
/** Opens a port. If it is open, its link stays. */
export type OpenPreview = Command<"PreviewOpened", "OpenPreview">
/** Closes a port. Idempotent. */
export type ClosePreview = Command<"PreviewClosed", "ClosePreview">
export type RecordBoxPush = Command<"BoxPushed", "RecordBoxPush">
/** Removes the box from the list; it must have ended. */
export type DeleteBox = Command<"BoxDeleted", "DeleteBox">

export type BoxCommand =
  | StartBox
  | AbandonBox
  | MarkBoxRunning
  | FailBox
  | TickBox
  | RefuseMinute
  | StopBox
  | MarkBoxLost
  | OpenPreview
  | ClosePreview
  | RecordBoxPush
  | DeleteBox

export interface BoxCommandRefused {
  readonly type: "BoxCommandRefused"
  readonly at: number
  readonly code: keyof typeof BOX_REFUSAL_MESSAGES
  readonly message: string
}

/** Maximum number of open ports of a box. */
export const MAX_BOX_PREVIEWS = 16

export const BOX_REFUSAL_MESSAGES = {
  no_box: "No box has this id. List boxes to see their ids.",
  box_starting: "The box is starting; try again in a few seconds.",
  box_stopped: "The box has ended; start another one.",
  box_runs: "The box has not ended; stop it first.",
  too_many_previews: `The box has ${MAX_BOX_PREVIEWS} open previews, which is the limit; close one first.`,
} as const
