/** Where the rows of blobs are: it keeps sealed bytes, and knows no key. */
import type { NewBlob } from "./port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"

/** A blob's own row, whole. */
export interface BlobRow {
  readonly edition: string
  readonly companyId: CompanyId
  readonly subject: string
  readonly blobId: string
  /** Plain bytes. */
  readonly length: number
  readonly mark: Buffer
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
  readonly companiesWith: (blobId: string) => Promise<readonly CompanyId[]>
  /** A chunk; null where there is none. */
  readonly chunk: (edition: string, index: number) => Promise<Buffer | null>
  /** Deletes the whole blob of an id; false where there is none. */
  readonly delete: (companyId: CompanyId, blobId: string) => Promise<boolean>
  /** Deletes what is half-written for longer than HALF_WRITTEN_KEPT_MS. */
  readonly sweep: () => Promise<number>
}
