/**
 * Blobs: bytes of a company that are too many for a fact, as a recording, a mail or a file that was
 * built. They are sealed, kept by chunks, written and read as streams, and never changed: who wants
 * other bytes takes another id, or deletes the blob first.
 *
 * The plain bytes are cut into chunks of 64 KiB, the last one shorter. Each is sealed under the key of
 * the blob's subject, and authenticated with it are company, subject, blob, edition (a random name of
 * this one writing) and its index. How many there are is known at the end only, so it stands in no chunk:
 * the blob's mark, written last, authenticates the length, and by that the count. A blob without its
 * mark is half-written, and there for nobody. The mark is checked before anything is read: so a chunk
 * that was changed, moved, dropped, repeated or cut, or belongs to another blob, edition, subject or
 * company is found wherever it is read. What cannot be found is a whole blob, mark and all, put back as
 * it was before it was deleted.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"

/** So many plain bytes are in a chunk. */
export const CHUNK_BYTES = 64 * 1024

/** What is half-written for longer than this was left by whoever wrote it, in milliseconds. */
export const HALF_WRITTEN_TTL_MS = 24 * 3_600_000

/** A blob that is to be written. */
export interface NewBlob {
  readonly companyId: CompanyId
  /** Whose key seals it: COMPANY_SUBJECT, a person's or a recipient's. */
  readonly subject: string
  /** The caller's own id for it; no two blobs of a company have the same. */
  readonly blobId: string
}

/** Some bytes of a blob, counted from 0. */
export interface ByteRange {
  readonly from: number
  /** The first byte that is not among them. */
  readonly until: number
}

/** A blob that is whole. */
export interface Blob {
  /** Bytes. */
  readonly length: number
  /** A name for exactly these bytes, that says nothing of them: another writing has another. */
  readonly versionId: string
  /**
   * The bytes in order, in pieces of at most 64 KiB; of a range, without reading what is before it. No
   * more than one piece is held for a reader that is slow.
   *
   * @throws RangeError where the blob has no such bytes; BlobCorrupt; BlobGone
   */
  readonly read: (range?: ByteRange) => AsyncIterable<Buffer>
}

/** Keeps blobs. */
export interface Blobs {
  /**
   * Writes a blob from a stream of any length; it is there once this resolves. Of two who write the same
   * one it is the one who ends first. What is not read of the source is the caller's to end.
   *
   * @throws BlobTooLarge as soon as there are more than `mostBytes`; BlobExists; CompanyErased; BlobGone
   * where it was erased or swept meanwhile; what the source throws. Then nothing of it stays.
   */
  readonly write: (
    blob: NewBlob,
    source: AsyncIterable<Uint8Array>,
    options: { readonly maxBytes: number },
  ) => Promise<Blob>
  /**
   * Finds a blob; null where there is none, or its subject's key was erased.
   *
   * @throws BlobCorrupt
   */
  readonly find: (companyId: CompanyId, blobId: string) => Promise<Blob | null>
  /** The companies that have a whole blob of an id, whether its key was erased or not. */
  readonly findCompanies: (blobId: string) => Promise<readonly CompanyId[]>
  /** Deletes a blob; false where there is none. */
  readonly delete: (companyId: CompanyId, blobId: string) => Promise<boolean>
  /** Deletes what is half-written for too long; answers how many blobs that were. */
  readonly deleteHalfWritten: () => Promise<number>
}

/** There are more bytes than may be written. */
export class BlobTooLarge extends Error {
  override readonly name = "BlobTooLarge"
  /** How many may be. */
  readonly maxBytes: number

  constructor(mostBytes: number) {
    super(`there are more than ${mostBytes} bytes`)
    this.maxBytes = mostBytes
  }
}

/** A blob of this id is there already. */
export class BlobExists extends Error {
  override readonly name = "BlobExists"
}

/** What is stored is not what was written. */
export class BlobCorrupt extends Error {
  override readonly name = "BlobCorrupt"
}

/** It was deleted or erased while it was read or written. */
export class BlobGone extends Error {
  override readonly name = "BlobGone"
}
