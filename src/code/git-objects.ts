/** Objects of git as bytes: what people wrote in them, and what they name. */

/** The names in a tree, one a line: what stands between them are ids, which nobody wrote. */
export function namesIn(tree: Uint8Array, idLength: number): string {
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
export function textsOf(bytes: Uint8Array): readonly string[] {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const wide = wideTextOf(all)
  const plain = plainTextOf(all)
  return wide === null ? [plain] : [wide, plain]
}

/** A sign that is no letter, in one byte. */
const NO_LETTER = 0xa4

/** A text of a character a byte. What is not ASCII is no letter in it, or it would hide what stands behind it. */
function plainTextOf(all: Buffer): string {
  const bytes = Buffer.from(all)
  for (let at = 0; at < bytes.length; at += 1) {
    if ((bytes[at] as number) > 0x7f) bytes[at] = NO_LETTER
  }
  return bytes.toString("latin1")
}

/** So many bytes tell whether a text has two a letter. */
const LOOKED_AT = 512

/** A text of two bytes a letter; null where nothing speaks for that. */
function wideTextOf(all: Buffer): string | null {
  if (all[0] === 0xff && all[1] === 0xfe) return all.toString("utf16le", 2)
  if (all[0] === 0xfe && all[1] === 0xff) return swapped(all).toString("utf16le", 2)
  const head = all.subarray(0, LOOKED_AT)
  const zeros = [0, 0]
  for (const [at, byte] of head.entries()) if (byte === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1
  const [even = 0, odd = 0] = zeros
  // Most letters of keys and of programs have a zero for one of their bytes.
  const most = head.length / 4
  if (odd > most && even <= most / 8) return all.toString("utf16le")
  return even > most && odd <= most / 8 ? swapped(all).toString("utf16le") : null
}

/** Every two bytes the other way round; an odd one at the end is left out. */
const swapped = (all: Buffer): Buffer =>
  Buffer.from(all.subarray(0, all.length - (all.length % 2))).swap16()
