/** Packs that git would not write, encoded byte by byte. */
import { createHash } from "node:crypto"
import { deflateSync } from "node:zlib"

const TYPES = { commit: 1, tree: 2, blob: 3, tag: 4 } as const

/** A pack of encoded objects. */
export function encodePack(objects: readonly Buffer[]): Buffer {
  const head = Buffer.from("PACK\0\0\0\u0002\0\0\0\0", "latin1")
  head.writeUInt32BE(objects.length, 8)
  const bytes = Buffer.concat([head, ...objects])
  return Buffer.concat([bytes, createHash("sha1").update(bytes).digest()])
}

/** An object in the format of a pack. */
export const encodePackObject = (type: keyof typeof TYPES, bytes: Uint8Array): Buffer =>
  Buffer.concat([objectHeader(TYPES[type], bytes.length), deflateSync(bytes)])

/**
 * A file that is a delta of the previous object: copies of its first 64 KiB that add up to at least `size` bytes.
 */
export function encodeCopyDelta(base: Buffer, baseSize: number, size: number): Buffer {
  const copies = Math.ceil(size / 0x10000)
  // A copy without a size copies 64 KiB from the beginning.
  const delta = Buffer.concat([
    encodeDeltaSize(baseSize),
    encodeDeltaSize(copies * 0x10000),
    Buffer.alloc(copies, 0x80),
  ])
  return Buffer.concat([
    objectHeader(6, delta.length),
    encodeOffset(base.length),
    deflateSync(delta),
  ])
}

/** An object's header: three bits for the type, then the size with the low bits first. */
function objectHeader(type: number, size: number): Buffer {
  const [first, rest] = [(type << 4) | (size & 15), Math.floor(size / 16)]
  return rest === 0 ? Buffer.from([first]) : Buffer.from([first | 0x80, ...encodeDeltaSize(rest)])
}

/** Encodes seven bits per byte, low bits first. */
function encodeDeltaSize(size: number): Buffer {
  const bytes: number[] = []
  for (let rest = size; rest > 0 || bytes.length === 0; rest = Math.floor(rest / 128)) {
    bytes.push((rest % 128) | (rest >= 128 ? 0x80 : 0))
  }
  return Buffer.from(bytes)
}

/** Encodes the distance to a previous object: seven bits per byte, high bits first, minus one in all but the last. */
function encodeOffset(offset: number): Buffer {
  const bytes = [offset & 127]
  for (let rest = offset >> 7; rest > 0; rest >>= 7) {
    rest -= 1
    bytes.unshift((rest & 127) | 0x80)
  }
  return Buffer.from(bytes)
}
