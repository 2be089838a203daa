/** What the built-in carrier remembers of its legs, and how one that is played goes on by itself. */
import type { AudioKind } from "../../../domain/voice/call-events.ts"
import type { VoiceCommand } from "./port.ts"

/** What is to come of a call that goes on by itself. */
export interface SimulatedCallScript {
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
  readonly script: SimulatedCallScript | null
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
    told: 0,
    heard: 0,
    done: [],
  }
}

/** A leg behind a command that it had not been given. */
export function applyCommand(leg: SimulatedLeg, command: VoiceCommand, now: number): SimulatedLeg {
  switch (command.word) {
    case "answer": {
      // Who was to be missed has gone by then.
      if (leg.script?.outcome === "missed") return leg
      return answerLeg(leg, now)
    }
    case "reject":
    case "hang_up":
      return endLeg(leg, now)
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
export function answerLeg(leg: SimulatedLeg, now: number): SimulatedLeg {
  if (leg.state !== "ringing") return leg
  return { ...leg, state: "open", answeredAt: now - (leg.script?.lastsMs ?? 0) }
}

/** A leg that has ended; one that had stays as it is. */
export function endLeg(leg: SimulatedLeg, now: number): SimulatedLeg {
  return leg.state === "gone" ? leg : { ...leg, state: "gone", endedAt: now }
}

/** Something that somebody does, by an operator or by a script. */
export type SimulatedLegAction =
  | { readonly action: "answer" | "hang_up" | "hear" }
  | { readonly action: "press"; readonly digits: string }

/** What somebody does because of a command to a leg: on that leg, or the caller's. */
interface ScriptedAction {
  readonly on: "leg" | "caller"
  readonly legAction: SimulatedLegAction
}

const CALLER_HANGS_UP: readonly ScriptedAction[] = [
  { on: "caller", legAction: { action: "hang_up" } },
]

/** What a script has done because of a command. */
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
      // What is to be recorded ends with that.
      return recordedSeconds === null ? CALLER_HANGS_UP : []
    case "record":
      return CALLER_HANGS_UP
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

// A tone as MP3, made by hand: whoever pretends to be a carrier needs audio that players take, and no
// encoder for it. Frames are of MPEG-2 layer III, mono, 16 kHz, 24 kbps, each 36 ms by itself.

/** Bytes of a frame: 72 × 24,000 bits a second ÷ 16,000 samples a second. */
const FRAME_BYTES = 108
/** A frame is 576 samples. */
const FRAME_MS = 36
/** MPEG-2, layer III, no checksum; 24 kbps at 16 kHz, no padding; mono. */
const HEADER = [0xff, 0xf3, 0x38, 0xc0]
/** So many pairs of frequencies, 27.8 Hz each, are silent before the one that sounds. */
const SILENT_PAIRS = 17
/** How loud it is. */
const GAIN = 195

/**
 * What the frame says of its one granule, then the granule: fields as their values and widths in bits.
 * Huffman table 1 writes a silent pair as `1`, and a pair whose first frequency sounds as `01` and a sign.
 */
function frameBits(): string {
  const pairs = `${"1".repeat(SILENT_PAIRS)}010`
  const fields: readonly (readonly [value: number, bits: number])[] = [
    // Nothing of it stands in the frame before; a private bit.
    ...([
      [0, 8],
      [0, 1],
    ] as const),
    // How many bits and pairs follow, how loud they are; scale factors of no bits, one kind of window.
    ...([
      [pairs.length, 12],
      [SILENT_PAIRS + 1, 9],
      [GAIN, 8],
      [0, 9],
      [0, 1],
    ] as const),
    // Table 1 in each of the three regions, and where those end.
    ...([
      [1, 5],
      [1, 5],
      [1, 5],
      [0, 4],
      [0, 3],
    ] as const),
    // The scale, and the table of what is behind the pairs.
    ...([
      [0, 1],
      [0, 1],
    ] as const),
  ]
  return fields.map(([value, bits]) => value.toString(2).padStart(bits, "0")).join("") + pairs
}

/** Every frame is the same. */
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

/** A tone of so many seconds, frame by frame; the last frame is whole. */
export function* generateToneMp3(seconds: number): Iterable<Uint8Array> {
  const frames = Math.ceil((seconds * 1_000) / FRAME_MS)
  for (let i = 0; i < frames; i += 1) yield FRAME
}
