import { randomBytes } from "node:crypto"
import type pg from "pg"
import { describe, expect, it, vi } from "vitest"
import { openPostgresBlobs } from "../../adapters/blobs/postgres.ts"
import { CHUNK_BYTES } from "../../adapters/blobs/port.ts"
import { machinePacer } from "../../adapters/clock/pacer.ts"
import { openPostgresErasure } from "../../adapters/erasure/postgres.ts"
import { openPostgresSealing } from "../../adapters/sealing/postgres.ts"
import { databaseUnderTest } from "../postgres/database-under-test.ts"
import { blobsContract } from "./blobs-contract.ts"
import type { BlobsUnderTest, StoredBlob, StoredBlobs, StoredChunk } from "./blobs-fixture.ts"
import { MUCH, WHOSE, inPieces, readAll } from "./blobs-fixture.ts"

const database = await databaseUnderTest()
const MASTER = randomBytes(32)

const BLOBS = `
  select edition, company_id as "companyId", subject, blob_id as "blobId", length, mark
  from ledger.blobs order by edition`
const CHUNKS = "select edition, index, sealed from ledger.blob_chunks order by edition, index"

async function stored(pool: pg.Pool): Promise<StoredBlobs> {
  const blobs = await pool.query<StoredBlob>(BLOBS)
  const chunks = await pool.query<StoredChunk>(CHUNKS)
  return { blobs: blobs.rows, chunks: chunks.rows }
}

async function store(pool: pg.Pool, { blobs, chunks }: StoredBlobs): Promise<void> {
  await pool.query("truncate ledger.blobs cascade")
  for (const { edition, companyId, subject, blobId, length, mark } of blobs) {
    await pool.query(
      `insert into ledger.blobs (edition, company_id, subject, blob_id, length, mark)
       values ($1, $2, $3, $4, $5, $6)`,
      [edition, companyId, subject, blobId, length, mark],
    )
  }
  for (const { edition, index, sealed } of chunks) {
    await pool.query("insert into ledger.blob_chunks values ($1, $2, $3)", [edition, index, sealed])
  }
}

async function open(): Promise<BlobsUnderTest> {
  const pool = database.pool()
  const behind = database.pool()
  await pool.query("truncate ledger.blobs, ledger.company_keys cascade")
  const sealing = openPostgresSealing(pool, MASTER)
  const statements = [vi.spyOn(pool, "query"), vi.spyOn(behind, "query")]
  const isOfChunk = ([query]: readonly unknown[]) =>
    (query as { readonly text?: string }).text?.includes("ledger.blob_chunks") === true
  const { forgetKeys } = sealing
  const erasure = openPostgresErasure({ pool, pacer: machinePacer, forgetKeys, readModels: [] })
  return {
    blobs: openPostgresBlobs({ pool, behind, sealing }),
    stored: () => stored(pool),
    store: (rows) => store(pool, rows),
    chunksMoved: () =>
      statements.reduce((sum, { mock }) => sum + mock.calls.filter(isOfChunk).length, 0),
    age: async (ms) => {
      const older = "update ledger.blobs set begun_at = begun_at - $1::float8 * interval '1 ms'"
      await pool.query(older, [ms])
    },
    destroyKeys: erasure.destroyKeys,
    deleteRows: erasure.deleteRows,
  }
}

blobsContract("blobs in PostgreSQL", open)

describe("blobs of several processes", () => {
  it("are there for all, as soon as they are whole", async () => {
    const [one, other] = [0, 1].map(() => {
      const pool = database.pool()
      const sealing = openPostgresSealing(pool, MASTER)
      return openPostgresBlobs({ pool, behind: pool, sealing })
    })
    const bytes = randomBytes(CHUNK_BYTES + 1)
    const blobId = "rec_of_both"
    await one?.write({ ...WHOSE, blobId }, inPieces(bytes), MUCH)
    const found = await other?.find(WHOSE.companyId, blobId)
    expect((await readAll(found ?? null)).equals(bytes)).toBe(true)
  })
})

describe("a blob in PostgreSQL", () => {
  it("holds no connection while its source or its reader waits", async () => {
    const pool = database.pool(1)
    const sealing = openPostgresSealing(pool, MASTER)
    const blobs = openPostgresBlobs({ pool, behind: pool, sealing })
    const source = (async function* () {
      for (let i = 0; i < 3; i += 1) {
        expect((await pool.query("select 1")).rowCount).toBe(1)
        yield randomBytes(CHUNK_BYTES)
      }
    })()
    const blob = await blobs.write({ ...WHOSE, blobId: "rec_slow" }, source, MUCH)
    for await (const piece of blob.read()) {
      expect(piece).toHaveLength(CHUNK_BYTES)
      expect((await pool.query("select 1")).rowCount).toBe(1)
    }
  })

  it("is not compressed, however well it could be", async () => {
    const under = await open()
    const pool = database.pool()
    await under.blobs.write(WHOSE, inPieces(Buffer.alloc(3 * CHUNK_BYTES)), MUCH)
    const { rows } = await pool.query<{ bytes: number }>(
      "select pg_column_size(sealed) as bytes from ledger.blob_chunks",
    )
    expect(rows.map(({ bytes }) => bytes - CHUNK_BYTES)).toEqual([28, 28, 28])
  })
})
