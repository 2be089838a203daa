/** Packs of git as the built-in boxes read and write them: whole, in memory. */
import { createHash } from "node:crypto"
import { deflateSync, inflateSync } from "node:zlib"
import type { MemoryObject } from "./built-in-command.ts"

const NUMBERS = { commit: 1, tree: 2, blob: 3, tag: 4 } as const
const OFFSET_DELTA = 6
const ID_DELTA = 7

/** The id of an object. */
export function idOf({ type, bytes }: MemoryObject): string {
  return createHash("sha1").update(`${type} ${bytes.length}\0`).update(bytes).digest("hex")
}

/** A pack of these objects, none of them as a difference. */
export function packOf(objects: readonly MemoryObject[]): Buffer {
  const head = Buffer.from("PACK\0\0\0\u0002\0\0\0\0", "latin1")
  head.writeUInt32BE(objects.length, 8)
  const entries = objects.flatMap(({ type, bytes }) => [
    headOf(NUMBERS[type], bytes.length),
    deflateSync(bytes),
  ])
  const pack = Buffer.concat([head, ...entries])
  return Buffer.concat([pack, createHash("sha1").update(pack).digest()])
}

/** The type and the size of an object: seven bits a byte, the first has four and the type. */
function headOf(type: number, size: number): Buffer {
  const bytes = [(type << 4) | (size & 15)]
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80
    bytes.push(rest & 127)
  }
  return Buffer.from(bytes)
}

/** The objects of a pack that needs no other, by their ids. @throws RangeError where it is torn */
export function objectsIn(pack: Buffer): ReadonlyMap<string, MemoryObject> {
  const sum = createHash("sha1").update(pack.subarray(0, -20)).digest()
  if (pack.toString("latin1", 0, 4) !== "PACK" || !sum.equals(pack.subarray(-20))) {
    throw new RangeError("the pack is torn")
  }
  const byId = new Map<string, MemoryObject>()
  const byOffset = new Map<number, MemoryObject>()
  const reader = { pack, at: 12 }
  for (let left = pack.readUInt32BE(8); left > 0; left -= 1) {
    const from = reader.at
    const object = objectAt(reader, byId, byOffset)
    byOffset.set(from, object)
    byId.set(idOf(object), object)
  }
  return byId
}

interface Reader {
  readonly pack: Buffer
  at: number
}

const next = (reader: Reader): number => {
  const byte = reader.pack.readUInt8(reader.at)
  reader.at += 1
  return byte
}

function objectAt(
  reader: Reader,
  byId: ReadonlyMap<string, MemoryObject>,
  byOffset: ReadonlyMap<number, MemoryObject>,
): MemoryObject {
  const from = reader.at
  let byte = next(reader)
  const number = (byte >> 4) & 7
  // Its size is seen when it is unpacked.
  while (byte >= 128) byte = next(reader)
  let base: MemoryObject | undefined
  if (number === OFFSET_DELTA) base = byOffset.get(from - offsetAt(reader))
  if (number === ID_DELTA) {
    base = byId.get(reader.pack.toString("hex", reader.at, reader.at + 20))
    reader.at += 20
  }
  const { buffer, engine } = inflateSync(reader.pack.subarray(reader.at), {
    info: true,
  }) as unknown as { buffer: Buffer; engine: { bytesWritten: number } }
  reader.at += engine.bytesWritten
  if (number === OFFSET_DELTA || number === ID_DELTA) {
    // Git writes what others build on before them.
    if (base === undefined) throw new RangeError("the pack needs an object that it does not have")
    return { type: base.type, bytes: patched(base.bytes, buffer) }
  }
  const types = Object.keys(NUMBERS) as MemoryObject["type"][]
  const type = types.find((name) => NUMBERS[name] === number)
  if (type === undefined) throw new RangeError(`the pack has an object of the type ${number}`)
  return { type, bytes: buffer }
}

/** How far back an object is: seven bits a byte, the high ones first, and one less in each but the last. */
function offsetAt(reader: Reader): number {
  let byte = next(reader)
  let offset = byte & 127
  while (byte >= 128) {
    byte = next(reader)
    offset = (offset + 1) * 128 + (byte & 127)
  }
  return offset
}

function sizeAt(reader: Reader): number {
  let [size, unit, byte] = [0, 1, 128]
  while (byte >= 128) {
    byte = next(reader)
    size += (byte & 127) * unit
    unit *= 128
  }
  return size
}

/** What a difference makes of an object. */
function patched(base: Buffer, delta: Buffer): Buffer {
  const reader = { pack: delta, at: 0 }
  // The sizes of both.
  sizeAt(reader)
  sizeAt(reader)
  const pieces: Buffer[] = []
  while (reader.at < delta.length) {
    const order = next(reader)
    if (order < 128) {
      pieces.push(delta.subarray(reader.at, reader.at + order))
      reader.at += order
      continue
    }
    const numberOf = (bits: readonly number[]) =>
      bits.reduce((sum, bit, i) => sum + ((order & bit) === 0 ? 0 : next(reader) * 256 ** i), 0)
    const from = numberOf([1, 2, 4, 8])
    const length = numberOf([16, 32, 64]) || 0x10000
    pieces.push(base.subarray(from, from + length))
  }
  return Buffer.concat(pieces)
}
