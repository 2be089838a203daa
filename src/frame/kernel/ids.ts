/** Creates ids: random ones, and ones derived from a request so that a retry finds the same. */
import { createHash, randomBytes, randomUUIDv7 } from "node:crypto"

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/** Digits per division: they fit a number exactly, and dividing numbers is much faster than BigInts. */
const DIGITS = 8
const DIGITS_BASE = 62n ** BigInt(DIGITS)

/** Encodes bytes as base62 text of a fixed length. */
export function base62(bytes: Uint8Array): string {
  const length = Math.ceil((bytes.length * 8) / Math.log2(62))
  let value = BigInt(`0x${Buffer.from(bytes).toString("hex") || "0"}`)
  let out = ""
  while (out.length < length) {
    let digits = Number(value % DIGITS_BASE)
    value /= DIGITS_BASE
    for (let i = 0; i < DIGITS; i += 1) {
      out = BASE62[digits % 62] + out
      digits = Math.floor(digits / 62)
    }
  }
  return out.slice(-length)
}

/** Encodes a number as base62 text of at least this many letters. */
export function toBase62(value: number, letters: number): string {
  let rest = value
  let out = ""
  while (out.length < letters || rest > 0) {
    out = `${BASE62[rest % 62]}${out}`
    rest = Math.floor(rest / 62)
  }
  return out
}

/** Decodes base62 text to a number; exact up to eight letters. */
export function fromBase62(text: string): number {
  return [...text].reduce((sum, letter) => sum * 62 + BASE62.indexOf(letter), 0)
}

/** Creates random base62 text of a given length. */
export function randomTag(length: number): string {
  let out = ""
  while (out.length < length) {
    // 248 is the largest multiple of 62 in a byte; larger values would favor the first letters.
    for (const byte of randomBytes(length * 2)) if (byte < 248) out += BASE62[byte % 62]
  }
  return out.slice(0, length)
}

/** Creates an id that sorts by the time of its UUID, `<prefix>_<22 base62 characters>`. */
export function newId<P extends string>(
  prefix: P,
  uuid: string = randomUUIDv7(),
): `${P}_${string}` {
  return `${prefix}_${base62(Buffer.from(uuid.replaceAll("-", ""), "hex"))}`
}

/** Derives an id from texts; the same texts always give the same id. */
export function derivedId<P extends string>(
  prefix: P,
  ...parts: readonly string[]
): `${P}_${string}` {
  const digest = createHash("sha256").update(JSON.stringify(parts)).digest()
  return `${prefix}_${base62(digest.subarray(0, 16))}`
}
