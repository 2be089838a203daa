/** The state of simulated legs, and the scripts that play whole calls. */
import type { AudioKind } from "../../../domain/kernel/calls.ts"
import type { VoiceCommand } from "./port.ts"

export interface SimulatedCallScript {
  readonly outcome: "answered" | "voicemail" | "missed"
  /** Duration, milliseconds: the call ends now and began this long ago. */
  readonly lastsMs: number
  /** Length of the recording; null if the call is not recorded. */
  readonly recordedSeconds: number | null
  /** Length of the voicemail, seconds. */
  readonly voicemailSeconds: number
}

/** A simulated leg, as stored. */
export interface SimulatedLeg {
  readonly state: "ringing" | "open" | "gone"
  /** The dialed number. */
  readonly to: string
  /** The caller's leg that it was dialed for; null for the caller's own. */
  readonly callerRef: string | null
  /** The script of the call; null if an operator acts. */
  readonly script: SimulatedCallScript | null
  readonly answeredAt: number | null
  readonly endedAt: number | null
  readonly recording: AudioKind | null
  readonly recordingSince: number | null
  /** How many texts were spoken on the leg, and how many of them ended. */
  readonly spoken: number
  readonly heard: number
  /** The ids of the executed commands. */
  readonly done: readonly string[]
}

/** Creates a ringing leg. */
export function createRingingLeg(
  to: string,
  callerRef: string | null,
  script: SimulatedCallScript | null,
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
    spoken: 0,
    heard: 0,
    done: [],
  }
}

/** The leg after a new command. */
export function applyCommand(leg: SimulatedLeg, command: VoiceCommand, now: number): SimulatedLeg {
  switch (command.word) {
    case "answer": {
      // The caller of a missed call hangs up before the answer.
      if (leg.script?.outcome === "missed") return leg
      return answerLeg(leg, now)
    }
    case "reject":
    case "hang_up":
      return endLeg(leg, now)
    case "ask":
    case "say":
      return { ...leg, spoken: leg.spoken + 1 }
    case "record":
      return { ...leg, recording: command.kind, recordingSince: now }
    case "dial":
    case "join":
      return leg
  }
}

/** Answers a ringing leg; other legs stay unchanged. */
export function answerLeg(leg: SimulatedLeg, now: number): SimulatedLeg {
  if (leg.state !== "ringing") return leg
  return { ...leg, state: "open", answeredAt: now - (leg.script?.lastsMs ?? 0) }
}

/** Ends a leg; an ended one stays unchanged. */
export function endLeg(leg: SimulatedLeg, now: number): SimulatedLeg {
  return leg.state === "gone" ? leg : { ...leg, state: "gone", endedAt: now }
}

/** An action of a person on a leg, performed by an operator or a script. */
export type SimulatedLegAction =
  | { readonly action: "answer" | "hang_up" | "hear" }
  | { readonly action: "press"; readonly digits: string }

/** An action of a script in response to a command, on the command's leg or the caller's. */
interface ScriptedAction {
  readonly on: "leg" | "caller"
  readonly legAction: SimulatedLegAction
}

const CALLER_HANGS_UP: readonly ScriptedAction[] = [
  { on: "caller", legAction: { action: "hang_up" } },
]

/** The actions of a script in response to a command. */
export function scriptedActions(
  { outcome, recordedSeconds }: SimulatedCallScript,
  word: VoiceCommand["word"],
): readonly ScriptedAction[] {
  const onLeg = (legAction: SimulatedLegAction): readonly ScriptedAction[] => [
    { on: "leg", legAction },
  ]
  if (outcome === "missed") return word === "dial" || word === "answer" ? CALLER_HANGS_UP : []
  switch (word) {
    case "dial":
      return onLeg({ action: outcome === "answered" ? "answer" : "hang_up" })
    case "ask":
      return onLeg({ action: "press", digits: "1" })
    case "say":
      return onLeg({ action: "hear" })
    case "join":
      // A recorded call ends with the recording instead.
      return recordedSeconds === null ? CALLER_HANGS_UP : []
    case "record":
      return CALLER_HANGS_UP
    case "answer":
    case "reject":
    case "hang_up":
      return []
  }
}

/** The length of an ended recording, seconds. */
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

// A tone as MP3, built by hand, so that recordings play without an encoder: MPEG-2 layer III, mono,
// 16 kHz, 24 kbps, independent frames of 36 ms.

/** 72 × 24,000 bits per second ÷ 16,000 samples per second. */
const FRAME_BYTES = 108
/** A frame has 576 samples. */
const FRAME_MS = 36
/** MPEG-2, layer III, no checksum; 24 kbps at 16 kHz, no padding; mono. */
const HEADER = [0xff, 0xf3, 0x38, 0xc0]
/** Number of silent frequency pairs, 27.8 Hz each, below the tone. */
const SILENT_PAIRS = 17
/** Volume of the tone. */
const GAIN = 195

/**
 * The side information of the frame's granule and the granule, as values with widths in bits.
 * Huffman table 1 encodes a silent pair as `1`, and a pair whose first frequency sounds as `01` and
 * a sign bit.
 */
function frameBits(): string {
  const pairs = `${"1".repeat(SILENT_PAIRS)}010`
  const fields: readonly (readonly [value: number, bits: number])[] = [
    // No data in the previous frame; a private bit.
    ...([
      [0, 8],
      [0, 1],
    ] as const),
    // Number of bits and pairs, volume; no scale factors, one window type.
    ...([
      [pairs.length, 12],
      [SILENT_PAIRS + 1, 9],
      [GAIN, 8],
      [0, 9],
      [0, 1],
    ] as const),
    // Table 1 in all three regions, and the region bounds.
    ...([
      [1, 5],
      [1, 5],
      [1, 5],
      [0, 4],
      [0, 3],
    ] as const),
    // The scale, and the table of the count1 region.
    ...([
      [0, 1],
      [0, 1],
    ] as const),
  ]
  return fields.map(([value, bits]) => value.toString(2).padStart(bits, "0")).join("") + pairs
}

function createFrame(): Uint8Array {
  const frame = new Uint8Array(FRAME_BYTES)
  frame.set(HEADER)
  const bits = frameBits()
  for (let at = 0; at < bits.length; at += 8) {
    frame[HEADER.length + at / 8] = Number.parseInt(bits.slice(at, at + 8).padEnd(8, "0"), 2)
  }
  return frame
}

const FRAME = createFrame()

/** Generates a tone of some seconds, frame by frame; the last frame is complete. */
export function* generateToneMp3(seconds: number): Iterable<Uint8Array> {
  const frames = Math.ceil((seconds * 1_000) / FRAME_MS)
  for (let i = 0; i < frames; i += 1) yield FRAME
}
