/** Blobs over rows of sealed bytes: what is cut, sealed, counted and checked is the same everywhere. */
import { randomUUID } from "node:crypto"
import type { Sealing } from "../../sealing/port.ts"
import { SealFault } from "../../sealing/port.ts"
import type { Blob, Blobs, ByteRange, NewBlob } from "./port.ts"
import { BlobCorrupt, BlobExists, BlobGone, BlobTooLarge, CHUNK_BYTES } from "./port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"

const NOTHING = Buffer.alloc(0)

/** Which blob something is about, for errors and for what is authenticated. */
interface BlobVersion extends NewBlob {
  readonly versionId: string
}

/** Blobs whose rows are there, sealed so. Their errors are those of the port. */
export function openSealedBlobs(rows: BlobRows, sealing: Sealing): Blobs {
  const opened = (row: BlobRow): Blob => ({
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
        return opened(await finish(rows, sealing, written, length))
      } catch (error) {
        // Where that fails too, it is swept.
        await Promise.allSettled([rows.discard(written.versionId)])
        throw error
      }
    },
    find: async (companyId, blobId) => {
      const row = await rows.find(companyId, blobId)
      if (row === null) return null
      const { digest, length } = row
      const isMarked = await openSealed(sealing, row, digest, digestContext(row, length))
      return isMarked === null ? null : opened(row)
    },
    findCompanies: rows.findCompanies,
    delete: rows.delete,
    deleteHalfWritten: rows.deleteHalfWritten,
  }
}

/** Cuts a stream into chunks. @throws BlobTooLarge */
async function* splitIntoChunks(
  source: AsyncIterable<Uint8Array>,
  mostBytes: number,
): AsyncGenerator<Buffer> {
  let chunk = Buffer.alloc(CHUNK_BYTES)
  let filled = 0
  let total = 0
  for await (const piece of source) {
    total += piece.length
    if (total > mostBytes) throw new BlobTooLarge(mostBytes)
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

/** Writes the chunks; answers how many bytes they were. @throws BlobGone */
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

/** Reads a range, chunk by chunk. @throws RangeError, BlobCorrupt, BlobGone */
async function* readRange(
  rows: BlobRows,
  sealing: Sealing,
  row: BlobRow,
  { from, until }: ByteRange,
): AsyncGenerator<Buffer> {
  const isThere = Number.isInteger(from) && Number.isInteger(until) && 0 <= from && from <= until
  if (!isThere || until > row.length) {
    throw new RangeError(`a blob of ${row.length} bytes has none from ${from} until ${until}`)
  }
  for (let index = Math.floor(from / CHUNK_BYTES); index * CHUNK_BYTES < until; index += 1) {
    const sealed = await rows.findChunk(row.versionId, index)
    if (sealed === null) throw await missingChunkError(rows, row, index)
    const plain = await openSealed(sealing, row, sealed, chunkContext(row, index))
    if (plain === null) throw blobGoneError(row)
    const begins = index * CHUNK_BYTES
    yield plain.subarray(Math.max(0, from - begins), until - begins)
  }
}

/** Opens what belongs to a blob; null where its subject's key is gone. @throws BlobCorrupt */
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

/** Why a chunk is not there: the blob is there no more, or it is damaged. */
async function missingChunkError(rows: BlobRows, row: BlobRow, index: number): Promise<Error> {
  const now = await rows.find(row.companyId, row.blobId)
  return now?.versionId === row.versionId
    ? blobCorruptError(row, `it has no chunk ${index}`)
    : blobGoneError(row)
}

function chunkContext({ blobId, versionId }: BlobVersion, index: number) {
  return ["blob", blobId, versionId, "chunk", index] as const
}

function digestContext({ blobId, versionId }: BlobVersion, length: number) {
  return ["blob", blobId, versionId, "length", length] as const
}

function blobExistsError({ companyId, blobId }: NewBlob): BlobExists {
  return new BlobExists(`${companyId} has a blob ${blobId} already`)
}

function blobGoneError({ companyId, blobId }: NewBlob): BlobGone {
  return new BlobGone(`the blob ${blobId} of ${companyId} was deleted`)
}

function blobCorruptError({ companyId, blobId }: NewBlob, why: string, cause?: Error): BlobCorrupt {
  return new BlobCorrupt(`the blob ${blobId} of ${companyId} is damaged: ${why}`, { cause })
}

/** A blob's own row, whole. */
export interface BlobRow {
  readonly versionId: string
  readonly companyId: CompanyId
  readonly subject: string
  readonly blobId: string
  /** Plain bytes. */
  readonly length: number
  readonly digest: Buffer
}

/** Keeps the rows of blobs and of their chunks. What resolves was written, though maybe not to the disk. */
export interface BlobRows {
  /** Begins a blob, half-written. */
  readonly begin: (edition: string, blob: NewBlob) => Promise<void>
  /** Adds a chunk. False where the blob is there no more. */
  readonly addChunk: (edition: string, index: number, sealed: Buffer) => Promise<boolean>
  /** Makes a blob whole, with all before it on the disk. `gone`: it is there no more. */
  readonly finish: (
    edition: string,
    length: number,
    mark: Buffer,
  ) => Promise<"finished" | "exists" | "gone">
  /** Deletes a blob if it is half-written. */
  readonly discard: (edition: string) => Promise<void>
  /** The whole blob of an id. */
  readonly find: (companyId: CompanyId, blobId: string) => Promise<BlobRow | null>
  /** The companies that have a whole blob of an id. */
  readonly findCompanies: (blobId: string) => Promise<readonly CompanyId[]>
  /** A chunk; null where there is none. */
  readonly findChunk: (edition: string, index: number) => Promise<Buffer | null>
  /** Deletes the whole blob of an id; false where there is none. */
  readonly delete: (companyId: CompanyId, blobId: string) => Promise<boolean>
  /** Deletes what is half-written for longer than HALF_WRITTEN_TTL_MS. */
  readonly deleteHalfWritten: () => Promise<number>
}
