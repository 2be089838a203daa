/** Blobs over rows of sealed bytes: chunking, sealing, counting and verifying for all stores. */
import { randomUUID } from "node:crypto"
import type { Sealing } from "../../sealing/port.ts"
import { SealFault } from "../../sealing/port.ts"
import type { Blob, Blobs, ByteRange, NewBlob } from "./port.ts"
import { BlobCorrupt, BlobExists, BlobGone, BlobTooLarge, CHUNK_BYTES } from "./port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"

const NOTHING = Buffer.alloc(0)

interface BlobVersion extends NewBlob {
  readonly versionId: string
}

/** Opens blobs over these rows. Throws the port's errors. */
export function openSealedBlobs(rows: BlobRows, sealing: Sealing): Blobs {
  const toBlob = (row: BlobRow): Blob => ({
    length: row.length,
    versionId: row.versionId,
    read: (range = { from: 0, until: row.length }) => readRange(rows, sealing, row, range),
  })
  return {
    write: async (blob, source, { maxBytes }) => {
      if ((await rows.find(blob.companyId, blob.blobId)) !== null) throw blobExistsError(blob)
      const written = { ...blob, versionId: randomUUID() }
      await rows.begin(written.versionId, blob)
      try {
        const length = await writeChunks(rows, sealing, written, splitIntoChunks(source, maxBytes))
        return toBlob(await finish(rows, sealing, written, length))
      } catch (error) {
        // If this fails too, the sweep deletes the rows.
        await Promise.allSettled([rows.discard(written.versionId)])
        throw error
      }
    },
    find: async (companyId, blobId) => {
      const row = await rows.find(companyId, blobId)
      if (row === null) return null
      const { digest, length } = row
      const opened = await openSealed(sealing, row, digest, digestContext(row, length))
      return opened === null ? null : toBlob(row)
    },
    findCompanies: rows.findCompanies,
    delete: rows.delete,
    deleteHalfWritten: rows.deleteHalfWritten,
  }
}

/** Cuts a stream into chunks. @throws BlobTooLarge */
async function* splitIntoChunks(
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<Buffer> {
  let chunk = Buffer.alloc(CHUNK_BYTES)
  let filled = 0
  let total = 0
  for await (const piece of source) {
    total += piece.length
    if (total > maxBytes) throw new BlobTooLarge(maxBytes)
    for (let from = 0; from < piece.length;) {
      const part = piece.subarray(from, from + CHUNK_BYTES - filled)
      chunk.set(part, filled)
      filled += part.length
      from += part.length
      if (filled < CHUNK_BYTES) continue
      yield chunk
      chunk = Buffer.alloc(CHUNK_BYTES)
      filled = 0
    }
  }
  if (filled > 0) yield chunk.subarray(0, filled)
}

/** Writes the chunks; returns their total length in bytes. @throws BlobGone */
async function writeChunks(
  rows: BlobRows,
  sealing: Sealing,
  written: BlobVersion,
  chunks: AsyncIterable<Buffer>,
): Promise<number> {
  const { companyId, subject, versionId } = written
  let index = 0
  let length = 0
  for await (const chunk of chunks) {
    const context = chunkContext(written, index)
    const sealed = await sealing.sealBytes(companyId, subject, chunk, context)
    if (!(await rows.addChunk(versionId, index, sealed))) throw blobGoneError(written)
    index += 1
    length += chunk.length
  }
  return length
}

/** @throws BlobExists, BlobGone */
async function finish(
  rows: BlobRows,
  sealing: Sealing,
  written: BlobVersion,
  length: number,
): Promise<BlobRow> {
  const { companyId, subject, versionId } = written
  const context = digestContext(written, length)
  const digest = await sealing.sealBytes(companyId, subject, NOTHING, context)
  const outcome = await rows.finish(versionId, length, digest)
  switch (outcome) {
    case "finished":
      return { ...written, length, digest }
    case "exists":
      throw blobExistsError(written)
    case "gone":
      throw blobGoneError(written)
  }
}

/** Reads a range chunk by chunk. @throws RangeError, BlobCorrupt, BlobGone */
async function* readRange(
  rows: BlobRows,
  sealing: Sealing,
  row: BlobRow,
  { from, until }: ByteRange,
): AsyncGenerator<Buffer> {
  const isValid = Number.isInteger(from) && Number.isInteger(until) && 0 <= from && from <= until
  if (!isValid || until > row.length) {
    throw new RangeError(`Invalid byte range ${from} to ${until}: the blob has ${row.length} bytes`)
  }
  for (let index = Math.floor(from / CHUNK_BYTES); index * CHUNK_BYTES < until; index += 1) {
    const sealed = await rows.findChunk(row.versionId, index)
    if (sealed === null) throw await missingChunkError(rows, row, index)
    const plain = await openSealed(sealing, row, sealed, chunkContext(row, index))
    if (plain === null) throw blobGoneError(row)
    const chunkStart = index * CHUNK_BYTES
    yield plain.subarray(Math.max(0, from - chunkStart), until - chunkStart)
  }
}

/** Opens sealed bytes of a blob; null if its subject's key was erased. @throws BlobCorrupt */
async function openSealed(
  sealing: Sealing,
  blob: BlobVersion,
  sealed: Buffer,
  context: readonly (string | number)[],
): Promise<Buffer | null> {
  try {
    return await sealing.openBytes(blob.companyId, blob.subject, sealed, context)
  } catch (error) {
    if (!(error instanceof SealFault)) throw error
    throw blobCorruptError(blob, error.message, error)
  }
}

/** The error for a missing chunk: the blob was deleted meanwhile, or it is corrupt. */
async function missingChunkError(rows: BlobRows, row: BlobRow, index: number): Promise<Error> {
  const now = await rows.find(row.companyId, row.blobId)
  return now?.versionId === row.versionId
    ? blobCorruptError(row, `chunk ${index} is missing`)
    : blobGoneError(row)
}

function chunkContext({ blobId, versionId }: BlobVersion, index: number) {
  return ["blob", blobId, versionId, "chunk", index] as const
}

function digestContext({ blobId, versionId }: BlobVersion, length: number) {
  return ["blob", blobId, versionId, "length", length] as const
}

function blobExistsError({ companyId, blobId }: NewBlob): BlobExists {
  return new BlobExists(`${companyId} already has a blob ${blobId}`)
}

function blobGoneError({ companyId, blobId }: NewBlob): BlobGone {
  return new BlobGone(`Blob ${blobId} of ${companyId} was deleted`)
}

function blobCorruptError({ companyId, blobId }: NewBlob, why: string, cause?: Error): BlobCorrupt {
  return new BlobCorrupt(`Blob ${blobId} of ${companyId} is corrupt: ${why}`, { cause })
}

export interface BlobRow {
  readonly versionId: string
  readonly companyId: CompanyId
  readonly subject: string
  readonly blobId: string
  /** In plain bytes. */
  readonly length: number
  readonly digest: Buffer
}

/** Stores the rows of blobs and chunks. A resolved write may not be on the disk yet. */
export interface BlobRows {
  /** Begins a half-written blob. */
  readonly begin: (versionId: string, blob: NewBlob) => Promise<void>
  /** Adds a chunk; false if the blob was deleted. */
  readonly addChunk: (versionId: string, index: number, sealed: Buffer) => Promise<boolean>
  /** Completes a blob and flushes it to the disk. `gone`: it was deleted. */
  readonly finish: (
    versionId: string,
    length: number,
    digest: Buffer,
  ) => Promise<"finished" | "exists" | "gone">
  /** Deletes a blob if it is half-written. */
  readonly discard: (versionId: string) => Promise<void>
  readonly find: (companyId: CompanyId, blobId: string) => Promise<BlobRow | null>
  readonly findCompanies: (blobId: string) => Promise<readonly CompanyId[]>
  /** Finds a chunk; null if there is none. */
  readonly findChunk: (versionId: string, index: number) => Promise<Buffer | null>
  /** Deletes a complete blob; false if there is none. */
  readonly delete: (companyId: CompanyId, blobId: string) => Promise<boolean>
  /** Deletes blobs that were half-written for longer than HALF_WRITTEN_TTL_MS. */
  readonly deleteHalfWritten: () => Promise<number>
}
