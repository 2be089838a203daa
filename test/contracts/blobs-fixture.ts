/** What the contract of blobs asks of an implementation, and what its tests share. */
import { randomBytes } from "node:crypto"
import type { Blob, Blobs, ByteRange } from "../../adapters/blobs/port.ts"
import { CHUNK_BYTES } from "../../adapters/blobs/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"

/** A blob's own row as it is stored; a half-written one has neither length nor mark. */
export interface StoredBlob {
  readonly edition: string
  readonly companyId: CompanyId
  readonly subject: string
  readonly blobId: string
  readonly length: number | null
  readonly mark: Buffer | null
}

/** A chunk as it is stored. */
export interface StoredChunk {
  readonly edition: string
  readonly index: number
  readonly sealed: Buffer
}

/** All rows, in any order that stays the same. */
export interface StoredBlobs {
  readonly blobs: readonly StoredBlob[]
  readonly chunks: readonly StoredChunk[]
}

/** An implementation under test, that no other test uses at the same time. */
export interface BlobsUnderTest {
  readonly blobs: Blobs
  /** All rows, half-written blobs' included. */
  readonly stored: () => Promise<StoredBlobs>
  /** Puts other rows in the place of all. */
  readonly store: (rows: StoredBlobs) => Promise<void>
  /** How many chunks were asked for, or added, since it was opened. */
  readonly chunksMoved: () => number
  /** Makes what is half-written older by so much. */
  readonly age: (ms: number) => Promise<void>
  /** Destroys a company's keys. */
  readonly destroyKeys: (companyId: CompanyId) => Promise<void>
  /** Deletes a company's rows, as its erasure does. */
  readonly deleteRows: (companyId: CompanyId) => Promise<void>
}

/** Whose blob it is, unless a test says otherwise. */
export const WHOSE = { companyId: "co_aaaaaa", subject: "company", blobId: "rec_1" } as const
/** Another company's blob of the same id. */
export const OTHERS = { ...WHOSE, companyId: "co_bbbbbb" } as const

/** Room for all that the tests write. */
export const MUCH = { mostBytes: 64 * CHUNK_BYTES }

/** A stream of bytes in pieces of these lengths, over and over. */
export async function* inPieces(
  bytes: Uint8Array,
  lengths: readonly number[] = [CHUNK_BYTES],
): AsyncGenerator<Uint8Array> {
  let at = 0
  for (let i = 0; at < bytes.length; i += 1) {
    const length = lengths[i % lengths.length] ?? 1
    yield bytes.subarray(at, at + length)
    at += length
  }
}

/** All bytes that a blob gives. */
export async function readAll(blob: Blob | null, range?: ByteRange): Promise<Buffer> {
  if (blob === null) throw new Error("there is no such blob")
  const pieces: Buffer[] = []
  for await (const piece of blob.read(range)) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** A source that has given something, and gives the rest when it is told to. */
export function heldSource() {
  const [given, rest] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const source = (async function* () {
    yield randomBytes(2 * CHUNK_BYTES)
    given.resolve()
    await rest.promise
    yield randomBytes(CHUNK_BYTES)
  })()
  return { source, given: given.promise, goOn: rest.resolve }
}
