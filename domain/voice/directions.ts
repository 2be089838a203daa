/** What the carrier is to do because of a fact, in this order: words on legs, and nobody's number. */
import type { AudioKind, CallEvent } from "./call-events.ts"

/** What is said: who takes a call hears who calls, both the notice, and a caller the greeting. */
export type Said = "screening" | "notice" | "greeting"

/** One thing that the carrier is to do. */
export type Direction =
  | { readonly word: "dial"; readonly leg: number }
  | { readonly word: "answer" | "reject" | "hang_up"; readonly leg: number }
  | { readonly word: "ask" | "say"; readonly leg: number; readonly says: Said }
  | { readonly word: "join"; readonly leg: number; readonly other: number }
  | { readonly word: "record"; readonly leg: number; readonly kind: AudioKind }

const hangUp = (leg: number): Direction => ({ word: "hang_up", leg })

/** What the carrier is to do because of a fact. */
export function directionsOf(fact: CallEvent): readonly Direction[] {
  switch (fact.type) {
    case "CallRang":
      return fact.legs.map((leg) => ({ word: "dial", leg }))
    case "LegAsked":
      return [{ word: "ask", leg: fact.leg, says: "screening" }]
    case "LegDropped":
      return [hangUp(fact.leg)]
    case "CallAccepted":
      return [...fact.drops.map(hangUp), { word: "answer", leg: 0 }]
    case "NoticeBegun":
      return [0, fact.leg].map((leg) => ({ word: "say", leg, says: "notice" }))
    case "CallJoined": {
      const join: Direction = { word: "join", leg: 0, other: fact.leg }
      return fact.isRecorded ? [join, { word: "record", leg: 0, kind: "call" }] : [join]
    }
    case "GreetingBegun":
      return [{ word: "answer", leg: 0 }]
    case "GreetingPlayed":
      return [{ word: "say", leg: 0, says: "greeting" }]
    case "VoicemailBegun":
      return [{ word: "record", leg: 0, kind: "voicemail" }]
    case "CallEnded": {
      const caller: Direction[] = fact.caller === "gone" ? [] : [{ word: fact.caller, leg: 0 }]
      return [...fact.drops.map(hangUp), ...caller]
    }
    case "CallOffered":
    case "CallMinuteBegun":
    case "CallMinutePaid":
    case "CallMinuteRefused":
    case "LegPlaced":
    case "LegAnswered":
    case "LegGone":
    case "CallerAnswered":
    case "LegSaid":
    case "CallerGone":
    case "AudioSaved":
      return []
  }
}
