/** How long each state of a call may wait. Each deadline names the state that it was set in. */
import type { CallEvent } from "./call-events.ts"

/** What a deadline is of. */
export const DEADLINES = [
  "ring",
  "ask",
  "answer",
  "notice",
  "greeting",
  "voicemail",
  "talk",
] as const

/** What a deadline is of. */
export type DeadlineName = (typeof DEADLINES)[number]

/** How long somebody who answered has to press 1, milliseconds. */
export const ASK_MS = 20_000
/** How long the caller's leg has to open, and then both to hear the notice. */
export const NOTICE_MS = 20_000
/** How long the greeting may take, the opening of the caller's leg included. */
export const GREETING_MS = 60_000
/** How long somebody may speak on a voicemail. */
export const VOICEMAIL_MS = 180_000
/** How long a call may take. */
export const TALK_MS = 4 * 3_600_000
/** How long phones ring one after another, in all: the caller's network gives up then. */
export const ORDER_MS = 120_000

/** A deadline. */
export interface Deadline {
  readonly of: DeadlineName
  /** The leg that it is of; 0 for the whole call. */
  readonly leg: number
  /** By the ledger's clock. */
  readonly deadlineAt: number
}

/** The deadline that a fact sets; null where it sets none. */
export function deadlineOf(fact: CallEvent): Deadline | null {
  switch (fact.type) {
    case "LegsDialed":
      return { of: "ring", leg: fact.legs[0] ?? 0, deadlineAt: fact.deadlineAt }
    case "LegPrompted":
      return { of: "ask", leg: fact.leg, deadlineAt: fact.deadlineAt }
    case "CallAccepted":
      return { of: "answer", leg: 0, deadlineAt: fact.deadlineAt }
    case "RecordingNoticeStarted":
      return { of: "notice", leg: 0, deadlineAt: fact.deadlineAt }
    case "GreetingStarted":
      return { of: "greeting", leg: 0, deadlineAt: fact.deadlineAt }
    case "VoicemailStarted":
      return { of: "voicemail", leg: 0, deadlineAt: fact.deadlineAt }
    case "CallBridged":
      return { of: "talk", leg: 0, deadlineAt: fact.deadlineAt }
    case "CallOffered":
    case "CallMinuteStarted":
    case "CallMinutePaid":
    case "CallMinuteRefused":
    case "LegDialed":
    case "LegAnswered":
    case "LegHungUp":
    case "LegEnded":
    case "CallerAnswered":
    case "LegPromptPlayed":
    case "GreetingPlayed":
    case "CallerHungUp":
    case "CallEnded":
    case "RecordingAvailable":
      return null
  }
}
