/** Reads webhooks of Telnyx. The signature over the bytes is verified before the body is parsed. */
import { z } from "zod"
import { parseJsonOrUndefined } from "../json-request.ts"
import { createPublicKey, verify } from "node:crypto"

/** The DER prefix of a 32-byte Ed25519 public key (RFC 8410). */
const SPKI_PREFIX = Buffer.from("302a300506032b6570032100", "hex")

const KEY_BYTES = 32

const SIGNATURE = /^[A-Za-z0-9+/]{86}==$/

const TIMESTAMP = /^\d{1,11}$/

const MAX_AGE_MS = 300_000

interface SignedBody {
  /** The header `telnyx-signature-ed25519`; null if it is missing. */
  readonly signature: string | null
  /** The header `telnyx-timestamp`, seconds; null if it is missing. */
  readonly timestamp: string | null
  /** The body's bytes, unparsed. */
  readonly raw: Uint8Array
}

/** A webhook request as received. */
export interface SignedRequest {
  /** The first value of a header field; null if it is missing. */
  readonly header: (name: string) => string | null
  readonly raw: Uint8Array
}

export interface SignedMessage {
  /** UTC milliseconds, by Telnyx's clock. */
  readonly signedAt: number
  /** The body's JSON; undefined if the body is not JSON. */
  readonly body: unknown
}

export const TelnyxEvent = z.object({
  data: z.object({ id: z.string().min(1), event_type: z.string(), payload: z.unknown() }),
})

/**
 * Opens a reader of signed webhooks. It returns null if the signature is invalid or older or newer
 * than five minutes at `now`.
 *
 * @param publicKey in base64, as Telnyx shows it
 * @throws RangeError if the text is not such a key
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

/** Whether a text is an account's public key: 32 bytes in base64. */
export function isTelnyxPublicKey(text: string): boolean {
  return /^[A-Za-z0-9+/]{43}=$/.test(text)
}

/**
 * Opens a signature check for an account's key. It returns when the body was signed, UTC
 * milliseconds; null if the signature is invalid or more than five minutes away from `now`.
 *
 * @param publicKey in base64, as Telnyx shows it
 * @throws RangeError if the text is not such a key
 */
export function openTelnyxSignatureCheck(
  publicKey: string,
): (sent: SignedBody, now: number) => number | null {
  const bytes = Buffer.from(publicKey, "base64")
  if (bytes.length !== KEY_BYTES)
    throw new RangeError(
      `The public key of Telnyx has ${bytes.length} bytes instead of 32. Copy it from the Telnyx portal, in base64.`,
    )
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
