/** No implementation of the blob store returns a byte that was not written. */
import { randomBytes } from "node:crypto"
import { isDeepStrictEqual } from "node:util"
import { describe, expect, it } from "vitest"
import { BlobCorrupt, CHUNK_BYTES } from "../../adapters/postgres/blobs/port.ts"
import type { BlobsUnderTest, StoredBlob, StoredBlobs, StoredChunk } from "./blobs-fixture.ts"
import {
  LARGE_BLOB_LIMIT,
  OTHER_BLOB_OWNER,
  BLOB_OWNER,
  blobStores,
  bytesInPieces,
  readWholeBlob,
} from "./blobs-fixture.ts"

const CHUNKS = 4
const SECOND = { ...BLOB_OWNER, blobId: "rec_2" } as const
const PERSONS = { ...BLOB_OWNER, blobId: "rec_3", subject: "per_1" } as const

interface Stored {
  readonly rows: StoredBlobs
  /** The blob that is tampered with; it has four chunks, the last one shorter. */
  readonly own: StoredBlob
  /** A blob of the same company and subject, one of another company, and one of another subject. */
  readonly second: StoredBlob
  readonly others: StoredBlob
  readonly persons: StoredBlob
}

function withBlob({ rows, own }: Stored, changed: Partial<StoredBlob>): StoredBlobs {
  const blobs = rows.blobs.map((row) => (row === own ? { ...row, ...changed } : row))
  return { ...rows, blobs }
}

/** Replaces the blob's chunks. */
function withChunks(
  { rows, own }: Stored,
  change: (chunks: readonly StoredChunk[]) => readonly StoredChunk[],
): StoredBlobs {
  const isOwn = ({ edition }: StoredChunk) => edition === own.edition
  const ownChunks = rows.chunks.filter(isOwn).toSorted((a, b) => a.index - b.index)
  return { ...rows, chunks: [...rows.chunks.filter((one) => !isOwn(one)), ...change(ownChunks)] }
}

/** The sealed bytes of a blob's chunk. */
function chunkOf({ rows }: Stored, { edition }: StoredBlob, index: number): Buffer {
  const found = rows.chunks.find((one) => one.edition === edition && one.index === index)
  if (found === undefined) throw new Error(`there is no chunk ${index}`)
  return found.sealed
}

/** Replaces the bytes of one chunk. */
function withChunk(stored: Stored, index: number, sealed: Buffer): StoredBlobs {
  return withChunks(stored, (chunks) =>
    chunks.map((one) => (one.index === index ? { ...one, sealed } : one)),
  )
}

/** Replaces the blob by another blob with its chunks, under this name. */
function replacedBy(
  { rows, own }: Stored,
  other: StoredBlob,
  name: Partial<StoredBlob>,
): StoredBlobs {
  return {
    blobs: rows.blobs
      .filter((row) => row !== own)
      .map((row) => (row === other ? { ...row, ...name } : row)),
    chunks: rows.chunks.filter(({ edition }) => edition !== own.edition),
  }
}

function flipped(bytes: Buffer, at: number): Buffer {
  const changed = Buffer.from(bytes)
  changed[at] = (changed[at] as number) ^ 1
  return changed
}

const last = CHUNKS - 1

/** Ways to tamper with the rows. */
const tamperings: Readonly<Record<string, (stored: Stored) => StoredBlobs>> = {
  "a chunk's first byte is changed": (stored) =>
    withChunk(stored, 1, flipped(chunkOf(stored, stored.own, 1), 0)),
  "a chunk's sealed text is changed": (stored) =>
    withChunk(stored, 1, flipped(chunkOf(stored, stored.own, 1), 5_000)),
  "the last chunk's tag is changed": (stored) => {
    const sealed = chunkOf(stored, stored.own, last)
    return withChunk(stored, last, flipped(sealed, sealed.length - 1))
  },
  "a chunk is truncated": (stored) =>
    withChunk(stored, 2, chunkOf(stored, stored.own, 2).subarray(0, -1)),
  "a chunk is empty": (stored) => withChunk(stored, 2, Buffer.alloc(0)),
  "two chunks are swapped": (stored) =>
    withChunks(stored, (chunks) =>
      chunks.map((one) => ({ ...one, index: one.index < 2 ? 1 - one.index : one.index })),
    ),
  "a chunk is duplicated in place of another": (stored) =>
    withChunk(stored, 2, chunkOf(stored, stored.own, 1)),
  "the first chunk is dropped": (stored) => withChunks(stored, (chunks) => chunks.slice(1)),
  "a chunk in the middle is dropped": (stored) =>
    withChunks(stored, (chunks) => chunks.toSpliced(1, 1)),
  "the first chunk is dropped and the others are renumbered": (stored) =>
    withChunks(stored, (chunks) =>
      chunks.slice(1).map((one) => ({ ...one, index: one.index - 1 })),
    ),
  "the last chunk is dropped": (stored) => withChunks(stored, (chunks) => chunks.slice(0, -1)),
  "all chunks are dropped": (stored) => withChunks(stored, () => []),
  "the last chunk is dropped and the length is adjusted": (stored) => ({
    ...withBlob(stored, { length: last * CHUNK_BYTES }),
    chunks: withChunks(stored, (chunks) => chunks.slice(0, -1)).chunks,
  }),
  "the length is one byte shorter": (stored) =>
    withBlob(stored, { length: (stored.own.length as number) - 1 }),
  "the length is one byte longer": (stored) =>
    withBlob(stored, { length: (stored.own.length as number) + 1 }),
  "the length is 0": (stored) => withBlob(stored, { length: 0 }),
  "the digest is changed": (stored) =>
    withBlob(stored, { digest: flipped(stored.own.digest as Buffer, 3) }),
  "the digest is another blob's": (stored) => withBlob(stored, { digest: stored.second.digest }),
  "a chunk is the digest": (stored) => withChunk(stored, 0, stored.own.digest as Buffer),
  "the digest is a chunk": (stored) => withBlob(stored, { digest: chunkOf(stored, stored.own, 0) }),
  "a chunk is from another blob of the company": (stored) =>
    withChunk(stored, 1, chunkOf(stored, stored.second, 1)),
  "a chunk is from another company's blob with the same id": (stored) =>
    withChunk(stored, 1, chunkOf(stored, stored.others, 1)),
  "a chunk is from another subject's blob": (stored) =>
    withChunk(stored, 1, chunkOf(stored, stored.persons, 1)),
  "all chunks are from another blob": (stored) =>
    withChunks(stored, (chunks) =>
      chunks.map((one) => ({ ...one, sealed: chunkOf(stored, stored.second, one.index) })),
    ),
  "another blob is moved to its id": (stored) =>
    replacedBy(stored, stored.second, { blobId: BLOB_OWNER.blobId }),
  "another company's blob is moved to the company": (stored) =>
    replacedBy(stored, stored.others, { companyId: BLOB_OWNER.companyId }),
  "the subject is changed": (stored) => withBlob(stored, { subject: PERSONS.subject }),
}

/** The written content. */
const bytes = randomBytes(last * CHUNK_BYTES + 1_000)

/** Writes the blobs; `before` has the stored rows. */
async function written(
  open: () => Promise<BlobsUnderTest>,
): Promise<BlobsUnderTest & { readonly before: Stored }> {
  const implementation = await open()
  const { blobs, readRows } = implementation
  const editions: string[] = []
  for (const blob of [BLOB_OWNER, SECOND, OTHER_BLOB_OWNER, PERSONS]) {
    const content = blob === BLOB_OWNER ? bytes : randomBytes(bytes.length)
    editions.push((await blobs.write(blob, bytesInPieces(content), LARGE_BLOB_LIMIT)).versionId)
  }
  const rows = await readRows()
  const [own, second, others, persons] = editions.map((edition) =>
    rows.blobs.find((row) => row.edition === edition),
  )
  if (!own || !second || !others || !persons) throw new Error("a blob was not stored")
  return { ...implementation, before: { rows, own, second, others, persons } }
}

/** Reads the blob until its end or an error. */
async function readUntilBroken({ blobs }: BlobsUnderTest) {
  const pieces: Buffer[] = []
  try {
    const blob = await blobs.find(BLOB_OWNER.companyId, BLOB_OWNER.blobId)
    if (blob === null) throw new Error("it was not found")
    for await (const piece of blob.read()) pieces.push(piece)
    return { read: Buffer.concat(pieces), error: null }
  } catch (error) {
    return { read: Buffer.concat(pieces), error }
  }
}

function tamperedBlobs(open: () => Promise<BlobsUnderTest>): void {
  it("is readable if the rows are restored", async () => {
    const implementation = await written(open)
    await implementation.writeRows({ blobs: [], chunks: [] })
    expect(await implementation.blobs.find(BLOB_OWNER.companyId, BLOB_OWNER.blobId)).toBeNull()
    await implementation.writeRows(implementation.before.rows)
    expect((await readUntilBroken(implementation)).read.equals(bytes)).toBe(true)
  })

  let shared: ReturnType<typeof written> | undefined

  it.for(Object.entries(tamperings))("is corrupt if %s", async ([, tamper]) => {
    const implementation = await (shared ??= written(open))
    await implementation.writeRows(tamper(implementation.before))
    expect(isDeepStrictEqual(await implementation.readRows(), implementation.before.rows)).toBe(
      false,
    )
    const { read, error } = await readUntilBroken(implementation)
    expect(error).toBeInstanceOf(BlobCorrupt)
    // Everything before the error is the written content.
    expect(read.equals(bytes.subarray(0, read.length))).toBe(true)
  })

  it("is read without chunks that were added after its end", async () => {
    const implementation = await written(open)
    const { before, writeRows, blobs } = implementation
    const sealed = chunkOf(before, before.own, 0)
    await writeRows(
      withChunks(before, (chunks) => [
        ...chunks,
        { edition: before.own.edition, index: CHUNKS, sealed },
      ]),
    )
    const found = await blobs.find(BLOB_OWNER.companyId, BLOB_OWNER.blobId)
    expect(found?.length).toBe(bytes.length)
    expect((await readWholeBlob(found)).equals(bytes)).toBe(true)
  })
}

/** Tampering that is detected before any byte is read, and rows of a former blob with the same id. */
function tamperedDigests(open: () => Promise<BlobsUnderTest>): void {
  it("is corrupt if its chunks or digest are those of a former blob with its id", async () => {
    const implementation = await written(open)
    const { blobs, readRows, writeRows, before } = implementation
    await blobs.delete(BLOB_OWNER.companyId, BLOB_OWNER.blobId)
    const { versionId } = await blobs.write(
      BLOB_OWNER,
      bytesInPieces(randomBytes(bytes.length)),
      LARGE_BLOB_LIMIT,
    )
    const now = await readRows()
    const chunks = now.chunks.map((one) =>
      one.edition === versionId ? { ...one, sealed: chunkOf(before, before.own, one.index) } : one,
    )
    await writeRows({ ...now, chunks })
    expect(await readUntilBroken(implementation)).toMatchObject({
      read: Buffer.alloc(0),
      error: expect.any(BlobCorrupt) as BlobCorrupt,
    })
    const changed = now.blobs.map((row) =>
      row.edition === versionId ? { ...row, digest: before.own.digest } : row,
    )
    await writeRows({ ...now, blobs: changed })
    await expect(blobs.find(BLOB_OWNER.companyId, BLOB_OWNER.blobId)).rejects.toThrow(BlobCorrupt)
  })

  let shared: ReturnType<typeof written> | undefined

  it.for([
    "the last chunk is dropped and the length is adjusted",
    "the length is one byte longer",
    "the digest is another blob's",
    "another blob is moved to its id",
    "another company's blob is moved to the company",
    "the subject is changed",
  ])("is corrupt before any range is read if %s", async (name) => {
    const implementation = await (shared ??= written(open))
    await implementation.writeRows(tamperings[name]?.(implementation.before) as StoredBlobs)
    const found = implementation.blobs.find(BLOB_OWNER.companyId, BLOB_OWNER.blobId)
    await expect(found).rejects.toThrow(BlobCorrupt)
  })
}

describe.for(await blobStores())("%s", ([, open]) => {
  describe.for([
    ["a blob that was tampered with", tamperedBlobs],
    ["a blob whose digest was tampered with", tamperedDigests],
  ] as const)("%s", ([, part]) => {
    part(open)
  })
})
