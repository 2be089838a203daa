/**
 * A tone as MP3, made by hand: whoever pretends to be a carrier needs audio that players take, and no
 * encoder for it. Frames are of MPEG-2 layer III, mono, 16 kHz, 24 kbps, each 36 ms by itself.
 */

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
function bitsOf(): string {
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
function frameOf(): Uint8Array {
  const frame = new Uint8Array(FRAME_BYTES)
  frame.set(HEADER)
  const bits = bitsOf()
  for (let at = 0; at < bits.length; at += 8) {
    frame[HEADER.length + at / 8] = Number.parseInt(bits.slice(at, at + 8).padEnd(8, "0"), 2)
  }
  return frame
}

const FRAME = frameOf()

/** A tone of so many seconds, frame by frame; the last frame is whole. */
export function* toneMp3(seconds: number): Iterable<Uint8Array> {
  const frames = Math.ceil((seconds * 1_000) / FRAME_MS)
  for (let i = 0; i < frames; i += 1) yield FRAME
}
