/** Implementations of the blob store under test, and helpers of its tests. */
import { randomBytes } from "node:crypto"
import type pg from "pg"
import { vi } from "vitest"
import type { MemoryBlobRows } from "../../adapters/postgres/blobs/postgres.ts"
import {
  memoryBlobRows,
  openMemoryBlobs,
  openPostgresBlobs,
} from "../../adapters/postgres/blobs/postgres.ts"
import type { Blob, Blobs, ByteRange } from "../../adapters/postgres/blobs/port.ts"
import { CHUNK_BYTES } from "../../adapters/postgres/blobs/port.ts"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import { openPostgresErasure } from "../../adapters/postgres/erasure/postgres.ts"
import { openMemorySealing, openPostgresSealing } from "../../adapters/sealing/postgres.ts"
import type { DatabaseUnderTest } from "../postgres/database-under-test.ts"
import { databaseUnderTest } from "../postgres/database-under-test.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"

/** A stored blob row; a half-written blob has no length and no digest. */
export interface StoredBlob {
  readonly edition: string
  readonly companyId: CompanyId
  readonly subject: string
  readonly blobId: string
  readonly length: number | null
  readonly digest: Buffer | null
}

export interface StoredChunk {
  readonly edition: string
  readonly index: number
  readonly sealed: Buffer
}

/** All rows, in a stable order. */
export interface StoredBlobs {
  readonly blobs: readonly StoredBlob[]
  readonly chunks: readonly StoredChunk[]
}

/** An implementation under test, for one test at a time. */
export interface BlobsUnderTest {
  readonly blobs: Blobs
  /** All rows, including those of half-written blobs. */
  readonly readRows: () => Promise<StoredBlobs>
  /** Replaces all rows. */
  readonly writeRows: (rows: StoredBlobs) => Promise<void>
  /** Number of chunks read or added since it was opened. */
  readonly movedChunkCount: () => number
  /** Makes half-written blobs older. */
  readonly age: (ms: number) => Promise<void>
  /** Destroys a company's keys. */
  readonly destroyKeys: (companyId: CompanyId) => Promise<void>
  /** Deletes a company's rows, as its erasure does. */
  readonly deleteRows: (companyId: CompanyId) => Promise<void>
}

/** The default owner and id of a blob. */
export const BLOB_OWNER = { companyId: "co_aaaaaa", subject: "company", blobId: "rec_1" } as const
/** A blob of another company with the same id. */
export const OTHER_BLOB_OWNER = { ...BLOB_OWNER, companyId: "co_bbbbbb" } as const

/** A limit above everything that the tests write. */
export const LARGE_BLOB_LIMIT = { maxBytes: 64 * CHUNK_BYTES }

/** Streams bytes in pieces of these lengths, repeatedly. */
export async function* bytesInPieces(
  bytes: Uint8Array,
  lengths: readonly number[] = [CHUNK_BYTES],
): AsyncGenerator<Uint8Array> {
  let at = 0
  for (let i = 0; at < bytes.length; i += 1) {
    const length = lengths[i % lengths.length] ?? 1
    yield bytes.subarray(at, at + length)
    at += length
  }
}

/** Reads all bytes of a blob, or of a range of it. */
export async function readWholeBlob(blob: Blob | null, range?: ByteRange): Promise<Buffer> {
  if (blob === null) throw new Error("there is no such blob")
  const pieces: Buffer[] = []
  for await (const piece of blob.read(range)) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** A source that yields two chunks, and the last one after `goOn`. */
export function pausedSource() {
  const [given, rest] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const source = (async function* () {
    yield randomBytes(2 * CHUNK_BYTES)
    given.resolve()
    await rest.promise
    yield randomBytes(CHUNK_BYTES)
  })()
  return { source, given: given.promise, goOn: rest.resolve }
}

/** Rows that count added and read chunks. */
function countingRows(rows: MemoryBlobRows) {
  let moved = 0
  const counted: typeof rows = {
    ...rows,
    addChunk: (...given) => ((moved += 1), rows.addChunk(...given)),
    findChunk: (...given) => ((moved += 1), rows.findChunk(...given)),
  }
  return { counted, moved: () => moved }
}

function sortedRows(rows: MemoryBlobRows): StoredBlobs {
  return {
    blobs: [...rows.blobs].map(([edition, { companyId, subject, blobId, length, digest }]) => {
      return { edition, companyId, subject, blobId, length, digest }
    }),
    chunks: [...rows.chunks].flatMap(([edition, chunks]) =>
      [...chunks].map(([index, sealed]) => ({ edition, index, sealed })),
    ),
  }
}

async function memoryBlobsUnderTest(): Promise<BlobsUnderTest> {
  let now = Date.UTC(2031, 4, 6)
  const rows = memoryBlobRows(() => now)
  const { counted, moved } = countingRows(rows)
  const sealing = openMemorySealing()
  return {
    blobs: openMemoryBlobs(sealing, counted),
    readRows: async () => sortedRows(rows),
    writeRows: async ({ blobs, chunks }) => {
      rows.blobs.clear()
      rows.chunks.clear()
      for (const { edition, ...row } of blobs) {
        rows.blobs.set(edition, { ...row, startedAt: now })
        rows.chunks.set(edition, new Map())
      }
      for (const { edition, index, sealed } of chunks) rows.chunks.get(edition)?.set(index, sealed)
    },
    movedChunkCount: moved,
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
}

const BLOBS = `
  select version_id as edition, company_id as "companyId", subject, blob_id as "blobId", length, digest
  from ledger.blobs order by version_id`
const CHUNKS = "select version_id as edition, index, sealed from ledger.blob_chunks order by 1, 2"

async function readStoredRows(pool: pg.Pool): Promise<StoredBlobs> {
  const blobs = await pool.query<StoredBlob>(BLOBS)
  const chunks = await pool.query<StoredChunk>(CHUNKS)
  return { blobs: blobs.rows, chunks: chunks.rows }
}

async function writeStoredRows(pool: pg.Pool, { blobs, chunks }: StoredBlobs): Promise<void> {
  await pool.query("truncate ledger.blobs cascade")
  for (const { edition, companyId, subject, blobId, length, digest } of blobs) {
    await pool.query(
      `insert into ledger.blobs (version_id, company_id, subject, blob_id, length, digest)
       values ($1, $2, $3, $4, $5, $6)`,
      [edition, companyId, subject, blobId, length, digest],
    )
  }
  for (const { edition, index, sealed } of chunks) {
    await pool.query("insert into ledger.blob_chunks values ($1, $2, $3)", [edition, index, sealed])
  }
}

/** The implementation in PostgreSQL, without rows. @param master the master key */
export async function postgresBlobsUnderTest(
  database: DatabaseUnderTest,
  master: Buffer,
): Promise<BlobsUnderTest> {
  const pool = database.pool()
  const writeBehindPool = database.pool()
  await pool.query("truncate ledger.blobs, ledger.company_keys cascade")
  const sealing = openPostgresSealing(pool, master)
  const statements = [vi.spyOn(pool, "query"), vi.spyOn(writeBehindPool, "query")]
  const isOfChunk = ([query]: readonly unknown[]) =>
    (query as { readonly text?: string }).text?.includes("ledger.blob_chunks") === true
  const { forgetKeys } = sealing
  const erasure = openPostgresErasure({ pool, pacer: machinePacer, forgetKeys, readModels: [] })
  return {
    blobs: openPostgresBlobs({ pool, writeBehindPool, sealing }),
    readRows: () => readStoredRows(pool),
    writeRows: (rows) => writeStoredRows(pool, rows),
    movedChunkCount: () =>
      statements.reduce((sum, { mock }) => sum + mock.calls.filter(isOfChunk).length, 0),
    age: async (ms) => {
      const older = "update ledger.blobs set started_at = started_at - $1::float8 * interval '1 ms'"
      await pool.query(older, [ms])
    },
    destroyKeys: erasure.destroyKeys,
    deleteRows: erasure.deleteRows,
  }
}

/** Every implementation by name. Call it at the top level of a file. */
export async function blobStores() {
  const database = await databaseUnderTest()
  const master = randomBytes(32)
  return [
    ["blobs in memory", memoryBlobsUnderTest],
    ["blobs in PostgreSQL", () => postgresBlobsUnderTest(database, master)],
  ] as const
}
