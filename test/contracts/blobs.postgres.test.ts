/** What every implementation of blobs must do. */
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

/** Writing blobs. */
function writtenBlobs(open: () => Promise<BlobsUnderTest>): void {
  it("may have as many bytes as it may, and not one more", async () => {
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
    // The stream was ended, not left open.
    expect(await source.next()).toEqual({ done: true, value: undefined })
  })

  it("leaves nothing behind where its source breaks off", async () => {
    const { blobs, readRows } = await open()
    const broken = new Error("the line went dead")
    const source = (async function* () {
      yield randomBytes(2 * CHUNK_BYTES)
      throw broken
    })()
    await expect(blobs.write(BLOB_OWNER, source, LARGE_BLOB_LIMIT)).rejects.toBe(broken)
    expect(await blobs.find(BLOB_OWNER.companyId, BLOB_OWNER.blobId)).toBeNull()
    expect(await readRows()).toEqual({ blobs: [], chunks: [] })
  })

  it("is not written over", async () => {
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

  it("takes from its source what it has written, and little more", async () => {
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

/** Writing one blob by many at once. */
function blobsWrittenAtOnce(open: () => Promise<BlobsUnderTest>): void {
  it("write that of one of them, and of nobody else anything stays", async () => {
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

/** Blobs that are not whole. */
function halfWrittenBlobs(open: () => Promise<BlobsUnderTest>): void {
  it("is there for nobody until it is whole", async () => {
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

  it("is swept once nobody can be writing it any more, and whoever is learns it", async () => {
    const { blobs, readRows, age } = await open()
    const whole = await blobs.write(
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
    expect(rows.blobs.map(({ edition }) => edition)).toEqual([whole.versionId])
    expect(rows.chunks.map(({ edition }) => edition)).toEqual([whole.versionId])
    goOn()
    await expect(writer).rejects.toThrow(BlobGone)
    expect(await blobs.find(BLOB_OWNER.companyId, BLOB_OWNER.blobId)).toBeNull()
    expect((await readRows()).chunks).toHaveLength(1)
  })

  it("of no bytes more is not made whole either, once it was swept", async () => {
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

/** Blobs that were deleted or erased. */
function goneBlobs(open: () => Promise<BlobsUnderTest>): void {
  it("was deleted, once, with all its chunks, and another may take its id", async () => {
    const { blobs, readRows } = await open()
    const kept = await blobs.write(
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
    expect((await readRows()).chunks.map(({ edition }) => edition)).toEqual([kept.versionId])
    const again = await blobs.write(BLOB_OWNER, bytesInPieces(Buffer.from("new")), LARGE_BLOB_LIMIT)
    expect(again.versionId).not.toBe(first.versionId)
    expect((await readWholeBlob(again)).toString()).toBe("new")
  })

  it("tells whoever is reading it, also where another has its id by then", async () => {
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

  it("was erased with its company's keys, for readers of before too, and none comes after", async () => {
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

  it("was erased with its company's rows, half-written ones too, and no other company's", async () => {
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

/** Lengths around the borders of chunks, and any others. */
const lengths = fc.oneof(
  fc
    .constantFrom(
      ...[0, 1, 2, 3].flatMap((chunks) => [-1, 0, 1].map((more) => chunks * CHUNK_BYTES + more)),
    )
    .filter((length) => length >= 0),
  fc.integer({ min: 0, max: 3 * CHUNK_BYTES }),
)
/** Ways to cut a stream, pieces of no bytes among them, but never of none alone. */
const cuts = fc
  .array(fc.oneof(fc.constantFrom(0, CHUNK_BYTES), fc.integer({ min: 1, max: 100_000 })), {
    minLength: 1,
    maxLength: 4,
  })
  .map((some) => [...some, 50_000])

const PARTS = {
  "a blob": roundTrips,
  "a range of a blob": ranges,
  "a reader": reading,
  "who has blobs": owners,
  "a blob that is written": writtenBlobs,
  "many who write one blob": blobsWrittenAtOnce,
  "a blob that is half-written": halfWrittenBlobs,
  "a blob that is gone": goneBlobs,
}

describe.for(await blobStores())("%s", ([, open]) => {
  describe.for(Object.entries(PARTS))("%s", ([, part]) => {
    part(open)
  })
})

function roundTrips(open: () => Promise<BlobsUnderTest>): void {
  it("is read as it was written, however long it is and however it came", async () => {
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

  it("is its company's, whoever else has one of that id", async () => {
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

  it("stands nowhere in the clear, and no two writings of the same bytes are alike", async () => {
    const { blobs, readRows } = await open()
    const bytes = Buffer.alloc(CHUNK_BYTES + 9, "a secret that stands in a blob. ")
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
  it("is given, wherever it begins and ends", async () => {
    const { blobs } = await open()
    const bytes = randomBytes(3 * CHUNK_BYTES + 5)
    const blob = await blobs.write(BLOB_OWNER, bytesInPieces(bytes), LARGE_BLOB_LIMIT)
    const borders = [0, 1, 2, 3].flatMap((chunks) =>
      [-1, 0, 1].map((more) => chunks * CHUNK_BYTES + more),
    )
    const place = fc.oneof(
      fc.constantFrom(...borders.filter((at) => at >= 0), bytes.length),
      fc.integer({ min: 0, max: bytes.length }),
    )
    await fc.assert(
      fc.asyncProperty(place, place, async (a, b) => {
        const [from, until] = [Math.min(a, b), Math.max(a, b)]
        const read = await readWholeBlob(blob, { from, until })
        expect(read.equals(bytes.subarray(from, until))).toBe(true)
      }),
      { numRuns: 100 },
    )
  })

  it("reads no chunk but those that it is in", async () => {
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

  it("ends where the blob ends, and does not begin before it", async () => {
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
  it("of an id are the companies that have a whole one", async () => {
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
  it("who is slow holds one chunk, and nothing is read ahead of it", async () => {
    const { blobs, movedChunkCount } = await open()
    const bytes = randomBytes(20 * CHUNK_BYTES)
    const blob = await blobs.write(BLOB_OWNER, bytesInPieces(bytes), LARGE_BLOB_LIMIT)
    const before = movedChunkCount()
    let read = 0
    for await (const piece of blob.read()) {
      read += 1
      expect(piece.length).toBeLessThanOrEqual(CHUNK_BYTES)
      // Whatever were under way has time to come.
      await blobs.find(BLOB_OWNER.companyId, BLOB_OWNER.blobId)
      expect(movedChunkCount() - before).toBe(read)
      if (read === 5) break
    }
    expect(movedChunkCount() - before).toBe(5)
  })

  it("is beside others, each at its own place", async () => {
    const { blobs } = await open()
    const bytes = randomBytes(5 * CHUNK_BYTES)
    const blob = await blobs.write(BLOB_OWNER, bytesInPieces(bytes), LARGE_BLOB_LIMIT)
    const all = await Promise.all(Array.from({ length: 8 }, () => readWholeBlob(blob)))
    for (const read of all) expect(read.equals(bytes)).toBe(true)
  })
}
