/** The contract of every blob store. */
import { randomBytes } from "node:crypto"
import fc from "fast-check"
import { expect, it, describe } from "vitest"
import {
  BlobExists,
  BlobGone,
  BlobTooLarge,
  CHUNK_BYTES,
  HALF_WRITTEN_TTL_MS,
} from "../../adapters/postgres/blobs/port.ts"
import { CompanyErased } from "../../adapters/sealing/port.ts"
import type { BlobsUnderTest } from "./blobs-fixture.ts"
import {
  LARGE_BLOB_LIMIT,
  OTHER_BLOB_OWNER,
  BLOB_OWNER,
  blobStores,
  pausedSource,
  bytesInPieces,
  readWholeBlob,
} from "./blobs-fixture.ts"

function writtenBlobs(open: () => Promise<BlobsUnderTest>): void {
  it("is stored up to the limit, and rejected one byte above it", async () => {
    const { blobs, readRows } = await open()
    const most = CHUNK_BYTES + 100
    const bytes = randomBytes(most + 1)
    const fits = bytesInPieces(bytes.subarray(0, most), [1_000])
    await blobs.write({ ...BLOB_OWNER, blobId: "rec_2" }, fits, { maxBytes: most })
    const before = await readRows()
    const source = bytesInPieces(bytes, [1_000])
    const refused = blobs.write(BLOB_OWNER, source, { maxBytes: most })
    await expect(refused).rejects.toThrow(new BlobTooLarge(most))
    expect(await refused.catch(({ maxBytes }: BlobTooLarge) => maxBytes)).toBe(most)
    expect(await blobs.find(BLOB_OWNER.companyId, BLOB_OWNER.blobId)).toBeNull()
    expect(await readRows()).toEqual(before)
    // The source was closed.
    expect(await source.next()).toEqual({ done: true, value: undefined })
  })

  it("leaves nothing behind if its source fails", async () => {
    const { blobs, readRows } = await open()
    const broken = new Error("the source failed")
    const source = (async function* () {
      yield randomBytes(2 * CHUNK_BYTES)
      throw broken
    })()
    await expect(blobs.write(BLOB_OWNER, source, LARGE_BLOB_LIMIT)).rejects.toBe(broken)
    expect(await blobs.find(BLOB_OWNER.companyId, BLOB_OWNER.blobId)).toBeNull()
    expect(await readRows()).toEqual({ blobs: [], chunks: [] })
  })

  it("is not overwritten", async () => {
    const { blobs, readRows } = await open()
    const bytes = randomBytes(CHUNK_BYTES + 1)
    const first = await blobs.write(BLOB_OWNER, bytesInPieces(bytes), LARGE_BLOB_LIMIT)
    const before = await readRows()
    const again = blobs.write(
      { ...BLOB_OWNER, subject: "per_1" },
      bytesInPieces(randomBytes(5)),
      LARGE_BLOB_LIMIT,
    )
    await expect(again).rejects.toThrow(BlobExists)
    expect(await readRows()).toEqual(before)
    const found = await blobs.find(BLOB_OWNER.companyId, BLOB_OWNER.blobId)
    expect(found?.versionId).toBe(first.versionId)
  })

  it("reads at most one chunk ahead from its source", async () => {
    const { blobs, movedChunkCount } = await open()
    const ahead: number[] = []
    const source = (async function* () {
      for (let given = 0; given < 40; given += 1) {
        ahead.push(given - movedChunkCount())
        yield randomBytes(CHUNK_BYTES)
      }
    })()
    await blobs.write(BLOB_OWNER, source, LARGE_BLOB_LIMIT)
    expect(Math.max(...ahead)).toBeLessThanOrEqual(1)
    expect(ahead).toHaveLength(40)
  })
}

function concurrentWriters(open: () => Promise<BlobsUnderTest>): void {
  it("store the blob of one writer, and leave nothing of the others", async () => {
    const { blobs, readRows } = await open()
    const given = Array.from({ length: 6 }, () => randomBytes(2 * CHUNK_BYTES + 1))
    const ended = await Promise.allSettled(
      given.map((bytes) =>
        blobs.write(BLOB_OWNER, bytesInPieces(bytes, [30_000]), LARGE_BLOB_LIMIT),
      ),
    )
    const winners = ended.flatMap((one, i) => (one.status === "fulfilled" ? [i] : []))
    expect(winners).toHaveLength(1)
    for (const one of ended) {
      if (one.status === "rejected") expect(one.reason).toBeInstanceOf(BlobExists)
    }
    const found = await blobs.find(BLOB_OWNER.companyId, BLOB_OWNER.blobId)
    expect(await readWholeBlob(found)).toEqual(given[winners[0] as number])
    const rows = await readRows()
    expect(rows.blobs).toHaveLength(1)
    expect(rows.chunks.map(({ edition }) => edition)).toEqual(Array(3).fill(found?.versionId))
  })
}

/** Blobs that are not complete. */
function halfWrittenBlobs(open: () => Promise<BlobsUnderTest>): void {
  it("is not found until it is complete", async () => {
    const { blobs, readRows } = await open()
    const { source, given, goOn } = pausedSource()
    const writer = blobs.write(BLOB_OWNER, source, LARGE_BLOB_LIMIT)
    await given
    expect((await readRows()).chunks.length).toBeGreaterThan(0)
    expect(await blobs.find(BLOB_OWNER.companyId, BLOB_OWNER.blobId)).toBeNull()
    expect(await blobs.delete(BLOB_OWNER.companyId, BLOB_OWNER.blobId)).toBe(false)
    goOn()
    await writer
    expect(await blobs.find(BLOB_OWNER.companyId, BLOB_OWNER.blobId)).toMatchObject({
      length: 3 * CHUNK_BYTES,
    })
  })

  it("is deleted once it is too old, and its writer gets an error", async () => {
    const { blobs, readRows, age } = await open()
    const complete = await blobs.write(
      { ...BLOB_OWNER, blobId: "rec_2" },
      bytesInPieces(randomBytes(9)),
      LARGE_BLOB_LIMIT,
    )
    const { source, given, goOn } = pausedSource()
    const writer = blobs.write(BLOB_OWNER, source, LARGE_BLOB_LIMIT)
    await given
    await age(HALF_WRITTEN_TTL_MS - 60_000)
    expect(await blobs.deleteHalfWritten()).toBe(0)
    await age(120_000)
    expect(await blobs.deleteHalfWritten()).toBe(1)
    const rows = await readRows()
    expect(rows.blobs.map(({ edition }) => edition)).toEqual([complete.versionId])
    expect(rows.chunks.map(({ edition }) => edition)).toEqual([complete.versionId])
    goOn()
    await expect(writer).rejects.toThrow(BlobGone)
    expect(await blobs.find(BLOB_OWNER.companyId, BLOB_OWNER.blobId)).toBeNull()
    expect((await readRows()).chunks).toHaveLength(1)
  })

  it("is not completed after its deletion, even if no bytes were left to write", async () => {
    const { blobs, readRows, age } = await open()
    const [given, rest] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const source = (async function* () {
      yield randomBytes(0)
      given.resolve()
      await rest.promise
    })()
    const writer = blobs.write(BLOB_OWNER, source, LARGE_BLOB_LIMIT)
    await given.promise
    await age(2 * HALF_WRITTEN_TTL_MS)
    expect(await blobs.deleteHalfWritten()).toBe(1)
    rest.resolve()
    await expect(writer).rejects.toThrow(BlobGone)
    expect(await readRows()).toEqual({ blobs: [], chunks: [] })
  })
}

function goneBlobs(open: () => Promise<BlobsUnderTest>): void {
  it("is deleted once with all its chunks, and its id can be reused", async () => {
    const { blobs, readRows } = await open()
    const other = await blobs.write(
      { ...BLOB_OWNER, blobId: "rec_2" },
      bytesInPieces(randomBytes(9)),
      LARGE_BLOB_LIMIT,
    )
    const first = await blobs.write(
      BLOB_OWNER,
      bytesInPieces(randomBytes(3 * CHUNK_BYTES)),
      LARGE_BLOB_LIMIT,
    )
    expect(await blobs.delete(BLOB_OWNER.companyId, BLOB_OWNER.blobId)).toBe(true)
    expect(await blobs.delete(BLOB_OWNER.companyId, BLOB_OWNER.blobId)).toBe(false)
    expect(await blobs.find(BLOB_OWNER.companyId, BLOB_OWNER.blobId)).toBeNull()
    expect((await readRows()).chunks.map(({ edition }) => edition)).toEqual([other.versionId])
    const again = await blobs.write(BLOB_OWNER, bytesInPieces(Buffer.from("new")), LARGE_BLOB_LIMIT)
    expect(again.versionId).not.toBe(first.versionId)
    expect((await readWholeBlob(again)).toString()).toBe("new")
  })

  it("fails for its readers, even if another blob has its id", async () => {
    const { blobs } = await open()
    const blob = await blobs.write(
      BLOB_OWNER,
      bytesInPieces(randomBytes(3 * CHUNK_BYTES)),
      LARGE_BLOB_LIMIT,
    )
    const reader = blob.read()[Symbol.asyncIterator]()
    expect((await reader.next()).done).toBe(false)
    await blobs.delete(BLOB_OWNER.companyId, BLOB_OWNER.blobId)
    await expect(reader.next()).rejects.toThrow(BlobGone)
    await blobs.write(BLOB_OWNER, bytesInPieces(randomBytes(3 * CHUNK_BYTES)), LARGE_BLOB_LIMIT)
    await expect(readWholeBlob(blob)).rejects.toThrow(BlobGone)
  })

  it("is unreadable once its company's keys are destroyed, and no new one can be written", async () => {
    const { blobs, readRows, destroyKeys } = await open()
    const blob = await blobs.write(
      BLOB_OWNER,
      bytesInPieces(randomBytes(3 * CHUNK_BYTES)),
      LARGE_BLOB_LIMIT,
    )
    const other = await blobs.write(
      OTHER_BLOB_OWNER,
      bytesInPieces(Buffer.from("other")),
      LARGE_BLOB_LIMIT,
    )
    const before = await readRows()
    await destroyKeys(BLOB_OWNER.companyId)
    expect(await blobs.find(BLOB_OWNER.companyId, BLOB_OWNER.blobId)).toBeNull()
    await expect(readWholeBlob(blob)).rejects.toThrow(BlobGone)
    const late = blobs.write(
      { ...BLOB_OWNER, blobId: "rec_2" },
      bytesInPieces(randomBytes(9)),
      LARGE_BLOB_LIMIT,
    )
    await expect(late).rejects.toThrow(CompanyErased)
    expect(await readRows()).toEqual(before)
    expect((await readWholeBlob(other)).toString()).toBe("other")
  })

  it("is deleted with its company's rows, even if half-written, and other companies' blobs are not", async () => {
    const { blobs, readRows, deleteRows } = await open()
    await blobs.write(BLOB_OWNER, bytesInPieces(randomBytes(3 * CHUNK_BYTES)), LARGE_BLOB_LIMIT)
    const other = await blobs.write(
      OTHER_BLOB_OWNER,
      bytesInPieces(Buffer.from("other")),
      LARGE_BLOB_LIMIT,
    )
    const { source, given, goOn } = pausedSource()
    const writer = blobs.write({ ...BLOB_OWNER, blobId: "rec_2" }, source, LARGE_BLOB_LIMIT)
    await given
    await deleteRows(BLOB_OWNER.companyId)
    const rows = await readRows()
    expect(rows.blobs.map(({ edition }) => edition)).toEqual([other.versionId])
    expect(rows.chunks.map(({ edition }) => edition)).toEqual([other.versionId])
    goOn()
    await expect(writer).rejects.toThrow(BlobGone)
    expect((await readRows()).blobs).toHaveLength(1)
  })
}

/** Lengths around chunk boundaries, and random ones. */
const lengths = fc.oneof(
  fc
    .constantFrom(
      ...[0, 1, 2, 3].flatMap((chunks) => [-1, 0, 1].map((more) => chunks * CHUNK_BYTES + more)),
    )
    .filter((length) => length >= 0),
  fc.integer({ min: 0, max: 3 * CHUNK_BYTES }),
)
/** Ways to split a stream, including empty pieces. */
const cuts = fc
  .array(fc.oneof(fc.constantFrom(0, CHUNK_BYTES), fc.integer({ min: 1, max: 100_000 })), {
    minLength: 1,
    maxLength: 4,
  })
  .map((sizes) => [...sizes, 50_000])

const PARTS = {
  "a blob": roundTrips,
  "a range of a blob": ranges,
  "a reader": reading,
  "the owners of blobs": owners,
  "a written blob": writtenBlobs,
  "concurrent writers of one blob": concurrentWriters,
  "a half-written blob": halfWrittenBlobs,
  "a deleted or erased blob": goneBlobs,
}

describe.for(await blobStores())("%s", ([, open]) => {
  describe.for(Object.entries(PARTS))("%s", ([, part]) => {
    part(open)
  })
})

function roundTrips(open: () => Promise<BlobsUnderTest>): void {
  it("is read as it was written, whatever its length and pieces", async () => {
    const { blobs } = await open()
    let written = 0
    await fc.assert(
      fc.asyncProperty(lengths, cuts, async (length, pieces) => {
        const bytes = randomBytes(length)
        const blobId = `rec_${(written += 1)}`
        const blob = await blobs.write(
          { ...BLOB_OWNER, blobId },
          bytesInPieces(bytes, pieces),
          LARGE_BLOB_LIMIT,
        )
        expect(blob.length).toBe(length)
        expect((await readWholeBlob(blob)).equals(bytes)).toBe(true)
        const found = await blobs.find(BLOB_OWNER.companyId, blobId)
        expect(found).toMatchObject({ length, versionId: blob.versionId })
        expect((await readWholeBlob(found)).equals(bytes)).toBe(true)
      }),
      { numRuns: 60 },
    )
  })

  it("belongs to its company, even if another company uses the same id", async () => {
    const { blobs } = await open()
    const [own, other] = [randomBytes(9), randomBytes(9)]
    await blobs.write(BLOB_OWNER, bytesInPieces(own), LARGE_BLOB_LIMIT)
    expect(await blobs.find(OTHER_BLOB_OWNER.companyId, OTHER_BLOB_OWNER.blobId)).toBeNull()
    await blobs.write(OTHER_BLOB_OWNER, bytesInPieces(other), LARGE_BLOB_LIMIT)
    expect(await readWholeBlob(await blobs.find(BLOB_OWNER.companyId, BLOB_OWNER.blobId))).toEqual(
      own,
    )
    expect(
      await readWholeBlob(await blobs.find(OTHER_BLOB_OWNER.companyId, OTHER_BLOB_OWNER.blobId)),
    ).toEqual(other)
  })

  it("is never stored in the clear, and equal bytes are sealed differently", async () => {
    const { blobs, readRows } = await open()
    const bytes = Buffer.alloc(CHUNK_BYTES + 9, "a secret that is in a blob. ")
    const first = await blobs.write(BLOB_OWNER, bytesInPieces(bytes), LARGE_BLOB_LIMIT)
    const second = await blobs.write(
      { ...BLOB_OWNER, blobId: "rec_2" },
      bytesInPieces(bytes),
      LARGE_BLOB_LIMIT,
    )
    expect(first.versionId).not.toBe(second.versionId)
    const { chunks } = await readRows()
    expect(chunks).toHaveLength(4)
    for (const { sealed } of chunks) expect(sealed.includes("secret")).toBe(false)
    expect(new Set(chunks.map(({ sealed }) => sealed.toString("hex"))).size).toBe(4)
  })
}

function ranges(open: () => Promise<BlobsUnderTest>): void {
  it("is read for any start and end", async () => {
    const { blobs } = await open()
    const bytes = randomBytes(3 * CHUNK_BYTES + 5)
    const blob = await blobs.write(BLOB_OWNER, bytesInPieces(bytes), LARGE_BLOB_LIMIT)
    const boundaries = [0, 1, 2, 3].flatMap((chunks) =>
      [-1, 0, 1].map((more) => chunks * CHUNK_BYTES + more),
    )
    const offset = fc.oneof(
      fc.constantFrom(...boundaries.filter((at) => at >= 0), bytes.length),
      fc.integer({ min: 0, max: bytes.length }),
    )
    await fc.assert(
      fc.asyncProperty(offset, offset, async (a, b) => {
        const [from, until] = [Math.min(a, b), Math.max(a, b)]
        const read = await readWholeBlob(blob, { from, until })
        expect(read.equals(bytes.subarray(from, until))).toBe(true)
      }),
      { numRuns: 100 },
    )
  })

  it("reads only its own chunks", async () => {
    const { blobs, movedChunkCount } = await open()
    const bytes = randomBytes(8 * CHUNK_BYTES)
    const blob = await blobs.write(BLOB_OWNER, bytesInPieces(bytes), LARGE_BLOB_LIMIT)
    const before = movedChunkCount()
    const from = 6 * CHUNK_BYTES - 1
    expect(await readWholeBlob(blob, { from, until: from + 2 })).toEqual(
      bytes.subarray(from, from + 2),
    )
    expect(movedChunkCount() - before).toBe(2)
  })

  it("is rejected outside of the blob", async () => {
    const { blobs } = await open()
    const blob = await blobs.write(BLOB_OWNER, bytesInPieces(randomBytes(10)), LARGE_BLOB_LIMIT)
    for (const [from, until] of [
      [0, 11],
      [-1, 3],
      [5, 4],
      [0.5, 3],
      [0, Number.NaN],
    ] as const) {
      await expect(readWholeBlob(blob, { from, until }), `${from}–${until}`).rejects.toThrow(
        RangeError,
      )
    }
    expect(await readWholeBlob(blob, { from: 10, until: 10 })).toHaveLength(0)
  })
}

function owners(open: () => Promise<BlobsUnderTest>): void {
  it("of an id are the companies with a complete blob", async () => {
    const { blobs } = await open()
    const blobId = `owned-${randomBytes(4).toString("hex")}`
    expect(await blobs.findCompanies(blobId)).toEqual([])
    await blobs.write({ ...BLOB_OWNER, blobId }, bytesInPieces(randomBytes(3)), LARGE_BLOB_LIMIT)
    await blobs.write(
      { ...BLOB_OWNER, blobId: `${blobId}-2` },
      bytesInPieces(randomBytes(3)),
      LARGE_BLOB_LIMIT,
    )
    expect(await blobs.findCompanies(blobId)).toEqual([BLOB_OWNER.companyId])
    await blobs.delete(BLOB_OWNER.companyId, blobId)
    expect(await blobs.findCompanies(blobId)).toEqual([])
  })
}

function reading(open: () => Promise<BlobsUnderTest>): void {
  it("that is slow holds one chunk, and no chunk is read ahead", async () => {
    const { blobs, movedChunkCount } = await open()
    const bytes = randomBytes(20 * CHUNK_BYTES)
    const blob = await blobs.write(BLOB_OWNER, bytesInPieces(bytes), LARGE_BLOB_LIMIT)
    const before = movedChunkCount()
    let read = 0
    for await (const piece of blob.read()) {
      read += 1
      expect(piece.length).toBeLessThanOrEqual(CHUNK_BYTES)
      // Gives a pending read ahead the time to finish.
      await blobs.find(BLOB_OWNER.companyId, BLOB_OWNER.blobId)
      expect(movedChunkCount() - before).toBe(read)
      if (read === 5) break
    }
    expect(movedChunkCount() - before).toBe(5)
  })

  it("is independent of concurrent readers", async () => {
    const { blobs } = await open()
    const bytes = randomBytes(5 * CHUNK_BYTES)
    const blob = await blobs.write(BLOB_OWNER, bytesInPieces(bytes), LARGE_BLOB_LIMIT)
    const all = await Promise.all(Array.from({ length: 8 }, () => readWholeBlob(blob)))
    for (const read of all) expect(read.equals(bytes)).toBe(true)
  })
}
