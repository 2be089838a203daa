/** The instructions for the carrier that follow from an event, in order. They name legs and never phone numbers. */
import type { CallEvent } from "./call-events.ts"
import type { AudioKind } from "../kernel/calls.ts"

/** A spoken prompt: `screening` for the person who answers, `notice` for both sides, `greeting` for the caller. */
export type SpokenPrompt = "screening" | "notice" | "greeting"

export type CallInstruction =
  | { readonly word: "dial"; readonly leg: number }
  | { readonly word: "answer" | "reject" | "hang_up"; readonly leg: number }
  | { readonly word: "ask" | "say"; readonly leg: number; readonly says: SpokenPrompt }
  | { readonly word: "join"; readonly leg: number; readonly other: number }
  | { readonly word: "record"; readonly leg: number; readonly kind: AudioKind }

const hangUp = (leg: number): CallInstruction => ({ word: "hang_up", leg })

/** Returns the instructions for the carrier that follow from an event. */
export function callInstructionsOf(fact: CallEvent): readonly CallInstruction[] {
  switch (fact.type) {
    case "LegsDialed":
      return fact.legs.map((leg) => ({ word: "dial", leg }))
    case "LegPrompted":
      return [{ word: "ask", leg: fact.leg, says: "screening" }]
    case "LegHungUp":
      return [hangUp(fact.leg)]
    case "CallAccepted":
      return [...fact.hangUpLegs.map(hangUp), { word: "answer", leg: 0 }]
    case "RecordingNoticeStarted":
      return [0, fact.leg].map((leg) => ({ word: "say", leg, says: "notice" }))
    case "CallBridged": {
      const join: CallInstruction = { word: "join", leg: 0, other: fact.leg }
      return fact.isRecorded ? [join, { word: "record", leg: 0, kind: "call" }] : [join]
    }
    case "GreetingStarted":
      return [{ word: "answer", leg: 0 }]
    case "GreetingPlayed":
      return [{ word: "say", leg: 0, says: "greeting" }]
    case "VoicemailStarted":
      return [{ word: "record", leg: 0, kind: "voicemail" }]
    case "CallEnded": {
      const caller: CallInstruction[] =
        fact.caller === "ended" ? [] : [{ word: fact.caller, leg: 0 }]
      return [...fact.hangUpLegs.map(hangUp), ...caller]
    }
    case "CallOffered":
    case "CallMinuteStarted":
    case "CallMinutePaid":
    case "CallMinuteRefused":
    case "LegDialed":
    case "LegAnswered":
    case "LegEnded":
    case "CallerAnswered":
    case "LegPromptPlayed":
    case "CallerHungUp":
    case "RecordingAvailable":
      return []
  }
}
