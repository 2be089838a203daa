/**
 * The signature of what Telnyx calls back: Ed25519 by the account's key, over the time and the bytes of the
 * body. The address that was called is not signed.
 */
import { createPublicKey, verify } from "node:crypto"

/** What stands before the 32 bytes of an Ed25519 key where it is a key in DER (RFC 8410). */
const SPKI_PREFIX = Buffer.from("302a300506032b6570032100", "hex")
const KEY_BYTES = 32
const SIGNATURE = /^[A-Za-z0-9+/]{86}==$/
const SECONDS = /^\d{1,11}$/
const WINDOW_MS = 300_000

/** A body as it was sent, and what was said of it. */
export interface SignedBody {
  /** The header `telnyx-signature-ed25519`; null where it was not sent. */
  readonly signature: string | null
  /** The header `telnyx-timestamp`, seconds; null where it was not sent. */
  readonly timestamp: string | null
  /** The bytes as they came, before anybody read them. */
  readonly raw: Uint8Array
}

/** Whether a text is a public key of an account: 32 bytes in base64. */
export function isTelnyxKey(text: string): boolean {
  return /^[A-Za-z0-9+/]{43}=$/.test(text)
}

/**
 * Opens the check of signatures by an account's key. It answers when a body was signed, UTC milliseconds;
 * null where the account did not sign it, or not within five minutes of `now`.
 *
 * @param publicKey in base64, as Telnyx shows it
 * @throws RangeError where it is no such key
 */
export function openTelnyxSignatures(
  publicKey: string,
): (sent: SignedBody, now: number) => number | null {
  const bytes = Buffer.from(publicKey, "base64")
  if (bytes.length !== KEY_BYTES) throw new RangeError("the public key must have 32 bytes")
  const der = Buffer.concat([SPKI_PREFIX, bytes])
  const key = createPublicKey({ key: der, format: "der", type: "spki" })
  return ({ signature, timestamp, raw }, now) => {
    if (signature === null || !SIGNATURE.test(signature)) return null
    if (timestamp === null || !SECONDS.test(timestamp)) return null
    const signedAt = Number(timestamp) * 1000
    if (Math.abs(now - signedAt) > WINDOW_MS) return null
    const signed = Buffer.concat([Buffer.from(`${timestamp}|`), raw])
    return verify(null, signed, key, Buffer.from(signature, "base64")) ? signedAt : null
  }
}
