/** That no byte is read, in any implementation of blobs, that is not the one that was written. */
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

/** What is stored, by what it is of. */
interface Stored {
  readonly rows: StoredBlobs
  /** The blob that is tampered with: four chunks, the last one shorter. */
  readonly own: StoredBlob
  /** Another of the same company and subject, one of another company, one of another subject. */
  readonly second: StoredBlob
  readonly others: StoredBlob
  readonly persons: StoredBlob
}

/** Puts a blob's row in the place of its own. */
function withBlob({ rows, own }: Stored, changed: Partial<StoredBlob>): StoredBlobs {
  const blobs = rows.blobs.map((row) => (row === own ? { ...row, ...changed } : row))
  return { ...rows, blobs }
}

/** Puts other chunks in the place of the blob's own. */
function withChunks(
  { rows, own }: Stored,
  change: (chunks: readonly StoredChunk[]) => readonly StoredChunk[],
): StoredBlobs {
  const isOwn = ({ edition }: StoredChunk) => edition === own.edition
  const ownChunks = rows.chunks.filter(isOwn).toSorted((a, b) => a.index - b.index)
  return { ...rows, chunks: [...rows.chunks.filter((one) => !isOwn(one)), ...change(ownChunks)] }
}

/** The chunk of a blob. */
function chunkOf({ rows }: Stored, { edition }: StoredBlob, index: number): Buffer {
  const found = rows.chunks.find((one) => one.edition === edition && one.index === index)
  if (found === undefined) throw new Error(`there is no chunk ${index}`)
  return found.sealed
}

/** Puts other bytes in the place of one chunk. */
function withChunk(stored: Stored, index: number, sealed: Buffer): StoredBlobs {
  return withChunks(stored, (chunks) =>
    chunks.map((one) => (one.index === index ? { ...one, sealed } : one)),
  )
}

/** Puts another blob with its chunks in the place of the blob, under its name. */
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

/** Every way to tamper, and what it makes of the rows. */
const tamperings: Readonly<Record<string, (stored: Stored) => StoredBlobs>> = {
  "a chunk's first byte is another": (stored) =>
    withChunk(stored, 1, flipped(chunkOf(stored, stored.own, 1), 0)),
  "a chunk's sealed text is another": (stored) =>
    withChunk(stored, 1, flipped(chunkOf(stored, stored.own, 1), 5_000)),
  "the last chunk's tag is another": (stored) => {
    const sealed = chunkOf(stored, stored.own, last)
    return withChunk(stored, last, flipped(sealed, sealed.length - 1))
  },
  "a chunk is cut": (stored) =>
    withChunk(stored, 2, chunkOf(stored, stored.own, 2).subarray(0, -1)),
  "a chunk is empty": (stored) => withChunk(stored, 2, Buffer.alloc(0)),
  "two chunks are in each other's place": (stored) =>
    withChunks(stored, (chunks) =>
      chunks.map((one) => ({ ...one, index: one.index < 2 ? 1 - one.index : one.index })),
    ),
  "a chunk is there twice, and another is not": (stored) =>
    withChunk(stored, 2, chunkOf(stored, stored.own, 1)),
  "the first chunk is dropped": (stored) => withChunks(stored, (chunks) => chunks.slice(1)),
  "a chunk in the middle is dropped": (stored) =>
    withChunks(stored, (chunks) => chunks.toSpliced(1, 1)),
  "the first chunk is dropped and the others move up": (stored) =>
    withChunks(stored, (chunks) =>
      chunks.slice(1).map((one) => ({ ...one, index: one.index - 1 })),
    ),
  "the last chunk is dropped": (stored) => withChunks(stored, (chunks) => chunks.slice(0, -1)),
  "all chunks are dropped": (stored) => withChunks(stored, () => []),
  "the last chunk is dropped and the length says so": (stored) => ({
    ...withBlob(stored, { length: last * CHUNK_BYTES }),
    chunks: withChunks(stored, (chunks) => chunks.slice(0, -1)).chunks,
  }),
  "the length is one less": (stored) =>
    withBlob(stored, { length: (stored.own.length as number) - 1 }),
  "the length is one more": (stored) =>
    withBlob(stored, { length: (stored.own.length as number) + 1 }),
  "it is said to be empty": (stored) => withBlob(stored, { length: 0 }),
  "the mark is another": (stored) =>
    withBlob(stored, { digest: flipped(stored.own.digest as Buffer, 3) }),
  "the mark is of another blob": (stored) => withBlob(stored, { digest: stored.second.digest }),
  "a chunk is the mark": (stored) => withChunk(stored, 0, stored.own.digest as Buffer),
  "the mark is a chunk": (stored) => withBlob(stored, { digest: chunkOf(stored, stored.own, 0) }),
  "a chunk is of another blob of the company": (stored) =>
    withChunk(stored, 1, chunkOf(stored, stored.second, 1)),
  "a chunk is of another company's blob of that id": (stored) =>
    withChunk(stored, 1, chunkOf(stored, stored.others, 1)),
  "a chunk is of another subject's blob": (stored) =>
    withChunk(stored, 1, chunkOf(stored, stored.persons, 1)),
  "all chunks are of another blob": (stored) =>
    withChunks(stored, (chunks) =>
      chunks.map((one) => ({ ...one, sealed: chunkOf(stored, stored.second, one.index) })),
    ),
  "another blob whole has its id": (stored) =>
    replacedBy(stored, stored.second, { blobId: BLOB_OWNER.blobId }),
  "another company's blob whole is the company's": (stored) =>
    replacedBy(stored, stored.others, { companyId: BLOB_OWNER.companyId }),
  "it is said to be another subject's": (stored) => withBlob(stored, { subject: PERSONS.subject }),
}

/** What was written. */
const bytes = randomBytes(last * CHUNK_BYTES + 1_000)

/** Writes the blobs; `before` is what is stored then. */
async function written(
  open: () => Promise<BlobsUnderTest>,
): Promise<BlobsUnderTest & { readonly before: Stored }> {
  const under = await open()
  const { blobs, readRows } = under
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
  return { ...under, before: { rows, own, second, others, persons } }
}

/** All that is read of a blob, and what it ended in. */
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

/** Blobs that somebody tampered with. */
function tamperedBlobs(open: () => Promise<BlobsUnderTest>): void {
  it("is whole where the rows are put back as they were", async () => {
    const under = await written(open)
    await under.writeRows({ blobs: [], chunks: [] })
    expect(await under.blobs.find(BLOB_OWNER.companyId, BLOB_OWNER.blobId)).toBeNull()
    await under.writeRows(under.before.rows)
    expect((await readUntilBroken(under)).read.equals(bytes)).toBe(true)
  })

  let shared: ReturnType<typeof written> | undefined

  it.for(Object.entries(tamperings))("is damaged: %s", async ([, tamper]) => {
    const under = await (shared ??= written(open))
    await under.writeRows(tamper(under.before))
    expect(isDeepStrictEqual(await under.readRows(), under.before.rows)).toBe(false)
    const { read, error } = await readUntilBroken(under)
    expect(error).toBeInstanceOf(BlobCorrupt)
    // Up to there it was what was written.
    expect(read.equals(bytes.subarray(0, read.length))).toBe(true)
  })

  it("is read without what somebody put behind its end", async () => {
    const under = await written(open)
    const { before, writeRows, blobs } = under
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

/** Tampering that shows before any byte is read, and what a former blob of that id left. */
function tamperedMarks(open: () => Promise<BlobsUnderTest>): void {
  it("is damaged where its chunks, or its mark, are those that its id had before", async () => {
    const under = await written(open)
    const { blobs, readRows, writeRows, before } = under
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
    expect(await readUntilBroken(under)).toMatchObject({
      read: Buffer.alloc(0),
      error: expect.any(BlobCorrupt) as BlobCorrupt,
    })
    const marked = now.blobs.map((row) =>
      row.edition === versionId ? { ...row, digest: before.own.digest } : row,
    )
    await writeRows({ ...now, blobs: marked })
    await expect(blobs.find(BLOB_OWNER.companyId, BLOB_OWNER.blobId)).rejects.toThrow(BlobCorrupt)
  })

  let shared: ReturnType<typeof written> | undefined

  it.for([
    "the last chunk is dropped and the length says so",
    "the length is one more",
    "the mark is of another blob",
    "another blob whole has its id",
    "another company's blob whole is the company's",
    "it is said to be another subject's",
  ])("is found to be so before any range of it is read: %s", async (name) => {
    const under = await (shared ??= written(open))
    await under.writeRows(tamperings[name]?.(under.before) as StoredBlobs)
    const found = under.blobs.find(BLOB_OWNER.companyId, BLOB_OWNER.blobId)
    await expect(found).rejects.toThrow(BlobCorrupt)
  })
}

describe.for(await blobStores())("%s", ([, open]) => {
  describe.for([
    ["a blob that was tampered with", tamperedBlobs],
    ["a blob whose mark was tampered with", tamperedMarks],
  ] as const)("%s", ([, part]) => {
    part(open)
  })
})
