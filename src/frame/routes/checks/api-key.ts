/**
 * The text of an API key (decisions.md §2):
 * `cpk_<company tag 6>_<key tag 8>_<secret 43><checksum 6>`, the secret base62 of 32 random bytes.
 *
 * The checksum lets a scanner, and this server, reject a mistyped or made-up key without a look-up;
 * it protects nothing else.
 */
import { hash, randomBytes, timingSafeEqual } from "node:crypto"
import type { CompanyId, KeyId } from "../../../../domain/kernel/ids.ts"
import { companyIdOfTag, keyIdOfTag, tagOf } from "../../../../domain/kernel/ids.ts"
import { base62, randomTag } from "../../kernel/ids.ts"

const FORM = /^cpk_([0-9A-Za-z]{6})_([0-9A-Za-z]{8})_[0-9A-Za-z]{43}[0-9A-Za-z]{6}$/
const CHECKSUM_LENGTH = 6

/** A key that was just made: the text is shown once, the hash is kept. */
export interface NewApiKey {
  readonly keyId: KeyId
  readonly key: string
  readonly keyHash: string
}

/** Makes a key for a company. */
export function makeApiKey(companyId: CompanyId): NewApiKey {
  return apiKeyOf(companyId, randomTag(8), randomBytes(32))
}

/** The key that always derives from a secret, so that it need not be kept to be shown again. */
export function deriveApiKey(companyId: CompanyId, secret: string): NewApiKey {
  const bytes = hash("sha512", `${companyId}\n${secret}`, "buffer")
  return apiKeyOf(companyId, base62(bytes.subarray(0, 16)).slice(-8), bytes.subarray(32))
}

function apiKeyOf(companyId: CompanyId, keyTag: string, secret: Uint8Array): NewApiKey {
  const body = `cpk_${tagOf(companyId)}_${keyTag}_${base62(secret)}`
  const key = body + checksumOf(body)
  return { keyId: keyIdOfTag(keyTag), key, keyHash: hashOfKey(key) }
}

/** Whose key a text says it is; null where it is no key at all. */
export function parseApiKey(
  text: string,
): { readonly companyId: CompanyId; readonly keyId: KeyId } | null {
  const match = FORM.exec(text)
  if (match === null) return null
  const body = text.slice(0, -CHECKSUM_LENGTH)
  if (text.slice(-CHECKSUM_LENGTH) !== checksumOf(body)) return null
  return { companyId: companyIdOfTag(match[1] as string), keyId: keyIdOfTag(match[2] as string) }
}

/** SHA-256 of a key's text, hexadecimal: all that is kept of it. */
function hashOfKey(key: string): string {
  return hash("sha256", key, "hex")
}

/** Whether a text is the key with this hash, in a time that tells nothing. */
export function isKeyOf(text: string, keyHash: string): boolean {
  return timingSafeEqual(Buffer.from(hashOfKey(text), "hex"), Buffer.from(keyHash, "hex"))
}

function checksumOf(body: string): string {
  return base62(Buffer.from(hash("sha256", body, "hex").slice(0, 10), "hex")).slice(
    -CHECKSUM_LENGTH,
  )
}
