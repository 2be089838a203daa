import type { Sealing } from "../../sealing/port.ts"
import type { Blobs, NewBlob } from "./port.ts"
import { HALF_WRITTEN_KEPT_MS } from "./port.ts"
import type { BlobRow, BlobRows } from "./sealed.ts"
import { openSealedBlobs } from "./sealed.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"

/** A blob's row in memory; a half-written one has no mark. */
interface MemoryRow extends NewBlob {
  length: number | null
  mark: Buffer | null
  readonly begunAt: number
}

/** The rows of blobs in this process's memory. */
export interface MemoryBlobRows extends BlobRows {
  /** By edition. */
  readonly blobs: Map<string, MemoryRow>
  /** By edition, then by index. */
  readonly chunks: Map<string, Map<number, Buffer>>
}

/** Makes rows. @param now UTC milliseconds */
export function memoryBlobRows(now: () => number = Date.now): MemoryBlobRows {
  const blobs = new Map<string, MemoryRow>()
  const chunks = new Map<string, Map<number, Buffer>>()
  const find = (companyId: CompanyId, blobId: string): BlobRow | null => {
    for (const [edition, row] of blobs) {
      const { length, mark } = row
      if (row.companyId !== companyId || row.blobId !== blobId) continue
      if (length !== null && mark !== null) return { ...row, edition, length, mark }
    }
    return null
  }
  const remove = (edition: string) => {
    blobs.delete(edition)
    chunks.delete(edition)
  }
  return {
    blobs,
    chunks,
    begin: async (edition, { companyId, subject, blobId }) => {
      const row = { companyId, subject, blobId, length: null, mark: null, begunAt: now() }
      blobs.set(edition, row)
      chunks.set(edition, new Map())
    },
    addChunk: async (edition, index, sealed) => {
      chunks.get(edition)?.set(index, sealed)
      return chunks.has(edition)
    },
    finish: async (edition, length, mark) => {
      const row = blobs.get(edition)
      if (row === undefined) return "gone"
      if (find(row.companyId, row.blobId) !== null) return "exists"
      Object.assign(row, { length, mark })
      return "finished"
    },
    discard: async (edition) => {
      if (blobs.get(edition)?.mark === null) remove(edition)
    },
    find: async (companyId, blobId) => find(companyId, blobId),
    companiesWith: async (blobId) =>
      [...blobs.values()].flatMap((row) =>
        row.blobId === blobId && row.mark !== null ? row.companyId : [],
      ),
    chunk: async (edition, index) => chunks.get(edition)?.get(index) ?? null,
    delete: async (companyId, blobId) => {
      const row = find(companyId, blobId)
      if (row !== null) remove(row.edition)
      return row !== null
    },
    sweep: async () => {
      const before = now() - HALF_WRITTEN_KEPT_MS
      const left = [...blobs].filter(([, { mark, begunAt }]) => mark === null && begunAt < before)
      for (const [edition] of left) remove(edition)
      return left.length
    },
  }
}

/** Blobs in this process's memory: the memory twin, for tests. Their errors are those of the port. */
export function openMemoryBlobs(sealing: Sealing, rows: BlobRows = memoryBlobRows()): Blobs {
  return openSealedBlobs(rows, sealing)
}
