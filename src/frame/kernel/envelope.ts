/**
 * What is stored around a fact: who caused it, the version of its form, and a hash that chains it to
 * the fact before.
 *
 * `hash` is SHA-256 in hexadecimal over seven texts joined by line feeds: the hash of the stream's
 * fact before it (64 zeros for the first), the stream, the revision in decimal, the type, the event
 * id, the data text, and the metadata text without its hash. None of the seven can contain a raw
 * line feed, so the joined text can be read in one way only.
 */
import { hash as digest, randomUUIDv7 } from "node:crypto"
import type { ProposedEvent, StoredEvent } from "../../../adapters/eventstore/port.ts"
import type { Fact } from "../../../domain/kernel/decider.ts"
import type { Codec } from "../../../domain/kernel/event-format.ts"
import type { KeyId, PersonId } from "../../../domain/kernel/ids.ts"
import { parseKeyId, parsePersonId } from "../../../domain/kernel/ids.ts"

/** Who and what caused a fact. */
export interface Cause {
  /** Names the command: a request id, a work row, an operator's command. */
  readonly command: string
  /** The operator, for commands of the command line. */
  readonly actor: string | null
  readonly keyId: KeyId | null
  readonly personId: PersonId | null
  /** Why an operator did it. */
  readonly reason: string | null
  /** The trace in which it was done, as a `traceparent`, where somebody collects traces. */
  readonly trace?: string
}

/** A fact's metadata as it is stored. */
interface Metadata extends Cause {
  /** The version of the fact's form. */
  readonly version: number
  readonly hash: string
}

/** The hash before a stream's first fact. */
export const NO_HASH = "0".repeat(64)

/** A cause of which only the command is known. */
export function causedBy(command: string): Cause {
  return { command, actor: null, keyId: null, personId: null, reason: null }
}

/** A fact ready for the store, and its hash for the next one. */
export interface WrappedFact {
  readonly proposed: ProposedEvent
  readonly hash: string
}

/**
 * Writes a fact down as the next of its stream, under an id of its own.
 *
 * @throws FormatFault where a field has no such form
 */
export function wrapFact<E extends Fact>(
  codec: Codec<E>,
  event: E,
  place: { readonly stream: string; readonly revision: number; readonly previousHash: string },
  cause: Cause,
  id: string = randomUUIDv7(),
): WrappedFact {
  const data = codec.encode(event)
  const version = codec.version(event.type)
  const { head, tail } = metadataParts(cause, version)
  const { stream, revision, previousHash } = place
  const bare = `{${head}${tail}}`
  const hash = hashOf({ previousHash, stream, revision, type: event.type, id, data, bare })
  const metadata = `{${head}"hash":"${hash}",${tail}}`
  return { proposed: { id, type: event.type, data, metadata }, hash }
}

/** The metadata before and after the place of the hash, in RFC 8785 order. */
function metadataParts(cause: Cause, version: number): { head: string; tail: string } {
  const head =
    (cause.actor === null ? "" : `"actor":${JSON.stringify(cause.actor)},`) +
    `"command":${JSON.stringify(cause.command)},`
  const tail =
    (cause.keyId === null ? "" : `"key":${JSON.stringify(cause.keyId)},`) +
    (cause.personId === null ? "" : `"person":${JSON.stringify(cause.personId)},`) +
    (cause.reason === null ? "" : `"reason":${JSON.stringify(cause.reason)},`) +
    (cause.trace === undefined ? "" : `"trace":${JSON.stringify(cause.trace)},`) +
    `"version":${version}`
  return { head, tail }
}

interface HashInput {
  readonly previousHash: string
  readonly stream: string
  readonly revision: number
  readonly type: string
  readonly id: string
  readonly data: string
  readonly bare: string
}

function hashOf(parts: HashInput): string {
  const { previousHash, stream, revision, type, id, data, bare } = parts
  return digest(
    "sha256",
    `${previousHash}\n${stream}\n${revision}\n${type}\n${id}\n${data}\n${bare}`,
    "hex",
  )
}

/** Stored metadata does not have the form it must have. */
export class EnvelopeFault extends Error {
  override readonly name = "EnvelopeFault"
}

/** How metadata ends, in RFC 8785 order. A quote within a value is escaped, so no value ends like it. */
const VERSION_AT_END = /"version":(\d{1,9})}$/

/**
 * The version of a fact's form, without reading the rest of its metadata.
 *
 * @throws EnvelopeFault where it is no such text
 */
function versionIn(metadata: string): number {
  const version = VERSION_AT_END.exec(metadata)?.[1]
  return version === undefined ? readMetadata(metadata).version : Number(version)
}

/** Reads a stored event back as its fact. @throws FormatFault, EnvelopeFault where it has no such form */
export function decodeStored<E extends Fact>(
  codec: Codec<E>,
  { type, metadata, data }: Pick<StoredEvent, "type" | "metadata" | "data">,
): E {
  return codec.decode(type, versionIn(metadata), data)
}

/** Reads stored metadata. @throws EnvelopeFault where it is no such text */
export function readMetadata(text: string): Metadata {
  const raw = parseObject(text)
  const { command, version, hash, actor, key, person, reason, trace } = raw
  if (typeof command !== "string" || typeof hash !== "string" || !Number.isInteger(version)) {
    throw new EnvelopeFault(`metadata lacks command, hash or version: ${text.slice(0, 200)}`)
  }
  const optional = (value: unknown) => (typeof value === "string" ? value : null)
  const named = <T>(value: unknown, parse: (named: string) => T | null): T | null => {
    if (typeof value !== "string") return null
    const parsed = parse(value)
    if (parsed === null) throw new EnvelopeFault(`metadata names nobody by ${value.slice(0, 200)}`)
    return parsed
  }
  const found = {
    command,
    hash,
    version: version as number,
    actor: optional(actor),
    keyId: named(key, parseKeyId),
    personId: named(person, parsePersonId),
    reason: optional(reason),
  }
  return typeof trace === "string" ? { ...found, trace } : found
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const raw: unknown = JSON.parse(text)
    if (typeof raw === "object" && raw !== null) return raw as Record<string, unknown>
  } catch (error) {
    throw new EnvelopeFault(`metadata is no JSON: ${text.slice(0, 200)}`, { cause: error })
  }
  throw new EnvelopeFault(`metadata is no object: ${text.slice(0, 200)}`)
}

/** How the hash begins in metadata. A quote within a value is escaped, so no value holds this. */
const HASH_PREFIX = '"hash":"'
const HASH_SUFFIX = '",'

/** Whether stored metadata carries this hash. */
export function hasHash(metadata: string, hash: string): boolean {
  const at = metadata.indexOf(HASH_PREFIX)
  return at !== -1 && metadata.startsWith(`${hash}${HASH_SUFFIX}`, at + HASH_PREFIX.length)
}

/** The hash that stored metadata carries; null where it carries none. */
export function hashOfMetadata(metadata: string): string | null {
  return CARRIED_HASH.exec(metadata)?.[1] ?? null
}

const CARRIED_HASH = /"hash":"([0-9a-f]{64})"/

/** Metadata as it was hashed; unchanged where no hash stands in it. */
function withoutHash(metadata: string): string {
  const at = metadata.indexOf(HASH_PREFIX)
  const end = at + HASH_PREFIX.length + NO_HASH.length
  if (at === -1 || !metadata.startsWith(HASH_SUFFIX, end)) return metadata
  return metadata.slice(0, at) + metadata.slice(end + HASH_SUFFIX.length)
}

/** The hash a stored event must carry, computed from the stored text and the hash before it. */
export function expectedHash(event: Omit<StoredEvent, "position">, previousHash: string): string {
  const bare = withoutHash(event.metadata)
  const { stream, revision, type, id, data } = event
  return hashOf({ previousHash, stream, revision, type, id, data, bare })
}

/** Canonical JSON text of a value that came from JSON; `undefined` (no body) is empty text. */
export function canonicalJson(value: unknown): string {
  if (value === undefined) return ""
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const fields = entries.map(([name, item]) => `${JSON.stringify(name)}:${canonicalJson(item)}`)
  return `{${fields.join(",")}}`
}
