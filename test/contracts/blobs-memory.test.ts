import type { MemoryBlobRows } from "../../adapters/blobs/memory.ts"
import { memoryBlobRows, openMemoryBlobs } from "../../adapters/blobs/memory.ts"
import { openMemorySealing } from "../../adapters/sealing/memory.ts"
import { blobsContract } from "./blobs-contract.ts"
import type { StoredBlobs } from "./blobs-fixture.ts"

/** Rows that count the chunks that come and go. */
function counting(rows: MemoryBlobRows) {
  let moved = 0
  const counted: typeof rows = {
    ...rows,
    addChunk: (...given) => ((moved += 1), rows.addChunk(...given)),
    chunk: (...given) => ((moved += 1), rows.chunk(...given)),
  }
  return { counted, moved: () => moved }
}

function allOf(rows: MemoryBlobRows): StoredBlobs {
  return {
    blobs: [...rows.blobs].map(([edition, { companyId, subject, blobId, length, mark }]) => {
      return { edition, companyId, subject, blobId, length, mark }
    }),
    chunks: [...rows.chunks].flatMap(([edition, chunks]) =>
      [...chunks].map(([index, sealed]) => ({ edition, index, sealed })),
    ),
  }
}

blobsContract("blobs in memory", async () => {
  let now = Date.UTC(2031, 4, 6)
  const rows = memoryBlobRows(() => now)
  const { counted, moved } = counting(rows)
  const sealing = openMemorySealing()
  return {
    blobs: openMemoryBlobs(sealing, counted),
    stored: async () => allOf(rows),
    store: async ({ blobs, chunks }) => {
      rows.blobs.clear()
      rows.chunks.clear()
      for (const { edition, ...row } of blobs) {
        rows.blobs.set(edition, { ...row, begunAt: now })
        rows.chunks.set(edition, new Map())
      }
      for (const { edition, index, sealed } of chunks) rows.chunks.get(edition)?.set(index, sealed)
    },
    chunksMoved: moved,
    age: async (ms) => void (now += ms),
    destroyKeys: async (companyId) => sealing.destroyKeys(companyId),
    deleteRows: async (companyId) => {
      for (const [edition, row] of rows.blobs) {
        if (row.companyId !== companyId) continue
        rows.blobs.delete(edition)
        rows.chunks.delete(edition)
      }
    },
  }
})
