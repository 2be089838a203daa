/** Finds API keys of this service in pushed bytes, in any encoding, and revokes them. */
import { findKey } from "../../domain/access/access.ts"
import { accessStreamOf } from "../../domain/access/aggregates.ts"
import { isCompanyRegistered } from "../../domain/company/companies.ts"
import { COMPANIES_STREAM } from "../../domain/company/aggregates.ts"
import type { PushId } from "../../domain/code/code-events.ts"
import type { CompanyId, KeyId } from "../../domain/kernel/ids.ts"
import { isMatchingKey, parseApiKey } from "../frame/routes/checks/credentials.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"

const PREFIX = "cpk_"
/** The prefix in UTF-16, in which PowerShell writes files. Without the last byte it matches both byte orders. */
const UTF16_PREFIX = Buffer.from(PREFIX, "utf16le").subarray(0, -1)
const LENGTH = "cpk_".length + 6 + 1 + 8 + 1 + 49

/** A text with the checksum of a key; it may never have been issued. */
export interface PlatformKey {
  readonly text: string
  /** Of its first byte. */
  readonly offset: number
  readonly companyId: CompanyId
  readonly keyId: KeyId
}

const PERCENT_ENCODED_PREFIX = "cpk%5"
/**
 * The prefix in base64, as in `Authorization: Basic` headers and Kubernetes secrets, for each alignment.
 * `before` is the number of preceding characters in the group, which hold other bytes, too.
 */
const BASE64_PREFIXES = [
  { letters: "Y3BrX", before: 0 },
  { letters: "Nwa1", before: 2 },
  { letters: "jcGtf", before: 3 },
] as const
/** A whole key, its neighbors and a line break. */
const BASE64_LENGTH = 4 * Math.ceil((LENGTH + 4) / 3) + 4

/** Finds all keys in bytes. */
export function findPlatformKeys(bytes: Uint8Array): readonly PlatformKey[] {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return [
    ...keysStartingWith(all, PREFIX, (at) => all.toString("latin1", at, at + LENGTH)),
    ...keysStartingWith(all, UTF16_PREFIX, (at) =>
      all.toString("latin1", at, at + LENGTH * 2).replaceAll("\0", ""),
    ),
    ...keysStartingWith(all, PERCENT_ENCODED_PREFIX, (at) =>
      all
        .toString("latin1", at, at + LENGTH + 6)
        .replaceAll(/%5f/gi, "_")
        .slice(0, LENGTH),
    ),
    ...BASE64_PREFIXES.flatMap(({ letters, before }) => [
      ...keysStartingWith(all, letters, (at) => {
        const from = Math.max(0, at - before)
        const text = all.toString("latin1", from, from + BASE64_LENGTH)
        const plain = Buffer.from(text, "base64").toString("latin1")
        const begin = plain.indexOf(PREFIX)
        return plain.slice(begin, begin + LENGTH)
      }),
    ]),
  ]
}

/** The keys that start with `begin`, as `textAt` reads them. */
function* keysStartingWith(
  all: Buffer,
  begin: string | Uint8Array,
  textAt: (at: number) => string,
): Generator<PlatformKey> {
  const letters = Buffer.from(begin as string, "latin1")
  for (
    let offset = all.indexOf(letters);
    offset !== -1;
    offset = all.indexOf(letters, offset + 1)
  ) {
    const text = textAt(offset)
    const named = parseApiKey(text)
    if (named !== null) yield { text, offset, ...named }
  }
}

/** Result of revoking a key; `made-up` was never issued, `was-off` was revoked before. */
export type SwitchOffResult = "switched-off" | "was-off" | "made-up"

/**
 * Revokes a key of any company.
 *
 * @throws the errors of `Runner.execute`: the key may still work, so the push must not be accepted
 */
export async function switchOffKey(
  { runner }: Pick<Ports, "runner">,
  { text, companyId, keyId }: PlatformKey,
  found: { readonly companyId: CompanyId; readonly pushId: PushId; readonly cause: Cause },
): Promise<SwitchOffResult> {
  // A made-up key names an unregistered company, for which no state is loaded.
  if (
    !(await runner.readLatest(COMPANIES_STREAM, (state) => isCompanyRegistered(state, companyId)))
  ) {
    return "made-up"
  }
  const access = accessStreamOf(companyId)
  const isReal = await runner.readLatest(access, (state) => {
    const key = findKey(state, keyId)
    return key !== null && isMatchingKey(text, key.keyHash)
  })
  if (!isReal) return "made-up"
  const inOwnCode = companyId === found.companyId
  // The facts of another company do not name the person who pushed.
  const cause = inOwnCode ? found.cause : { ...found.cause, keyId: null, personId: null }
  const command = { type: "RevokeLeakedKey" as const, keyId, pushId: found.pushId, inOwnCode }
  const outcome = await runner.execute(access, command, cause)
  if (!outcome.accepted) throw new Error(`${keyId} was not revoked: ${outcome.refusal.code}`)
  return outcome.facts.length > 0 ? "switched-off" : "was-off"
}
