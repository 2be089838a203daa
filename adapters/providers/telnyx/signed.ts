/** What Telnyx calls back, read: the signature over the bytes first, and nothing of a body before it. */
import { z } from "zod"
import { jsonIn } from "../ask-json.ts"
import { openTelnyxSignatures } from "./signature.ts"

/** A call as it was sent. */
export interface SignedCall {
  /** The first value of a header field; null where it was not sent. */
  readonly header: (name: string) => string | null
  readonly raw: Uint8Array
}

/** What an account vouches for. */
export interface SignedSaying {
  /** UTC milliseconds, by Telnyx's clock. */
  readonly signedAt: number
  /** The JSON of the body; undefined where it is none. */
  readonly said: unknown
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
export function openTelnyxReader(
  publicKey: string,
): (call: SignedCall, now: number) => SignedSaying | null {
  const signedAtOf = openTelnyxSignatures(publicKey)
  return ({ header, raw }, now) => {
    const signature = header("telnyx-signature-ed25519")
    const signedAt = signedAtOf({ signature, timestamp: header("telnyx-timestamp"), raw }, now)
    return signedAt === null ? null : { signedAt, said: jsonIn(Buffer.from(raw).toString()) }
  }
}
