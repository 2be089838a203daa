/** What Telnyx calls back, read: the signature over the bytes first, and nothing of a body before it. */
import { z } from "zod"
import { parseJsonOrUndefined } from "../json-request.ts"
import { createPublicKey, verify } from "node:crypto"

/** What stands before the 32 bytes of an Ed25519 key where it is a key in DER (RFC 8410). */
const SPKI_PREFIX = Buffer.from("302a300506032b6570032100", "hex")

const KEY_BYTES = 32

const SIGNATURE = /^[A-Za-z0-9+/]{86}==$/

const TIMESTAMP = /^\d{1,11}$/

const MAX_AGE_MS = 300_000

/** A body as it was sent, and what was said of it. */
interface SignedBody {
  /** The header `telnyx-signature-ed25519`; null where it was not sent. */
  readonly signature: string | null
  /** The header `telnyx-timestamp`, seconds; null where it was not sent. */
  readonly timestamp: string | null
  /** The bytes as they came, before anybody read them. */
  readonly raw: Uint8Array
}

/** A call as it was sent. */
export interface SignedRequest {
  /** The first value of a header field; null where it was not sent. */
  readonly header: (name: string) => string | null
  readonly raw: Uint8Array
}

/** What an account vouches for. */
export interface SignedMessage {
  /** UTC milliseconds, by Telnyx's clock. */
  readonly signedAt: number
  /** The JSON of the body; undefined where it is none. */
  readonly body: unknown
}

/** What stands around an event. */
export const TelnyxEvent = z.object({
  data: z.object({ id: z.string().min(1), event_type: z.string(), payload: z.unknown() }),
})

/**
 * Opens the reading of what an account signs; null where it did not, or not within five minutes of `now`.
 *
 * @param publicKey in base64, as Telnyx shows it
 * @throws RangeError where it is no such key
 */
export function openTelnyxWebhookReader(
  publicKey: string,
): (call: SignedRequest, now: number) => SignedMessage | null {
  const signedAtOf = openTelnyxSignatureCheck(publicKey)
  return ({ header, raw }, now) => {
    const signature = header("telnyx-signature-ed25519")
    const signedAt = signedAtOf({ signature, timestamp: header("telnyx-timestamp"), raw }, now)
    return signedAt === null
      ? null
      : { signedAt, body: parseJsonOrUndefined(Buffer.from(raw).toString()) }
  }
}

/** Whether a text is a public key of an account: 32 bytes in base64. */
export function isTelnyxPublicKey(text: string): boolean {
  return /^[A-Za-z0-9+/]{43}=$/.test(text)
}

/**
 * Opens the check of signatures by an account's key. It answers when a body was signed, UTC milliseconds;
 * null where the account did not sign it, or not within five minutes of `now`.
 *
 * @param publicKey in base64, as Telnyx shows it
 * @throws RangeError where it is no such key
 */
export function openTelnyxSignatureCheck(
  publicKey: string,
): (sent: SignedBody, now: number) => number | null {
  const bytes = Buffer.from(publicKey, "base64")
  if (bytes.length !== KEY_BYTES) throw new RangeError("the public key must have 32 bytes")
  const der = Buffer.concat([SPKI_PREFIX, bytes])
  const key = createPublicKey({ key: der, format: "der", type: "spki" })
  return ({ signature, timestamp, raw }, now) => {
    if (signature === null || !SIGNATURE.test(signature)) return null
    if (timestamp === null || !TIMESTAMP.test(timestamp)) return null
    const signedAt = Number(timestamp) * 1000
    if (Math.abs(now - signedAt) > MAX_AGE_MS) return null
    const signed = Buffer.concat([Buffer.from(`${timestamp}|`), raw])
    return verify(null, signed, key, Buffer.from(signature, "base64")) ? signedAt : null
  }
}
