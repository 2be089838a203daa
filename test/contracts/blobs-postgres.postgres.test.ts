import { randomBytes } from "node:crypto"
import { describe, expect, it } from "vitest"
import { openPostgresBlobs } from "../../adapters/postgres/blobs/postgres.ts"
import { CHUNK_BYTES } from "../../adapters/postgres/blobs/port.ts"
import { openPostgresSealing } from "../../adapters/sealing/postgres.ts"
import { databaseUnderTest } from "../postgres/database-under-test.ts"
import {
  LARGE_BLOB_LIMIT,
  BLOB_OWNER,
  bytesInPieces,
  postgresBlobsUnderTest,
  readWholeBlob,
} from "./blobs-fixture.ts"

const database = await databaseUnderTest()
const MASTER = randomBytes(32)

describe("blobs of multiple processes", () => {
  it("are readable in all processes once they are complete", async () => {
    const [one, other] = [0, 1].map(() => {
      const pool = database.pool()
      const sealing = openPostgresSealing(pool, MASTER)
      return openPostgresBlobs({ pool, writeBehindPool: pool, sealing })
    })
    const bytes = randomBytes(CHUNK_BYTES + 1)
    const blobId = "rec_of_both"
    await one?.write({ ...BLOB_OWNER, blobId }, bytesInPieces(bytes), LARGE_BLOB_LIMIT)
    const found = await other?.find(BLOB_OWNER.companyId, blobId)
    expect((await readWholeBlob(found ?? null)).equals(bytes)).toBe(true)
  })
})

describe("a blob in PostgreSQL", () => {
  it("holds no connection while its source or its reader waits", async () => {
    const pool = database.pool(1)
    const sealing = openPostgresSealing(pool, MASTER)
    const blobs = openPostgresBlobs({ pool, writeBehindPool: pool, sealing })
    const source = (async function* () {
      for (let i = 0; i < 3; i += 1) {
        expect((await pool.query("select 1")).rowCount).toBe(1)
        yield randomBytes(CHUNK_BYTES)
      }
    })()
    const blob = await blobs.write({ ...BLOB_OWNER, blobId: "rec_slow" }, source, LARGE_BLOB_LIMIT)
    for await (const piece of blob.read()) {
      expect(piece).toHaveLength(CHUNK_BYTES)
      expect((await pool.query("select 1")).rowCount).toBe(1)
    }
  })

  it("is stored uncompressed", async () => {
    const implementation = await postgresBlobsUnderTest(database, MASTER)
    const pool = database.pool()
    await implementation.blobs.write(
      BLOB_OWNER,
      bytesInPieces(Buffer.alloc(3 * CHUNK_BYTES)),
      LARGE_BLOB_LIMIT,
    )
    const { rows } = await pool.query<{ bytes: number }>(
      "select pg_column_size(sealed) as bytes from ledger.blob_chunks",
    )
    expect(rows.map(({ bytes }) => bytes - CHUNK_BYTES)).toEqual([28, 28, 28])
  })
})
