/** What every implementation of blobs must do. */
import { randomBytes } from "node:crypto"
import fc from "fast-check"
import { expect, it, describe } from "vitest"
import {
  BlobExists,
  BlobGone,
  BlobTooLarge,
  CHUNK_BYTES,
  HALF_WRITTEN_KEPT_MS,
} from "../../adapters/postgres/blobs/port.ts"
import { CompanyErased } from "../../adapters/sealing/port.ts"
import type { BlobsUnderTest } from "./blobs-fixture.ts"
import { MUCH, OTHERS, WHOSE, blobStores, heldSource, inPieces, readAll } from "./blobs-fixture.ts"

/** Writing blobs. */
function writtenBlobs(open: () => Promise<BlobsUnderTest>): void {
  it("may have as many bytes as it may, and not one more", async () => {
    const { blobs, stored } = await open()
    const most = CHUNK_BYTES + 100
    const bytes = randomBytes(most + 1)
    const fits = inPieces(bytes.subarray(0, most), [1_000])
    await blobs.write({ ...WHOSE, blobId: "rec_2" }, fits, { mostBytes: most })
    const before = await stored()
    const source = inPieces(bytes, [1_000])
    const refused = blobs.write(WHOSE, source, { mostBytes: most })
    await expect(refused).rejects.toThrow(new BlobTooLarge(most))
    expect(await refused.catch(({ mostBytes }: BlobTooLarge) => mostBytes)).toBe(most)
    expect(await blobs.find(WHOSE.companyId, WHOSE.blobId)).toBeNull()
    expect(await stored()).toEqual(before)
    // The stream was ended, not left open.
    expect(await source.next()).toEqual({ done: true, value: undefined })
  })

  it("leaves nothing behind where its source breaks off", async () => {
    const { blobs, stored } = await open()
    const broken = new Error("the line went dead")
    const source = (async function* () {
      yield randomBytes(2 * CHUNK_BYTES)
      throw broken
    })()
    await expect(blobs.write(WHOSE, source, MUCH)).rejects.toBe(broken)
    expect(await blobs.find(WHOSE.companyId, WHOSE.blobId)).toBeNull()
    expect(await stored()).toEqual({ blobs: [], chunks: [] })
  })

  it("is not written over", async () => {
    const { blobs, stored } = await open()
    const bytes = randomBytes(CHUNK_BYTES + 1)
    const first = await blobs.write(WHOSE, inPieces(bytes), MUCH)
    const before = await stored()
    const again = blobs.write({ ...WHOSE, subject: "per_1" }, inPieces(randomBytes(5)), MUCH)
    await expect(again).rejects.toThrow(BlobExists)
    expect(await stored()).toEqual(before)
    const found = await blobs.find(WHOSE.companyId, WHOSE.blobId)
    expect(found?.edition).toBe(first.edition)
  })

  it("takes from its source what it has written, and little more", async () => {
    const { blobs, chunksMoved } = await open()
    const ahead: number[] = []
    const source = (async function* () {
      for (let given = 0; given < 40; given += 1) {
        ahead.push(given - chunksMoved())
        yield randomBytes(CHUNK_BYTES)
      }
    })()
    await blobs.write(WHOSE, source, MUCH)
    expect(Math.max(...ahead)).toBeLessThanOrEqual(1)
    expect(ahead).toHaveLength(40)
  })
}

/** Writing one blob by many at once. */
function blobsWrittenAtOnce(open: () => Promise<BlobsUnderTest>): void {
  it("write that of one of them, and of nobody else anything stays", async () => {
    const { blobs, stored } = await open()
    const given = Array.from({ length: 6 }, () => randomBytes(2 * CHUNK_BYTES + 1))
    const ended = await Promise.allSettled(
      given.map((bytes) => blobs.write(WHOSE, inPieces(bytes, [30_000]), MUCH)),
    )
    const winners = ended.flatMap((one, i) => (one.status === "fulfilled" ? [i] : []))
    expect(winners).toHaveLength(1)
    for (const one of ended) {
      if (one.status === "rejected") expect(one.reason).toBeInstanceOf(BlobExists)
    }
    const found = await blobs.find(WHOSE.companyId, WHOSE.blobId)
    expect(await readAll(found)).toEqual(given[winners[0] as number])
    const rows = await stored()
    expect(rows.blobs).toHaveLength(1)
    expect(rows.chunks.map(({ edition }) => edition)).toEqual(Array(3).fill(found?.edition))
  })
}

/** Blobs that are not whole. */
function halfWrittenBlobs(open: () => Promise<BlobsUnderTest>): void {
  it("is there for nobody until it is whole", async () => {
    const { blobs, stored } = await open()
    const { source, given, goOn } = heldSource()
    const writer = blobs.write(WHOSE, source, MUCH)
    await given
    expect((await stored()).chunks.length).toBeGreaterThan(0)
    expect(await blobs.find(WHOSE.companyId, WHOSE.blobId)).toBeNull()
    expect(await blobs.delete(WHOSE.companyId, WHOSE.blobId)).toBe(false)
    goOn()
    await writer
    expect(await blobs.find(WHOSE.companyId, WHOSE.blobId)).toMatchObject({
      length: 3 * CHUNK_BYTES,
    })
  })

  it("is swept once nobody can be writing it any more, and whoever is learns it", async () => {
    const { blobs, stored, age } = await open()
    const whole = await blobs.write({ ...WHOSE, blobId: "rec_2" }, inPieces(randomBytes(9)), MUCH)
    const { source, given, goOn } = heldSource()
    const writer = blobs.write(WHOSE, source, MUCH)
    await given
    await age(HALF_WRITTEN_KEPT_MS - 60_000)
    expect(await blobs.sweep()).toBe(0)
    await age(120_000)
    expect(await blobs.sweep()).toBe(1)
    const rows = await stored()
    expect(rows.blobs.map(({ edition }) => edition)).toEqual([whole.edition])
    expect(rows.chunks.map(({ edition }) => edition)).toEqual([whole.edition])
    goOn()
    await expect(writer).rejects.toThrow(BlobGone)
    expect(await blobs.find(WHOSE.companyId, WHOSE.blobId)).toBeNull()
    expect((await stored()).chunks).toHaveLength(1)
  })

  it("of no bytes more is not made whole either, once it was swept", async () => {
    const { blobs, stored, age } = await open()
    const [given, rest] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const source = (async function* () {
      yield randomBytes(0)
      given.resolve()
      await rest.promise
    })()
    const writer = blobs.write(WHOSE, source, MUCH)
    await given.promise
    await age(2 * HALF_WRITTEN_KEPT_MS)
    expect(await blobs.sweep()).toBe(1)
    rest.resolve()
    await expect(writer).rejects.toThrow(BlobGone)
    expect(await stored()).toEqual({ blobs: [], chunks: [] })
  })
}

/** Blobs that were deleted or erased. */
function goneBlobs(open: () => Promise<BlobsUnderTest>): void {
  it("was deleted, once, with all its chunks, and another may take its id", async () => {
    const { blobs, stored } = await open()
    const kept = await blobs.write({ ...WHOSE, blobId: "rec_2" }, inPieces(randomBytes(9)), MUCH)
    const first = await blobs.write(WHOSE, inPieces(randomBytes(3 * CHUNK_BYTES)), MUCH)
    expect(await blobs.delete(WHOSE.companyId, WHOSE.blobId)).toBe(true)
    expect(await blobs.delete(WHOSE.companyId, WHOSE.blobId)).toBe(false)
    expect(await blobs.find(WHOSE.companyId, WHOSE.blobId)).toBeNull()
    expect((await stored()).chunks.map(({ edition }) => edition)).toEqual([kept.edition])
    const again = await blobs.write(WHOSE, inPieces(Buffer.from("new")), MUCH)
    expect(again.edition).not.toBe(first.edition)
    expect((await readAll(again)).toString()).toBe("new")
  })

  it("tells whoever is reading it, also where another has its id by then", async () => {
    const { blobs } = await open()
    const blob = await blobs.write(WHOSE, inPieces(randomBytes(3 * CHUNK_BYTES)), MUCH)
    const reader = blob.read()[Symbol.asyncIterator]()
    expect((await reader.next()).done).toBe(false)
    await blobs.delete(WHOSE.companyId, WHOSE.blobId)
    await expect(reader.next()).rejects.toThrow(BlobGone)
    await blobs.write(WHOSE, inPieces(randomBytes(3 * CHUNK_BYTES)), MUCH)
    await expect(readAll(blob)).rejects.toThrow(BlobGone)
  })

  it("was erased with its company's keys, for readers of before too, and none comes after", async () => {
    const { blobs, stored, destroyKeys } = await open()
    const blob = await blobs.write(WHOSE, inPieces(randomBytes(3 * CHUNK_BYTES)), MUCH)
    const other = await blobs.write(OTHERS, inPieces(Buffer.from("other")), MUCH)
    const before = await stored()
    await destroyKeys(WHOSE.companyId)
    expect(await blobs.find(WHOSE.companyId, WHOSE.blobId)).toBeNull()
    await expect(readAll(blob)).rejects.toThrow(BlobGone)
    const late = blobs.write({ ...WHOSE, blobId: "rec_2" }, inPieces(randomBytes(9)), MUCH)
    await expect(late).rejects.toThrow(CompanyErased)
    expect(await stored()).toEqual(before)
    expect((await readAll(other)).toString()).toBe("other")
  })

  it("was erased with its company's rows, half-written ones too, and no other company's", async () => {
    const { blobs, stored, deleteRows } = await open()
    await blobs.write(WHOSE, inPieces(randomBytes(3 * CHUNK_BYTES)), MUCH)
    const other = await blobs.write(OTHERS, inPieces(Buffer.from("other")), MUCH)
    const { source, given, goOn } = heldSource()
    const writer = blobs.write({ ...WHOSE, blobId: "rec_2" }, source, MUCH)
    await given
    await deleteRows(WHOSE.companyId)
    const rows = await stored()
    expect(rows.blobs.map(({ edition }) => edition)).toEqual([other.edition])
    expect(rows.chunks.map(({ edition }) => edition)).toEqual([other.edition])
    goOn()
    await expect(writer).rejects.toThrow(BlobGone)
    expect((await stored()).blobs).toHaveLength(1)
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
        const blob = await blobs.write({ ...WHOSE, blobId }, inPieces(bytes, pieces), MUCH)
        expect(blob.length).toBe(length)
        expect((await readAll(blob)).equals(bytes)).toBe(true)
        const found = await blobs.find(WHOSE.companyId, blobId)
        expect(found).toMatchObject({ length, edition: blob.edition })
        expect((await readAll(found)).equals(bytes)).toBe(true)
      }),
      { numRuns: 60 },
    )
  })

  it("is its company's, whoever else has one of that id", async () => {
    const { blobs } = await open()
    const [own, other] = [randomBytes(9), randomBytes(9)]
    await blobs.write(WHOSE, inPieces(own), MUCH)
    expect(await blobs.find(OTHERS.companyId, OTHERS.blobId)).toBeNull()
    await blobs.write(OTHERS, inPieces(other), MUCH)
    expect(await readAll(await blobs.find(WHOSE.companyId, WHOSE.blobId))).toEqual(own)
    expect(await readAll(await blobs.find(OTHERS.companyId, OTHERS.blobId))).toEqual(other)
  })

  it("stands nowhere in the clear, and no two writings of the same bytes are alike", async () => {
    const { blobs, stored } = await open()
    const bytes = Buffer.alloc(CHUNK_BYTES + 9, "a secret that stands in a blob. ")
    const first = await blobs.write(WHOSE, inPieces(bytes), MUCH)
    const second = await blobs.write({ ...WHOSE, blobId: "rec_2" }, inPieces(bytes), MUCH)
    expect(first.edition).not.toBe(second.edition)
    const { chunks } = await stored()
    expect(chunks).toHaveLength(4)
    for (const { sealed } of chunks) expect(sealed.includes("secret")).toBe(false)
    expect(new Set(chunks.map(({ sealed }) => sealed.toString("hex"))).size).toBe(4)
  })
}

function ranges(open: () => Promise<BlobsUnderTest>): void {
  it("is given, wherever it begins and ends", async () => {
    const { blobs } = await open()
    const bytes = randomBytes(3 * CHUNK_BYTES + 5)
    const blob = await blobs.write(WHOSE, inPieces(bytes), MUCH)
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
        const read = await readAll(blob, { from, until })
        expect(read.equals(bytes.subarray(from, until))).toBe(true)
      }),
      { numRuns: 100 },
    )
  })

  it("reads no chunk but those that it is in", async () => {
    const { blobs, chunksMoved } = await open()
    const bytes = randomBytes(8 * CHUNK_BYTES)
    const blob = await blobs.write(WHOSE, inPieces(bytes), MUCH)
    const before = chunksMoved()
    const from = 6 * CHUNK_BYTES - 1
    expect(await readAll(blob, { from, until: from + 2 })).toEqual(bytes.subarray(from, from + 2))
    expect(chunksMoved() - before).toBe(2)
  })

  it("ends where the blob ends, and does not begin before it", async () => {
    const { blobs } = await open()
    const blob = await blobs.write(WHOSE, inPieces(randomBytes(10)), MUCH)
    for (const [from, until] of [
      [0, 11],
      [-1, 3],
      [5, 4],
      [0.5, 3],
      [0, Number.NaN],
    ] as const) {
      await expect(readAll(blob, { from, until }), `${from}–${until}`).rejects.toThrow(RangeError)
    }
    expect(await readAll(blob, { from: 10, until: 10 })).toHaveLength(0)
  })
}

function owners(open: () => Promise<BlobsUnderTest>): void {
  it("of an id are the companies that have a whole one", async () => {
    const { blobs } = await open()
    const blobId = `owned-${randomBytes(4).toString("hex")}`
    expect(await blobs.companiesWith(blobId)).toEqual([])
    await blobs.write({ ...WHOSE, blobId }, inPieces(randomBytes(3)), MUCH)
    await blobs.write({ ...WHOSE, blobId: `${blobId}-2` }, inPieces(randomBytes(3)), MUCH)
    expect(await blobs.companiesWith(blobId)).toEqual([WHOSE.companyId])
    await blobs.delete(WHOSE.companyId, blobId)
    expect(await blobs.companiesWith(blobId)).toEqual([])
  })
}

function reading(open: () => Promise<BlobsUnderTest>): void {
  it("who is slow holds one chunk, and nothing is read ahead of it", async () => {
    const { blobs, chunksMoved } = await open()
    const bytes = randomBytes(20 * CHUNK_BYTES)
    const blob = await blobs.write(WHOSE, inPieces(bytes), MUCH)
    const before = chunksMoved()
    let read = 0
    for await (const piece of blob.read()) {
      read += 1
      expect(piece.length).toBeLessThanOrEqual(CHUNK_BYTES)
      // Whatever were under way has time to come.
      await blobs.find(WHOSE.companyId, WHOSE.blobId)
      expect(chunksMoved() - before).toBe(read)
      if (read === 5) break
    }
    expect(chunksMoved() - before).toBe(5)
  })

  it("is beside others, each at its own place", async () => {
    const { blobs } = await open()
    const bytes = randomBytes(5 * CHUNK_BYTES)
    const blob = await blobs.write(WHOSE, inPieces(bytes), MUCH)
    const all = await Promise.all(Array.from({ length: 8 }, () => readAll(blob)))
    for (const read of all) expect(read.equals(bytes)).toBe(true)
  })
}
