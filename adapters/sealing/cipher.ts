/** The cryptography of sealing: AES-256-GCM, HKDF-SHA-256 and HMAC-SHA-256 of Node's crypto module. */
import type { KeyObject } from "node:crypto"
import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  randomBytes,
} from "node:crypto"
import type { KeyedHash } from "../../domain/kernel/ids.ts"
import { SealFault } from "./port.ts"

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Random bytes are generated in blocks, because a few take as long as a block. */
const RANDOM_BYTES = 8_192

let random = Buffer.alloc(0)

function freshBytes(count: number): Buffer {
  if (random.length < count) random = randomBytes(RANDOM_BYTES)
  const fresh = random.subarray(0, count)
  random = random.subarray(count)
  return fresh
}

/** Returns a new random key of 32 bytes. */
export function newKey(): Buffer {
  return freshBytes(32)
}

/**
 * Returns a key object. Passing bytes instead makes Node create one at each use, which takes longer
 * than encrypting a text.
 */
export function toKeyObject(bytes: Buffer): KeyObject {
  return createSecretKey(bytes)
}

/** Encrypts, and authenticates `context`. Returns nonce, ciphertext and tag in one buffer. */
export function encrypt(key: KeyObject, plain: Uint8Array, context: string): Buffer {
  const nonce = freshBytes(NONCE_BYTES)
  const cipher = createCipheriv("aes-256-gcm", key, nonce)
  cipher.setAAD(Buffer.from(context))
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

/** Decrypts the result of `encrypt`. @throws SealFault if key, context or bytes differ */
export function decrypt(key: KeyObject, box: Buffer, context: string): Buffer {
  if (box.length < NONCE_BYTES + TAG_BYTES) throw new SealFault("The sealed text is too short")
  const decipher = createDecipheriv("aes-256-gcm", key, box.subarray(0, NONCE_BYTES))
  decipher.setAAD(Buffer.from(context))
  decipher.setAuthTag(box.subarray(-TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(box.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
  } catch (error) {
    throw new SealFault("The sealed text cannot be decrypted with its key", { cause: error })
  }
}

/** Derives a key for one purpose. */
export function deriveKey(key: Buffer | KeyObject, purpose: string): Buffer {
  return Buffer.from(hkdfSync("sha256", key, "", purpose, 32))
}

/** Returns a keyed hash of a text, 32 hexadecimal characters. */
export function keyedTag(key: KeyObject, text: string): KeyedHash {
  return createHmac("sha256", key).update(text).digest("hex").slice(0, 32) as KeyedHash
}
