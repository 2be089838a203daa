/** What a box can be asked, and what it refuses. */
import type { BoxEvent, BoxFact, BoxStopReason } from "./box-events.ts"

type Command<T extends BoxEvent["type"], Type extends string> = { readonly type: Type } & Omit<
  BoxFact<T>,
  "type" | "at"
>

/** Records that a box is to be made. Again: nothing new. */
export type StartBox = Command<"BoxStarted", "StartBox">
/** Makes sure that it never begins. One that began, or never will: nothing new. */
export type AbandonBox = Command<"BoxAbandoned", "AbandonBox">
/** Says that it runs. One that runs: nothing new. */
export type MarkBoxRunning = Command<"BoxRunning", "MarkBoxRunning">
/** Says that it could not be made. One that failed: nothing new. */
export type FailBox = Command<"BoxFailed", "FailBox">

/**
 * Looks whether a minute is due, and whether there is to be one: it begins the next, or stops the box
 * by what its start asked for. Where nothing is due: nothing new.
 */
export interface TickBox {
  readonly type: "TickBox"
  readonly boxId: BoxFact<"BoxStarted">["boxId"]
  /** The minute that may begin, from 2. Any other than the next: nothing new. */
  readonly minute: number
  /** What was seen of it just now. */
  readonly observed: {
    /** How much was done in it, by its own count. */
    readonly activities: number
    /** Whether a command runs that somebody waits for. */
    readonly isBusy: boolean
  }
  /** Whether the key that started it may still do so. */
  readonly isKeyUsable: boolean
}

/** Says that the ledger refused the last minute that began, and why. Again: nothing new. */
export type RefuseMinute = Command<"BoxMinuteRefused", "RefuseMinute"> & {
  readonly reason: BoxStopReason
}

/** Stops it. One that has ended: nothing new. */
export type StopBox = Omit<Command<"BoxStopped", "StopBox">, "effectiveAt">

/** Says that it is gone although nobody stopped it. One that has ended: nothing new. */
export interface MarkBoxLost {
  readonly type: "MarkBoxLost"
  readonly boxId: BoxFact<"BoxStarted">["boxId"]
}
/** Opens a port. One that is open: nothing new, and its link stays. */
export type OpenPreview = Command<"PreviewOpened", "OpenPreview">
/** Closes a port. One that is not open: nothing new. */
export type ClosePreview = Command<"PreviewClosed", "ClosePreview">
/** Records a push. */
export type RecordBoxPush = Command<"BoxPushed", "RecordBoxPush">
/** Takes it off the list. It has to have ended. */
export type DeleteBox = Command<"BoxDeleted", "DeleteBox">

/** What a box can be asked. */
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

/** A command was refused. */
export interface BoxCommandRefused {
  readonly type: "BoxCommandRefused"
  readonly at: number
  readonly code: keyof typeof BOX_REFUSAL_MESSAGES
  readonly message: string
}

/** What a refusal says. */
export const BOX_REFUSAL_MESSAGES = {
  no_box: "There is no such box.",
  box_starting: "The box is starting; try again in some seconds.",
  box_stopped: "The box has ended; start another one.",
  box_runs: "The box has not ended yet.",
  too_many_previews: "The box has as many previews as it can; close one.",
} as const
