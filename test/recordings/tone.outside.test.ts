/** The tone of simulated calls is valid MP3, according to a player and to our own frame parser. */
import { spawnSync } from "node:child_process"
import { describe, expect, it } from "vitest"
import { generateToneMp3 } from "../../adapters/providers/voice/simulated-call.ts"
import { missingProgramReason } from "../billing/programs.ts"

const absent = missingProgramReason("mpg123")
const needed = absent ?? "mpg123 is installed here"

/** Kilobits per second of MPEG-2 layer III, by the index in a frame's header. */
const KBPS = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]
const HERTZ = [22_050, 24_000, 16_000]
const SAMPLES = 576

/** The frame headers, read as a player does: each header tells where the next frame starts. */
function framesOf(mp3: Buffer) {
  const frames: { readonly isMono: boolean; readonly hertz: number; readonly bytes: number }[] = []
  for (let at = 0; at < mp3.length;) {
    const header = mp3.readUInt32BE(at)
    // Eleven sync bits, MPEG-2, layer III, no checksum.
    if (header >>> 16 !== 0xff_f3) throw new Error(`there is no frame at ${at}`)
    const hertz = HERTZ[(header >>> 10) & 3] ?? 0
    const bits = (KBPS[(header >>> 12) & 15] ?? 0) * 1_000
    const bytes = Math.floor(((SAMPLES / 8) * bits) / hertz) + ((header >>> 9) & 1)
    frames.push({ isMono: ((header >>> 6) & 3) === 3, hertz, bytes })
    at += bytes
  }
  return frames
}

const mp3Of = (seconds: number): Buffer => Buffer.concat([...generateToneMp3(seconds)])

describe("the tone", () => {
  it.for([
    [0, 0],
    [0.001, 1],
    [0.036, 1],
    [0.037, 2],
    [10, 278],
    [3_600, 100_000],
  ])("of %d seconds is %i whole frames of 36 ms", ([seconds = 0, count = 0]) => {
    const mp3 = mp3Of(seconds)
    const frames = framesOf(mp3)
    expect([frames.length, mp3.length]).toEqual([count, count * 108])
    expect(new Set(frames.map((frame) => JSON.stringify(frame))).size).toBe(Math.min(count, 1))
    for (const frame of frames.slice(0, 1)) {
      expect(frame).toEqual({ isMono: true, hertz: 16_000, bytes: 108 })
    }
  })

  it("is played to its end without a warning", (ctx) => {
    ctx.skip(absent !== null, needed)
    const mp3 = mp3Of(10)
    expect(play(["-t", "-q"], mp3)).toEqual({ status: 0, warnings: "", audio: Buffer.alloc(0) })
    const { audio } = play(["-q", "-s"], mp3)
    expect(audio.length / 2 / 16_000).toBeCloseTo(10.008, 3)
    const samples = new Int16Array(audio.buffer, audio.byteOffset, audio.length / 2)
    const rises = samples.filter((sample, i) => sample >= 0 && (samples[i - 1] ?? 0) < 0).length
    expect(rises / 10).toBeGreaterThan(440)
    expect(rises / 10).toBeLessThan(500)
    expect(samples.reduce((most, sample) => Math.max(most, sample), 0)).toBeGreaterThan(1_000)
  })
})

/** Plays MP3 and returns the player's warnings and samples. */
function play(args: readonly string[], input: Buffer) {
  const { status, stdout, stderr } = spawnSync("mpg123", [...args, "-"], { input })
  return { status, warnings: String(stderr), audio: stdout }
}
