/** How blobs are written, left half-written, deleted and erased, in every implementation. */
import { randomBytes } from "node:crypto"
import { expect, it } from "vitest"
import {
  BlobExists,
  BlobGone,
  BlobTooLarge,
  CHUNK_BYTES,
  HALF_WRITTEN_KEPT_MS,
} from "../../adapters/blobs/port.ts"
import { CompanyErased } from "../../adapters/sealing/port.ts"
import type { BlobsUnderTest } from "./blobs-fixture.ts"
import { MUCH, OTHERS, WHOSE, heldSource, inPieces, readAll } from "./blobs-fixture.ts"

/** Writing blobs. */
export function writtenBlobs(open: () => Promise<BlobsUnderTest>): void {
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
export function blobsWrittenAtOnce(open: () => Promise<BlobsUnderTest>): void {
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
export function halfWrittenBlobs(open: () => Promise<BlobsUnderTest>): void {
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
export function goneBlobs(open: () => Promise<BlobsUnderTest>): void {
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
