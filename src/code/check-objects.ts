/** What a push brought, object by object: how much it is, and what stands in it that must not. */
import type { PushedObject, IncomingPush } from "../../adapters/git/port.ts"
import { MAX_CHUNK_BYTES } from "../../adapters/git/port.ts"
import type { FoundSecret, ScannedText } from "../../adapters/git/secret-scan/port.ts"
import type { Ports } from "../frame/ports.ts"
import type { PlatformKey } from "./platform-keys.ts"
import { findPlatformKeys } from "./platform-keys.ts"
import type { PushRefusal } from "./push-refusal.ts"
import {
  headerLineCount,
  lineNumberAt,
  describeObject,
  toObjectLine,
  MAX_LOCATIONS,
} from "./push-refusal.ts"

/** A sign that is no letter, in one byte. */
const NON_LETTER = 0xa4

/** So many bytes tell whether a text has two a letter. */
const SNIFFED_BYTES = 512

/** Every two bytes the other way round; an odd one at the end is left out. */
const swapByteOrder = (all: Buffer): Buffer =>
  Buffer.from(all.subarray(0, all.length - (all.length % 2))).swap16()

const MIB = 1024 * 1024
const MAX_BLOB_BYTES = 256 * MIB
/** A commit, a tag or a folder this large is none of anybody's work. */
const MAX_OTHER_OBJECT_BYTES = 8 * MIB
const MAX_PUSH_BYTES = 2_048 * MIB
const MAX_OBJECTS = 1_000_000
/** Larger files are looked through for keys of this service alone: those are read in one piece. */
const MAX_SCANNED_BYTES = MAX_CHUNK_BYTES
/** More than a key has bytes, as letters of two bytes too: none is missed where two pieces meet. */
const OVERLAP_BYTES = 256
/** So much is read, and looked through, at once. */
const READ_BATCH = 2_000
/** The ids of so many objects are kept in memory; of more they are listed again. */
const MAX_KEPT_IDS = 50_000
const SCAN_BATCH_BYTES = 2 * MIB
/** An object's id in a tree, bytes. */
const ID_BYTES = 20

/** How much a push brought. */
export interface PushSize {
  readonly objects: number
  readonly bytes: number
  /** Which ones; null where they are too many to be kept. */
  readonly ids: readonly string[] | null
}

/** How much a push brought, or why it is too much: told without reading any of it. */
export async function measurePush(push: IncomingPush): Promise<PushSize | PushRefusal> {
  let [objects, bytes] = [0, 0]
  const ids: string[] = []
  for await (const one of push.listNewObjects()) {
    objects += 1
    bytes += one.size
    if (objects <= MAX_KEPT_IDS) ids.push(one.id)
    if (one.size > (one.type === "blob" ? MAX_BLOB_BYTES : MAX_OTHER_OBJECT_BYTES)) {
      return tooLarge(`${await describeObject(push, one)}: ${one.size} bytes`)
    }
    if (bytes > MAX_PUSH_BYTES) return tooLarge("more than 2 GiB in all")
    if (objects > MAX_OBJECTS) return tooLarge(`more than ${MAX_OBJECTS} objects`)
  }
  return { objects, bytes, ids: objects > MAX_KEPT_IDS ? null : ids }
}

function tooLarge(place: string): PushRefusal {
  return {
    code: "size",
    reason: "This push is too large, so nothing of it was taken:",
    locations: [place],
    advice:
      "A file has at most 256 MiB, a push 2 GiB. Keep large files elsewhere, or push in parts.",
  }
}

/** A key of this service, and what it stands in; null for the name of a ref. */
export interface FoundPlatformKey extends PlatformKey {
  readonly object: PushedObject | null
  /** Where in it, for people: `line 3`, `byte 4194304`. */
  readonly location: string
  /** Whether that is counted in the header of a commit or a tag. */
  readonly isHeader: boolean
}

/** A secret, and what it stands in; null for the name of a ref. */
export interface FoundPushSecret extends FoundSecret {
  readonly object: PushedObject | null
  readonly isHeader: boolean
}

/** What is told of objects as they are read. */
export interface ScanHandlers {
  /** Called at once, so that a key is switched off whatever comes after it. */
  readonly onKey: (found: FoundPlatformKey) => Promise<void>
  /** Whether it counts: those that are let through do not. */
  readonly isSecret: (found: FoundSecret) => Promise<boolean>
}

/** What the names of refs are told apart by from objects. */
const REFS = "refs"

/**
 * Reads all that a push brought, names of refs included, and answers secrets that count: a few more than are told, at most.
 *
 * @throws SecretScanFailed, and what `listening` throws
 */
export async function scanObjects(
  { secretScan }: Pick<Ports, "secretScan">,
  push: IncomingPush,
  { ids }: Pick<PushSize, "ids">,
  { onKey, isSecret }: ScanHandlers,
): Promise<readonly FoundPushSecret[]> {
  const found: FoundPushSecret[] = []
  const read = new Map<string, PushedObject & { readonly before: number }>()
  // Of what is only taken away nothing stays.
  const names = push.updates.flatMap(({ ref, new: wanted }) => (wanted === null ? [] : ref))
  let texts: ScannedText[] = names.length === 0 ? [] : [{ id: REFS, text: names.join("\n") }]
  let length = 0
  const scan = async () => {
    const all = await secretScan.scan(texts)
    for (const one of all) {
      const object = one.id === REFS ? null : read.get(one.id)
      if (object === undefined || !(await isSecret(one))) continue
      found.push({ ...one, ...toObjectLine(one.line, object?.before ?? 0), object: object })
      if (found.length > MAX_LOCATIONS) break
    }
    texts = []
    length = 0
    read.clear()
  }
  const withSeam = openOverlapBuffer()
  for await (const { bytes: piece, offset, ...object } of contentsOf(push, ids)) {
    const bytes = piece.length === object.size ? piece : withSeam(offset, piece)
    const before = headerLineCount(object.type, bytes)
    for (const key of findPlatformKeys(bytes)) {
      const isWhole = piece.length === object.size
      const place = offset - (bytes.length - piece.length) + key.offset
      const { isHeader, line } = toObjectLine(lineNumberAt(bytes, key.offset), isWhole ? before : 0)
      await onKey({
        ...key,
        object: object,
        isHeader,
        location: isWhole ? `line ${line}` : `byte ${place}`,
      })
    }
    // Whoever has so many mends them first; keys of this service are looked for to the end.
    if (found.length > MAX_LOCATIONS || object.size > MAX_SCANNED_BYTES) continue
    const ways = object.type === "tree" ? [treeEntryNames(bytes, ID_BYTES)] : scannableTexts(bytes)
    read.set(object.id, { ...object, before })
    for (const text of ways) {
      texts.push({ id: object.id, text })
      length += text.length
    }
    if (length > SCAN_BATCH_BYTES) await scan()
  }
  if (texts.length > 0) await scan()
  return found
}

/**
 * Puts the end of a piece before the next one of its object. What it answers is overwritten by the next
 * call: a push of gigabytes leaves nothing behind.
 */
function openOverlapBuffer(): (from: number, piece: Uint8Array) => Uint8Array {
  let room = Buffer.alloc(OVERLAP_BYTES)
  let length = 0
  return (from, piece) => {
    const kept = from === 0 ? 0 : Math.min(OVERLAP_BYTES, length)
    room.copyWithin(0, length - kept, length)
    length = kept + piece.length
    if (room.length < length) room = Buffer.concat([room.subarray(0, kept)], 2 * length)
    room.set(piece, kept)
    return room.subarray(0, length)
  }
}

/** Everything that a push brought, with its bytes. */
async function* contentsOf(push: IncomingPush, known: PushSize["ids"]) {
  if (known !== null) {
    if (known.length > 0) yield* push.readObjects(known)
    return
  }
  let ids: string[] = []
  for await (const { id } of push.listNewObjects()) {
    ids.push(id)
    if (ids.length < READ_BATCH) continue
    yield* push.readObjects(ids)
    ids = []
  }
  if (ids.length > 0) yield* push.readObjects(ids)
}

/** The names in a tree, one a line: what stands between them are ids, which nobody wrote. */
function treeEntryNames(tree: Uint8Array, idLength: number): string {
  const all = Buffer.from(tree.buffer, tree.byteOffset, tree.byteLength)
  const names: string[] = []
  for (let at = 0; at < all.length;) {
    const space = all.indexOf(0x20, at)
    const end = all.indexOf(0, space)
    if (space === -1 || end === -1) break
    names.push(all.toString("latin1", space + 1, end))
    at = end + 1 + idLength
  }
  return names.join("\n")
}

/**
 * A file's bytes as text: a character a byte, and two where the file may be read so. Both, for its first
 * bytes may say one thing and the rest be another.
 */
function scannableTexts(bytes: Uint8Array): readonly string[] {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const wide = utf16TextOf(all)
  const plain = latin1TextOf(all)
  return wide === null ? [plain] : [wide, plain]
}

/** A text of a character a byte. What is not ASCII is no letter in it, or it would hide what stands behind it. */
function latin1TextOf(all: Buffer): string {
  const bytes = Buffer.from(all)
  for (let at = 0; at < bytes.length; at += 1) {
    if ((bytes[at] as number) > 0x7f) bytes[at] = NON_LETTER
  }
  return bytes.toString("latin1")
}

/** A text of two bytes a letter; null where nothing speaks for that. */
function utf16TextOf(all: Buffer): string | null {
  if (all[0] === 0xff && all[1] === 0xfe) return all.toString("utf16le", 2)
  if (all[0] === 0xfe && all[1] === 0xff) return swapByteOrder(all).toString("utf16le", 2)
  const head = all.subarray(0, SNIFFED_BYTES)
  const zeros = [0, 0]
  for (const [at, byte] of head.entries()) if (byte === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1
  const [even = 0, odd = 0] = zeros
  // Most letters of keys and of programs have a zero for one of their bytes.
  const most = head.length / 4
  if (odd > most && even <= most / 8) return all.toString("utf16le")
  return even > most && odd <= most / 8 ? swapByteOrder(all).toString("utf16le") : null
}
