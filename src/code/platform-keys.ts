/** API keys of this service in bytes that somebody pushes: found in whatever they stand, and switched off. */
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
/** As letters of two bytes, such as PowerShell writes files in: the same bytes in either order, but for one. */
const UTF16_PREFIX = Buffer.from(PREFIX, "utf16le").subarray(0, -1)
const LENGTH = "cpk_".length + 6 + 1 + 8 + 1 + 49

/** A text that is a key by its checksum; whether it is one that works is not known by it. */
export interface PlatformKey {
  readonly text: string
  /** Where it begins, bytes. */
  readonly offset: number
  readonly companyId: CompanyId
  readonly keyId: KeyId
}

/** As an address writes it, in percent signs. */
const PERCENT_ENCODED_PREFIX = "cpk%5"
/**
 * The beginning as base64 has it, by how many bytes stand before it in its group of three: so a header
 * `Authorization: Basic` has a key, and a secret of Kubernetes. `before` are letters of the group that
 * hold other bytes too.
 */
const BASE64_PREFIXES = [
  { letters: "Y3BrX", before: 0 },
  { letters: "Nwa1", before: 2 },
  { letters: "jcGtf", before: 3 },
] as const
/** Of a whole key, some of its neighbours, and a break of lines. */
const BASE64_LENGTH = 4 * Math.ceil((LENGTH + 4) / 3) + 4

/** The keys that stand in bytes. */
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

/** What begins so and is a key, as `textAt` reads it. */
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

/** What became of a text that is a key by its checksum; `was-off` is a real one too. */
export type SwitchOffResult = "switched-off" | "was-off" | "made-up"

/**
 * Switches a key off, whoever's it is.
 *
 * @throws as `Runner.execute` does: then it may work still, and its push must not be taken
 */
export async function switchOffKey(
  { runner }: Pick<Ports, "runner">,
  { text, companyId, keyId }: PlatformKey,
  found: { readonly companyId: CompanyId; readonly pushId: PushId; readonly cause: Cause },
): Promise<SwitchOffResult> {
  // Whoever makes texts up names companies that are none: nothing is looked up for those.
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
  // Who pushed is nobody of another company: its facts do not name them.
  const cause = inOwnCode ? found.cause : { ...found.cause, keyId: null, personId: null }
  const command = { type: "RevokeLeakedKey" as const, keyId, pushId: found.pushId, inOwnCode }
  const outcome = await runner.execute(access, command, cause)
  if (!outcome.accepted) throw new Error(`${keyId} was not switched off: ${outcome.refusal.code}`)
  return outcome.facts.length > 0 ? "switched-off" : "was-off"
}
