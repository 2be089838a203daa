/** What every implementation of blobs must do. */
import { randomBytes } from "node:crypto"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { CHUNK_BYTES } from "../../adapters/blobs/port.ts"
import type { BlobsUnderTest } from "./blobs-fixture.ts"
import { MUCH, OTHERS, WHOSE, inPieces, readAll } from "./blobs-fixture.ts"
import {
  blobsWrittenAtOnce,
  goneBlobs,
  halfWrittenBlobs,
  writtenBlobs,
} from "./blobs-written-contract.ts"
import { tamperedBlobs, tamperedMarks } from "./blobs-tampered-contract.ts"

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

/** Holds an implementation to the contract. */
export function blobsContract(name: string, open: () => Promise<BlobsUnderTest>): void {
  const parts = {
    "a blob": roundTrips,
    "a range of a blob": ranges,
    "a reader": reading,
    "who has blobs": owners,
    "a blob that is written": writtenBlobs,
    "many who write one blob": blobsWrittenAtOnce,
    "a blob that is half-written": halfWrittenBlobs,
    "a blob that is gone": goneBlobs,
    "a blob that was tampered with": tamperedBlobs,
    "a blob whose mark was tampered with": tamperedMarks,
  }
  describe.for(Object.entries(parts))(`${name}: %s`, ([, part]) => {
    part(open)
  })
}

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
