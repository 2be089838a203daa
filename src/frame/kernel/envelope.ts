/**
 * Metadata of a stored fact: its cause, the version of its format, and a hash that chains it to the fact
 * before.
 *
 * `hash` is SHA-256 in hexadecimal over seven texts joined by line feeds: the hash of the stream's previous
 * fact (64 zeros for the first), the stream, the revision in decimal, the type, the event id, the data, and
 * the metadata without its hash. None of them can contain a raw line feed, so the joined text is unambiguous.
 */
import { hash as digest, randomUUIDv7 } from "node:crypto"
import type { ProposedEvent, StoredEvent } from "../../../adapters/eventstore/port.ts"
import type { Fact } from "../../../domain/kernel/decider.ts"
import type { Codec } from "../../../domain/kernel/event-format.ts"
import type { KeyId, PersonId } from "../../../domain/kernel/ids.ts"
import { parseKeyId, parsePersonId } from "../../../domain/kernel/ids.ts"

/** Who and what caused a fact. */
export interface Cause {
  /** Names the command: a request id, a job, an operator's command. */
  readonly command: string
  /** The operator, for operator commands. */
  readonly actor: string | null
  readonly keyId: KeyId | null
  readonly personId: PersonId | null
  /** The reason that an operator gave. */
  readonly reason: string | null
  /** The trace as a `traceparent`, if traces are collected. */
  readonly trace?: string
}

interface Metadata extends Cause {
  /** Version of the fact's format. */
  readonly version: number
  readonly hash: string
}

/** The hash before a stream's first fact. */
export const NO_HASH = "0".repeat(64)

/** Creates a cause that has only a command. */
export function causedBy(command: string): Cause {
  return { command, actor: null, keyId: null, personId: null, reason: null }
}

/** A fact ready to append, with its hash for the next one. */
export interface WrappedFact {
  readonly proposed: ProposedEvent
  readonly hash: string
}

/**
 * Encodes a fact as the next event of its stream, with a new id by default.
 *
 * @throws FormatFault if a field does not fit the format
 */
export function wrapFact<E extends Fact>(
  codec: Codec<E>,
  event: E,
  at: { readonly stream: string; readonly revision: number; readonly previousHash: string },
  cause: Cause,
  id: string = randomUUIDv7(),
): WrappedFact {
  const data = codec.encode(event)
  const version = codec.version(event.type)
  const { head, tail } = metadataParts(cause, version)
  const { stream, revision, previousHash } = at
  const bare = `{${head}${tail}}`
  const hash = hashOf({ previousHash, stream, revision, type: event.type, id, data, bare })
  const metadata = `{${head}"hash":"${hash}",${tail}}`
  return { proposed: { id, type: event.type, data, metadata }, hash }
}

/** Returns the metadata before and after the hash, in RFC 8785 order. */
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

/** Thrown when stored metadata is malformed. */
export class EnvelopeFault extends Error {
  override readonly name = "EnvelopeFault"
}

/** The end of metadata in RFC 8785 order. Quotes in values are escaped, so no value matches it. */
const VERSION_AT_END = /"version":(\d{1,9})}$/

/**
 * Reads the version of a fact's format without parsing the rest of its metadata.
 *
 * @throws EnvelopeFault if the metadata is malformed
 */
function versionIn(metadata: string): number {
  const version = VERSION_AT_END.exec(metadata)?.[1]
  return version === undefined ? readMetadata(metadata).version : Number(version)
}

/** Decodes a stored event into its fact. @throws FormatFault, EnvelopeFault if it is malformed */
export function decodeStored<E extends Fact>(
  codec: Codec<E>,
  { type, metadata, data }: Pick<StoredEvent, "type" | "metadata" | "data">,
): E {
  return codec.decode(type, versionIn(metadata), data)
}

/** Parses stored metadata. @throws EnvelopeFault if it is malformed */
export function readMetadata(text: string): Metadata {
  const raw = parseObject(text)
  const { command, version, hash, actor, key, person, reason, trace } = raw
  if (typeof command !== "string" || typeof hash !== "string" || !Number.isInteger(version)) {
    throw new EnvelopeFault(`metadata lacks command, hash or version: ${text.slice(0, 200)}`)
  }
  const optional = (value: unknown) => (typeof value === "string" ? value : null)
  const id = <T>(value: unknown, parse: (text: string) => T | null): T | null => {
    if (typeof value !== "string") return null
    const parsed = parse(value)
    if (parsed === null) {
      throw new EnvelopeFault(`metadata has an invalid key or person id: ${value.slice(0, 200)}`)
    }
    return parsed
  }
  const found = {
    command,
    hash,
    version: version as number,
    actor: optional(actor),
    keyId: id(key, parseKeyId),
    personId: id(person, parsePersonId),
    reason: optional(reason),
  }
  return typeof trace === "string" ? { ...found, trace } : found
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const raw: unknown = JSON.parse(text)
    if (typeof raw === "object" && raw !== null) return raw as Record<string, unknown>
  } catch (error) {
    throw new EnvelopeFault(`metadata is not JSON: ${text.slice(0, 200)}`, { cause: error })
  }
  throw new EnvelopeFault(`metadata is not an object: ${text.slice(0, 200)}`)
}

/** The start of the hash in metadata. Quotes in values are escaped, so no value contains it. */
const HASH_PREFIX = '"hash":"'
const HASH_SUFFIX = '",'

/** Whether stored metadata has this hash. */
export function hasHash(metadata: string, hash: string): boolean {
  const at = metadata.indexOf(HASH_PREFIX)
  return at !== -1 && metadata.startsWith(`${hash}${HASH_SUFFIX}`, at + HASH_PREFIX.length)
}

/** Returns the hash in stored metadata; null if it has none. */
export function hashOfMetadata(metadata: string): string | null {
  return CARRIED_HASH.exec(metadata)?.[1] ?? null
}

const CARRIED_HASH = /"hash":"([0-9a-f]{64})"/

/** Returns metadata as it was hashed; unchanged if it has no hash. */
function withoutHash(metadata: string): string {
  const at = metadata.indexOf(HASH_PREFIX)
  const end = at + HASH_PREFIX.length + NO_HASH.length
  if (at === -1 || !metadata.startsWith(HASH_SUFFIX, end)) return metadata
  return metadata.slice(0, at) + metadata.slice(end + HASH_SUFFIX.length)
}

/** Calculates the hash that a stored event must have from its text and the previous hash. */
export function expectedHash(event: Omit<StoredEvent, "position">, previousHash: string): string {
  const bare = withoutHash(event.metadata)
  const { stream, revision, type, id, data } = event
  return hashOf({ previousHash, stream, revision, type, id, data, bare })
}

/** Returns canonical JSON of a value that was parsed from JSON; `undefined` (no body) is empty text. */
export function canonicalJson(value: unknown): string {
  if (value === undefined) return ""
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const fields = entries.map(([name, item]) => `${JSON.stringify(name)}:${canonicalJson(item)}`)
  return `{${fields.join(",")}}`
}
