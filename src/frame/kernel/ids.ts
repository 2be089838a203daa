/** Making ids: new ones, and ones that derive from a request so that doing it again finds them. */
import { createHash, randomBytes, randomUUIDv7 } from "node:crypto"

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/** So many digits fit a number exactly, and numbers are divided far quicker than BigInts. */
const DIGITS = 8
const DIGITS_BASE = 62n ** BigInt(DIGITS)

/** Bytes as base62 text of a fixed length, enough digits for all of them. */
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

/** A number as base62 text of at least so many letters. */
export function toBase62(value: number, letters: number): string {
  let rest = value
  let out = ""
  while (out.length < letters || rest > 0) {
    out = `${BASE62[rest % 62]}${out}`
    rest = Math.floor(rest / 62)
  }
  return out
}

/** The number that a base62 text is; exact up to eight letters. */
export function fromBase62(text: string): number {
  return [...text].reduce((sum, letter) => sum * 62 + BASE62.indexOf(letter), 0)
}

/** Random base62 text of a given length. */
export function randomTag(length: number): string {
  let out = ""
  while (out.length < length) {
    // 248 is the largest multiple of 62 in a byte: the rest would favour the first letters.
    for (const byte of randomBytes(length * 2)) if (byte < 248) out += BASE62[byte % 62]
  }
  return out.slice(0, length)
}

/** A new id that sorts by the time its UUID was made, `<prefix>_<22 base62 characters>`. */
export function newId<P extends string>(
  prefix: P,
  uuid: string = randomUUIDv7(),
): `${P}_${string}` {
  return `${prefix}_${base62(Buffer.from(uuid.replaceAll("-", ""), "hex"))}`
}

/** The id that always derives from these texts. */
export function derivedId<P extends string>(
  prefix: P,
  ...parts: readonly string[]
): `${P}_${string}` {
  const digest = createHash("sha256").update(JSON.stringify(parts)).digest()
  return `${prefix}_${base62(digest.subarray(0, 16))}`
}
