/**
 * API keys and sign-ins (docs/decisions/access.md).
 *
 * An API key is `cpk_<company tag 6>_<key tag 8>_<secret 43><checksum 6>`; the secret is base62 of 32 random
 * bytes. The checksum lets a scanner, and this server, reject a mistyped key without a look-up; it protects
 * nothing else.
 *
 * A call with the app key can carry a sign-in of a person in the app:
 *
 *     X-Person-Id: per_…
 *     X-Person-Time: 2026-11-21T12:00:00.000Z
 *     X-Person-Signature: <64 hexadecimal digits>
 *
 * The signature is HMAC-SHA-256, keyed with the app's secret as it was shown, over five texts joined by line
 * feeds: the method, the path with its query as sent, the SHA-256 of the body's bytes in hexadecimal (of no
 * bytes without a body), the time and the person's id as in the headers.
 */
import { hash, randomBytes, timingSafeEqual, createHmac } from "node:crypto"
import type { CompanyId, KeyId } from "../../../../domain/kernel/ids.ts"
import { companyIdFromTag, keyIdFromTag, tagOfId } from "../../../../domain/kernel/ids.ts"
import { base62, randomTag } from "../../kernel/ids.ts"
import type { HeaderFields } from "../declare/route.ts"
import type { Refusal } from "../answers/refusal.ts"
import { refusal } from "../answers/refusal.ts"

const FORM = /^cpk_([0-9A-Za-z]{6})_([0-9A-Za-z]{8})_[0-9A-Za-z]{43}[0-9A-Za-z]{6}$/
const CHECKSUM_LENGTH = 6

/** A new key: the text is shown once, only the hash is stored. */
export interface NewApiKey {
  readonly keyId: KeyId
  readonly key: string
  readonly keyHash: string
}

/** Creates a key for a company. */
export function makeApiKey(companyId: CompanyId): NewApiKey {
  return apiKeyOf(companyId, randomTag(8), randomBytes(32))
}

/** Derives a key from a secret, so that it can be shown again without being stored. */
export function deriveApiKey(companyId: CompanyId, secret: string): NewApiKey {
  const bytes = hash("sha512", `${companyId}\n${secret}`, "buffer")
  return apiKeyOf(companyId, base62(bytes.subarray(0, 16)).slice(-8), bytes.subarray(32))
}

function apiKeyOf(companyId: CompanyId, keyTag: string, secret: Uint8Array): NewApiKey {
  const body = `cpk_${tagOfId(companyId)}_${keyTag}_${base62(secret)}`
  const key = body + checksumOf(body)
  return { keyId: keyIdFromTag(keyTag), key, keyHash: hashOfKey(key) }
}

/** Parses the company and key id of a key's text; null if it is malformed. */
export function parseApiKey(
  text: string,
): { readonly companyId: CompanyId; readonly keyId: KeyId } | null {
  const match = FORM.exec(text)
  if (match === null) return null
  const body = text.slice(0, -CHECKSUM_LENGTH)
  if (text.slice(-CHECKSUM_LENGTH) !== checksumOf(body)) return null
  return {
    companyId: companyIdFromTag(match[1] as string),
    keyId: keyIdFromTag(match[2] as string),
  }
}

/** Returns the SHA-256 of a key in hexadecimal, which is all that is stored of it. */
function hashOfKey(key: string): string {
  return hash("sha256", key, "hex")
}

/** Whether a text is the key with this hash, in constant time. */
export function isMatchingKey(text: string, keyHash: string): boolean {
  return timingSafeEqual(Buffer.from(hashOfKey(text), "hex"), Buffer.from(keyHash, "hex"))
}

function checksumOf(body: string): string {
  return base62(Buffer.from(hash("sha256", body, "hex").slice(0, 10), "hex")).slice(
    -CHECKSUM_LENGTH,
  )
}

/** Maximum difference between a sign-in's time and the ledger's. */
const SIGN_IN_TOLERANCE_MS = 60_000

const ID = "x-person-id"
const TIME = "x-person-time"
const SIGNATURE = "x-person-signature"

interface SignInHeaders {
  readonly personId: string | undefined
  readonly time: string | undefined
  readonly signature: string | undefined
}

/** The part of a request that a sign-in's signature covers. */
export interface SignedContent {
  readonly method: string
  /** Path and query as sent. */
  readonly target: string
  /** The body's bytes; null without a body. */
  readonly body: Uint8Array | null
}

/** Returns the sign-in of a request; null if it has none of the headers. */
export function signInHeadersOf(headers: HeaderFields): SignInHeaders | null {
  const [personId, time, signature] = [ID, TIME, SIGNATURE].map((name) => headers[name]?.join(", "))
  if (personId === undefined && time === undefined && signature === undefined) return null
  return { personId, time, signature }
}

/** Whether the body must be read before the caller can be checked. */
export function hasSignature(headers: HeaderFields): boolean {
  return headers[SIGNATURE] !== undefined
}

/** Verifies a sign-in; the refusal names the header that is not valid. */
export function verifySignIn(
  signIn: SignInHeaders,
  signed: SignedContent,
  appSecret: string,
  now: number,
): { readonly personId: string } | { readonly refusal: Refusal } {
  const { personId, time, signature } = signIn
  if (personId === undefined || time === undefined || signature === undefined) {
    return signInRefusal(
      "A sign-in takes X-Person-Id, X-Person-Time and X-Person-Signature together.",
    )
  }
  const at = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/i.test(time)
    ? Date.parse(time)
    : Number.NaN
  if (Number.isNaN(at)) {
    return signInRefusal("X-Person-Time must be an ISO 8601 time such as 2026-11-01T00:00:00.000Z.")
  }
  if (Math.abs(now - at) > SIGN_IN_TOLERANCE_MS) {
    const clock = new Date(now).toISOString()
    return signInRefusal(
      `X-Person-Time differs from the server's time, ${clock}, by more than 60 seconds.`,
    )
  }
  const expected = signatureOf(signed, { personId, time }, appSecret)
  if (!isEqual(signature, expected)) {
    return signInRefusal(
      "X-Person-Signature is not the signature of this request by the app's secret.",
    )
  }
  return { personId }
}

/** Calculates the signature of a request, in hexadecimal. */
function signatureOf(
  { method, target, body }: SignedContent,
  { personId, time }: { readonly personId: string; readonly time: string },
  appSecret: string,
): string {
  const bodyHash = hash("sha256", body ?? "", "hex")
  const text = [method, target, bodyHash, time, personId].join("\n")
  return createHmac("sha256", appSecret).update(text).digest("hex")
}

/** Compares in constant time. */
function isEqual(given: string, expected: string): boolean {
  if (!/^[0-9a-f]{64}$/i.test(given)) return false
  return timingSafeEqual(Buffer.from(given, "hex"), Buffer.from(expected, "hex"))
}

function signInRefusal(message: string): { readonly refusal: Refusal } {
  return { refusal: refusal("invalid_key", message) }
}
