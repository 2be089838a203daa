/** Checks the objects of a push: their size, and the keys and secrets in them. */
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

/** A byte that is not a letter in Latin-1. */
const NON_LETTER = 0xa4

/** Enough bytes to recognize UTF-16. */
const SNIFFED_BYTES = 512

/** Swaps every pair of bytes; drops an odd byte at the end. */
const swapByteOrder = (all: Buffer): Buffer =>
  Buffer.from(all.subarray(0, all.length - (all.length % 2))).swap16()

const MIB = 1024 * 1024
const MAX_BLOB_BYTES = 256 * MIB
/** No legitimate commit, tag or folder is this large. */
const MAX_OTHER_OBJECT_BYTES = 8 * MIB
const MAX_PUSH_BYTES = 2_048 * MIB
const MAX_OBJECTS = 1_000_000
/** Larger files are scanned only for keys of this service, because the secret scanner needs a whole file. */
const MAX_SCANNED_BYTES = MAX_CHUNK_BYTES
/** Longer than a key in UTF-16, so a key that spans two pieces is found. */
const OVERLAP_BYTES = 256
/** Number of objects read and scanned together. */
const READ_BATCH = 2_000
/** A larger push does not keep its object ids in memory; they are listed again. */
const MAX_KEPT_IDS = 50_000
const SCAN_BATCH_BYTES = 2 * MIB
/** Bytes of an object id in a tree. */
const ID_BYTES = 20

export interface PushSize {
  readonly objects: number
  readonly bytes: number
  /** Object ids; null if there are too many to keep. */
  readonly ids: readonly string[] | null
}

/** Measures a push, or refuses it as too large, without reading its objects. */
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

function tooLarge(location: string): PushRefusal {
  return {
    code: "size",
    reason: "Push rejected: it is too large.",
    locations: [location],
    advice:
      "The limits are 256 MiB for a file and 2 GiB for a push. Store large files elsewhere, or push in parts.",
  }
}

/** A key of this service and the object that holds it; null for the name of a ref. */
export interface FoundPlatformKey extends PlatformKey {
  readonly object: PushedObject | null
  /** Position for people: `line 3`, `byte 4194304`. */
  readonly location: string
  /** Whether the line is counted in the header of a commit or tag. */
  readonly isHeader: boolean
}

/** A secret and the object that holds it; null for the name of a ref. */
export interface FoundPushSecret extends FoundSecret {
  readonly object: PushedObject | null
  readonly isHeader: boolean
}

export interface ScanHandlers {
  /** Called immediately, so that the key is revoked even if the scan fails later. */
  readonly onKey: (found: FoundPlatformKey) => Promise<void>
  /** Whether the secret counts; allowed ones do not. */
  readonly isSecret: (found: FoundSecret) => Promise<boolean>
}

/** Stands for an object id where the names of refs are scanned. */
const REFS = "refs"

/**
 * Scans all objects and ref names of a push. Returns the secrets that count; it stops soon after
 * `MAX_LOCATIONS`, while keys of this service are looked for to the end.
 *
 * @throws SecretScanFailed, and the errors of the handlers
 */
export async function scanObjects(
  { secretScan }: Pick<Ports, "secretScan">,
  push: IncomingPush,
  { ids }: Pick<PushSize, "ids">,
  { onKey, isSecret }: ScanHandlers,
): Promise<readonly FoundPushSecret[]> {
  const found: FoundPushSecret[] = []
  const read = new Map<string, PushedObject & { readonly before: number }>()
  // Deleted refs leave no name behind.
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
  const withOverlap = openOverlapBuffer()
  for await (const { bytes: piece, offset, ...object } of contentsOf(push, ids)) {
    const bytes = piece.length === object.size ? piece : withOverlap(offset, piece)
    const before = headerLineCount(object.type, bytes)
    for (const key of findPlatformKeys(bytes)) {
      const isWhole = piece.length === object.size
      const byte = offset - (bytes.length - piece.length) + key.offset
      const { isHeader, line } = toObjectLine(lineNumberAt(bytes, key.offset), isWhole ? before : 0)
      await onKey({
        ...key,
        object: object,
        isHeader,
        location: isWhole ? `line ${line}` : `byte ${byte}`,
      })
    }
    // More secrets than the refusal shows need no scan.
    if (found.length > MAX_LOCATIONS || object.size > MAX_SCANNED_BYTES) continue
    const candidates =
      object.type === "tree" ? [treeEntryNames(bytes, ID_BYTES)] : scannableTexts(bytes)
    read.set(object.id, { ...object, before })
    for (const text of candidates) {
      texts.push({ id: object.id, text })
      length += text.length
    }
    if (length > SCAN_BATCH_BYTES) await scan()
  }
  if (texts.length > 0) await scan()
  return found
}

/**
 * Puts the end of the previous piece before the next one of the same object. The next call overwrites the
 * returned bytes, so a push of gigabytes needs one buffer.
 */
function openOverlapBuffer(): (from: number, piece: Uint8Array) => Uint8Array {
  let buffer = Buffer.alloc(OVERLAP_BYTES)
  let length = 0
  return (from, piece) => {
    const overlap = from === 0 ? 0 : Math.min(OVERLAP_BYTES, length)
    buffer.copyWithin(0, length - overlap, length)
    length = overlap + piece.length
    if (buffer.length < length) buffer = Buffer.concat([buffer.subarray(0, overlap)], 2 * length)
    buffer.set(piece, overlap)
    return buffer.subarray(0, length)
  }
}

/** All objects of a push, with their bytes. */
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

/** The names in a tree, one per line, without the ids between them. */
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
 * The texts of a file to scan: one character per byte, and UTF-16 if the bytes may be that. Both, because
 * the first bytes can mislead.
 */
function scannableTexts(bytes: Uint8Array): readonly string[] {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const wide = utf16TextOf(all)
  const plain = latin1TextOf(all)
  return wide === null ? [plain] : [wide, plain]
}

/** Reads one character per byte; a byte that is not ASCII becomes a non-letter, so it hides no secret after it. */
function latin1TextOf(all: Buffer): string {
  const bytes = Buffer.from(all)
  for (let at = 0; at < bytes.length; at += 1) {
    if ((bytes[at] as number) > 0x7f) bytes[at] = NON_LETTER
  }
  return bytes.toString("latin1")
}

/** Reads UTF-16; null if the bytes do not look like it. */
function utf16TextOf(all: Buffer): string | null {
  if (all[0] === 0xff && all[1] === 0xfe) return all.toString("utf16le", 2)
  if (all[0] === 0xfe && all[1] === 0xff) return swapByteOrder(all).toString("utf16le", 2)
  const head = all.subarray(0, SNIFFED_BYTES)
  const zeros = [0, 0]
  for (const [at, byte] of head.entries()) if (byte === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1
  const [even = 0, odd = 0] = zeros
  // In UTF-16 one byte of most letters in keys and programs is zero.
  const most = head.length / 4
  if (odd > most && even <= most / 8) return all.toString("utf16le")
  return even > most && odd <= most / 8 ? swapByteOrder(all).toString("utf16le") : null
}
