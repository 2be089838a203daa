/** What the built-in carrier remembers of its legs, and how one that is played goes on by itself. */
import type { AudioKind } from "../../../domain/voice/call-events.ts"
import type { VoiceCommand } from "./port.ts"

/** What is to come of a call that goes on by itself. */
export interface Script {
  readonly outcome: "answered" | "voicemail" | "missed"
  /** How long it lasts, milliseconds: it ends where the clock stands, and began so long before. */
  readonly lastsMs: number
  /** How much of it is recorded, where it is to be. */
  readonly recordedSeconds: number | null
  /** What is spoken on the voicemail. */
  readonly voicemailSeconds: number
}

/** A leg as the built-in carrier has it. */
export interface SimulatedLeg {
  readonly state: "ringing" | "open" | "gone"
  /** The number that is called. */
  readonly to: string
  /** The leg that it was called for; null for a caller's own. */
  readonly callerRef: string | null
  /** How the call goes on by itself; null where it waits for somebody to say so. */
  readonly script: Script | null
  readonly answeredAt: number | null
  readonly endedAt: number | null
  /** What is recorded of it. */
  readonly recording: AudioKind | null
  readonly recordingSince: number | null
  /** How often it was told something, and how often it has heard that to the end. */
  readonly told: number
  readonly heard: number
  /** The commands that were carried out on it. */
  readonly done: readonly string[]
}

/** A leg that rings. */
export function ringingLeg(
  to: string,
  callerRef: string | null,
  script: Script | null,
): SimulatedLeg {
  return {
    state: "ringing",
    to,
    callerRef,
    script,
    answeredAt: null,
    endedAt: null,
    recording: null,
    recordingSince: null,
    told: 0,
    heard: 0,
    done: [],
  }
}

/** A leg behind a command that it had not been given. */
export function legAfter(leg: SimulatedLeg, command: VoiceCommand, now: number): SimulatedLeg {
  switch (command.word) {
    case "answer": {
      // Who was to be missed has gone by then.
      if (leg.script?.outcome === "missed") return leg
      return openedLeg(leg, now)
    }
    case "reject":
    case "hang_up":
      return endedLeg(leg, now)
    case "ask":
    case "say":
      return { ...leg, told: leg.told + 1 }
    case "record":
      return { ...leg, recording: command.kind, recordingSince: now }
    case "dial":
    case "join":
      return leg
  }
}

/** A leg that was answered; one that rings no more stays as it is. */
export function openedLeg(leg: SimulatedLeg, now: number): SimulatedLeg {
  if (leg.state !== "ringing") return leg
  return { ...leg, state: "open", answeredAt: now - (leg.script?.lastsMs ?? 0) }
}

/** A leg that has ended; one that had stays as it is. */
export function endedLeg(leg: SimulatedLeg, now: number): SimulatedLeg {
  return leg.state === "gone" ? leg : { ...leg, state: "gone", endedAt: now }
}

/** Something that somebody does, by an operator or by a script. */
export type Deed =
  | { readonly does: "answer" | "hang_up" | "hear" }
  | { readonly does: "press"; readonly digits: string }

/** What somebody does because of a command to a leg: on that leg, or the caller's. */
interface Scripted {
  readonly on: "leg" | "caller"
  readonly deed: Deed
}

const CALLER_GOES: readonly Scripted[] = [{ on: "caller", deed: { does: "hang_up" } }]

/** What a script has done because of a command. */
export function scripted(
  { outcome, recordedSeconds }: Script,
  word: VoiceCommand["word"],
): readonly Scripted[] {
  const onLeg = (deed: Deed): readonly Scripted[] => [{ on: "leg", deed }]
  if (outcome === "missed") return word === "dial" || word === "answer" ? CALLER_GOES : []
  switch (word) {
    case "dial":
      return onLeg({ does: outcome === "answered" ? "answer" : "hang_up" })
    case "ask":
      return onLeg({ does: "press", digits: "1" })
    case "say":
      return onLeg({ does: "hear" })
    case "join":
      // What is to be recorded ends with that.
      return recordedSeconds === null ? CALLER_GOES : []
    case "record":
      return CALLER_GOES
    case "answer":
    case "reject":
    case "hang_up":
      return []
  }
}

/** How long a recording is that has ended, seconds. */
export function recordingSeconds(
  { script, recording, recordingSince }: SimulatedLeg,
  now: number,
): number {
  if (script !== null) {
    const lasts = Math.round(script.lastsMs / 1_000)
    return recording === "voicemail" ? script.voicemailSeconds : (script.recordedSeconds ?? lasts)
  }
  return recordingSince === null ? 0 : Math.max(0, Math.round((now - recordingSince) / 1_000))
}
