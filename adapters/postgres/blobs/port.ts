/**
 * Blobs: bytes of a company that are too large for a fact, such as recordings, mails and built files. They are
 * sealed, stored in chunks, written and read as streams, and never changed: to replace a blob, use another id or
 * delete it first.
 *
 * The plain bytes are cut into chunks of 64 KiB, the last one shorter. Each chunk is sealed with the key of the
 * blob's subject, and authenticated with company, subject, blob, version id (random for each write) and its index.
 * The digest, written last, authenticates the length and so the number of chunks; a blob without a digest is
 * half-written and invisible. Because the digest is checked before reading, every changed, moved, missing,
 * repeated or truncated chunk, and every chunk of another blob, version, subject or company, is detected.
 * Restoring a complete deleted blob with its digest is not detected.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"

/** Plain bytes in a chunk. */
export const CHUNK_BYTES = 64 * 1024

/** A half-written blob older than this was abandoned by its writer, in milliseconds. */
export const HALF_WRITTEN_TTL_MS = 24 * 3_600_000

export interface NewBlob {
  readonly companyId: CompanyId
  /** The subject whose key seals it: COMPANY_SUBJECT, a person's or a recipient's. */
  readonly subject: string
  /** Chosen by the caller, unique in the company. */
  readonly blobId: string
}

/** A range of a blob's bytes, counted from 0. */
export interface ByteRange {
  readonly from: number
  /** Exclusive end. */
  readonly until: number
}

/** A completely written blob. */
export interface Blob {
  /** In bytes. */
  readonly length: number
  /** A random id of this write of the blob; it reveals nothing about the bytes. */
  readonly versionId: string
  /**
   * Yields the bytes in order, in pieces of at most 64 KiB. A range is read without the bytes
   * before it, and at most one piece is buffered for a slow reader.
   *
   * @throws RangeError if the blob has no such bytes; BlobCorrupt; BlobGone
   */
  readonly read: (range?: ByteRange) => AsyncIterable<Buffer>
}

export interface Blobs {
  /**
   * Writes a blob from a stream of any length; it is visible once this resolves. If two callers write the same id,
   * the one that ends first wins. The caller closes a source that was not read to its end.
   *
   * @throws BlobTooLarge as soon as there are more than `maxBytes`; BlobExists; CompanyErased; BlobGone if it was
   * erased or swept meanwhile; errors of the source. Nothing is stored then.
   */
  readonly write: (
    blob: NewBlob,
    source: AsyncIterable<Uint8Array>,
    options: { readonly maxBytes: number },
  ) => Promise<Blob>
  /** Finds a blob; null if there is none, or its subject's key was erased. @throws BlobCorrupt */
  readonly find: (companyId: CompanyId, blobId: string) => Promise<Blob | null>
  /** The companies that have a complete blob with this id, including those whose key was erased. */
  readonly findCompanies: (blobId: string) => Promise<readonly CompanyId[]>
  /** Deletes a blob; false if there is none. */
  readonly delete: (companyId: CompanyId, blobId: string) => Promise<boolean>
  /** Deletes blobs that were half-written for too long; returns how many. */
  readonly deleteHalfWritten: () => Promise<number>
}

/** The source has more bytes than allowed. */
export class BlobTooLarge extends Error {
  override readonly name = "BlobTooLarge"
  readonly maxBytes: number

  constructor(maxBytes: number) {
    super(`The blob is larger than the limit of ${maxBytes} bytes`)
    this.maxBytes = maxBytes
  }
}

/** The company already has a blob with this id. */
export class BlobExists extends Error {
  override readonly name = "BlobExists"
}

/** The stored bytes are not the bytes that were written. */
export class BlobCorrupt extends Error {
  override readonly name = "BlobCorrupt"
}

/** The blob was deleted or erased while it was read or written. */
export class BlobGone extends Error {
  override readonly name = "BlobGone"
}
