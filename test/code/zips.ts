/** Zip files for tests, including ones that no tool would write. */
import { crc32, deflateRawSync } from "node:zlib"

/** An entry of a zip; absent fields get valid values. */
export interface ZipEntry {
  readonly name: string
  readonly text?: string | Buffer
  /** Unix mode; an ordinary file by default. */
  readonly mode?: number
  readonly isStored?: boolean
  readonly isEncrypted?: boolean
  /** The unpacked size that its header states. */
  readonly statedSize?: number
  readonly crc?: number
}

/** A zip of these entries. */
export function buildZip(entries: readonly ZipEntry[]): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0
  for (const entry of entries) {
    const { local, central } = encodeZipEntry(entry, at)
    parts.push(local)
    directory.push(central)
    at += local.length
  }
  const listed = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50)
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(listed.length, 12)
  end.writeUInt32LE(at, 16)
  return Buffer.concat([...parts, listed, end])
}

function encodeZipEntry(entry: ZipEntry, at: number) {
  const { name, text = "", mode = 0o100_644, isStored = false, isEncrypted = false } = entry
  const bytes = Buffer.from(text as string)
  const packed = isStored ? bytes : deflateRawSync(bytes)
  const named = Buffer.from(name)
  const shared = Buffer.alloc(26)
  shared.writeUInt16LE(20)
  // Names are UTF-8.
  shared.writeUInt16LE(0x0800 | (isEncrypted ? 1 : 0), 2)
  shared.writeUInt16LE(isStored ? 0 : 8, 4)
  shared.writeUInt32LE(entry.crc ?? crc32(bytes), 10)
  shared.writeUInt32LE(packed.length, 14)
  shared.writeUInt32LE(entry.statedSize ?? bytes.length, 18)
  shared.writeUInt16LE(named.length, 22)
  const head = Buffer.alloc(6)
  head.writeUInt32LE(0x02014b50)
  // Made by Unix.
  head.writeUInt16LE((3 << 8) | 20, 4)
  const tail = Buffer.alloc(14)
  tail.writeUInt32LE((mode << 16) >>> 0, 6)
  tail.writeUInt32LE(at, 10)
  const signature = Buffer.from("504b0304", "hex")
  return {
    local: Buffer.concat([signature, shared, named, packed]),
    central: Buffer.concat([head, shared, tail, named]),
  }
}
