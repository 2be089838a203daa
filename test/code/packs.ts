/** Packs that no git would make: written byte by byte. */
import { createHash } from "node:crypto"
import { deflateSync } from "node:zlib"

const TYPES = { commit: 1, tree: 2, blob: 3, tag: 4 } as const

/** A pack of these objects, as they are written. */
export function encodePack(objects: readonly Buffer[]): Buffer {
  const head = Buffer.from("PACK\0\0\0\u0002\0\0\0\0", "latin1")
  head.writeUInt32BE(objects.length, 8)
  const bytes = Buffer.concat([head, ...objects])
  return Buffer.concat([bytes, createHash("sha1").update(bytes).digest()])
}

/** An object as a pack has it. */
export const encodePackObject = (type: keyof typeof TYPES, bytes: Uint8Array): Buffer =>
  Buffer.concat([objectHeader(TYPES[type], bytes.length), deflateSync(bytes)])

/**
 * A file that is told as a difference to the object before it: copies of its first 64 KiB, so many that
 * they make more than `size` bytes.
 */
export function encodeCopyDelta(base: Buffer, baseSize: number, size: number): Buffer {
  const copies = Math.ceil(size / 0x10000)
  // Without a size a copy is of 64 KiB, from the beginning.
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

/** The head of an object: three bits of its type, and its size from the low bits on. */
function objectHeader(type: number, size: number): Buffer {
  const [first, rest] = [(type << 4) | (size & 15), Math.floor(size / 16)]
  return rest === 0 ? Buffer.from([first]) : Buffer.from([first | 0x80, ...encodeDeltaSize(rest)])
}

/** Seven bits a byte, the low ones first. */
function encodeDeltaSize(size: number): Buffer {
  const bytes: number[] = []
  for (let rest = size; rest > 0 || bytes.length === 0; rest = Math.floor(rest / 128)) {
    bytes.push((rest % 128) | (rest >= 128 ? 0x80 : 0))
  }
  return Buffer.from(bytes)
}

/** How far back an object is: seven bits a byte, the high ones first, and one less in each but the last. */
function encodeOffset(offset: number): Buffer {
  const bytes = [offset & 127]
  for (let rest = offset >> 7; rest > 0; rest >>= 7) {
    rest -= 1
    bytes.unshift((rest & 127) | 0x80)
  }
  return Buffer.from(bytes)
}
