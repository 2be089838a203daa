import type { Pool } from "pg"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { parseCompanyId, parseStored } from "../../../domain/kernel/ids.ts"
import type { Sealing } from "../../sealing/port.ts"
import type { Blobs, NewBlob } from "./port.ts"
import { HALF_WRITTEN_TTL_MS } from "./port.ts"
import type { BlobRow, BlobRows } from "./sealed-blobs.ts"
import { openSealedBlobs } from "./sealed-blobs.ts"

/** PostgreSQL's codes for a duplicate key and a missing parent row. */
const EXISTS = "23505"
const NO_SUCH_BLOB = "23503"

interface BlobPorts {
  readonly pool: Pool
  /** Connections whose commits do not wait for the disk. */
  readonly writeBehindPool: Pool
  readonly sealing: Sealing
}

/**
 * Opens blobs in the tables `ledger.blobs` and `ledger.blob_chunks`. Throws the port's errors.
 *
 * Each chunk is a commit of its own, so a slow source or reader holds no transaction. Only the
 * commit that completes the blob waits for the disk, and that flushes the earlier ones.
 */
export function openPostgresBlobs({ pool, writeBehindPool, sealing }: BlobPorts): Blobs {
  return openSealedBlobs(openBlobRows(pool, writeBehindPool), sealing)
}

function openBlobRows(pool: Pool, writeBehindPool: Pool): BlobRows {
  const count = async (text: string, values: unknown[]): Promise<number> =>
    (await pool.query(text, values)).rowCount ?? 0
  return {
    begin: async (versionId, { companyId, subject, blobId }) => {
      await writeBehindPool.query(BEGIN, [versionId, companyId, subject, blobId])
    },
    addChunk: async (versionId, index, sealed) => {
      const values = [versionId, index, sealed]
      try {
        await writeBehindPool.query({ name: "blob-add-chunk", text: ADD_CHUNK, values })
        return true
      } catch (error) {
        if (errorCodeOf(error) === NO_SUCH_BLOB) return false
        throw error
      }
    },
    finish: async (versionId, length, digest) => {
      try {
        const finished = await count(FINISH, [versionId, length, digest])
        return finished === 1 ? "finished" : "gone"
      } catch (error) {
        if (errorCodeOf(error) === EXISTS) return "exists"
        throw error
      }
    },
    discard: async (versionId) => {
      await writeBehindPool.query(
        "delete from ledger.blobs where version_id = $1 and digest is null",
        [versionId],
      )
    },
    find: async (companyId, blobId) => {
      const query = { name: "blob-find", text: FIND, values: [companyId, blobId] }
      const { rows } = await pool.query<Row>(query)
      return rows[0] === undefined ? null : toBlobRow(rows[0])
    },
    findCompanies: async (blobId) => {
      const query = { name: "blob-companies", text: COMPANIES, values: [blobId] }
      const { rows } = await pool.query<Pick<Row, "company_id">>(query)
      return rows.map((row) => parseStored(parseCompanyId, row.company_id))
    },
    findChunk: async (versionId, index) => {
      const query = { name: "blob-chunk", text: CHUNK, values: [versionId, index] }
      const { rows } = await pool.query<{ sealed: string }>(query)
      return rows[0] === undefined ? null : Buffer.from(rows[0].sealed, "base64")
    },
    delete: async (companyId, blobId) => (await count(DELETE, [companyId, blobId])) > 0,
    // The database's clock: the test clock does not change it.
    deleteHalfWritten: () => count(SWEEP, [HALF_WRITTEN_TTL_MS]),
  }
}

interface Row {
  readonly versionId: string
  readonly company_id: string
  readonly subject: string
  readonly blob_id: string
  readonly length: number
  readonly digest: Buffer
}

const BEGIN = `
  insert into ledger.blobs (version_id, company_id, subject, blob_id) values ($1, $2, $3, $4)`
const ADD_CHUNK = `
  insert into ledger.blob_chunks (version_id, index, sealed) values ($1, $2, $3)`
const FINISH = `
  update ledger.blobs set length = $2, digest = $3 where version_id = $1 and digest is null`
const FIND = `
  select version_id as "versionId", company_id, subject, blob_id, length, digest from ledger.blobs
  where company_id = $1 and blob_id = $2 and digest is not null`
const COMPANIES = `
  select company_id from ledger.blobs where blob_id = $1 and digest is not null order by company_id`
/** The protocol sends bytes as text; base64 is shorter and faster to decode than the default. */
const CHUNK = `
  select encode(sealed, 'base64') as sealed from ledger.blob_chunks
  where version_id = $1 and index = $2`
const DELETE = `
  delete from ledger.blobs where company_id = $1 and blob_id = $2 and digest is not null`
const SWEEP = `
  delete from ledger.blobs
  where digest is null and started_at < now() - $1::float8 * interval '1 millisecond'`

function toBlobRow({ company_id, blob_id: blobId, ...row }: Row): BlobRow {
  return { ...row, companyId: parseStored(parseCompanyId, company_id), blobId }
}

function errorCodeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined
}

/** A blob's row in memory; a half-written one has no digest. */
interface MemoryRow extends NewBlob {
  length: number | null
  digest: Buffer | null
  readonly startedAt: number
}

export interface MemoryBlobRows extends BlobRows {
  /** By version id. */
  readonly blobs: Map<string, MemoryRow>
  /** By version id, then by index. */
  readonly chunks: Map<string, Map<number, Buffer>>
}

/** Creates rows in memory. @param now UTC milliseconds */
export function memoryBlobRows(now: () => number = Date.now): MemoryBlobRows {
  const blobs = new Map<string, MemoryRow>()
  const chunks = new Map<string, Map<number, Buffer>>()
  const find = (companyId: CompanyId, blobId: string): BlobRow | null => {
    for (const [versionId, row] of blobs) {
      const { length, digest } = row
      if (row.companyId !== companyId || row.blobId !== blobId) continue
      if (length !== null && digest !== null) return { ...row, versionId, length, digest }
    }
    return null
  }
  const remove = (versionId: string) => {
    blobs.delete(versionId)
    chunks.delete(versionId)
  }
  return {
    blobs,
    chunks,
    begin: async (versionId, { companyId, subject, blobId }) => {
      const row = { companyId, subject, blobId, length: null, digest: null, startedAt: now() }
      blobs.set(versionId, row)
      chunks.set(versionId, new Map())
    },
    addChunk: async (versionId, index, sealed) => {
      chunks.get(versionId)?.set(index, sealed)
      return chunks.has(versionId)
    },
    finish: async (versionId, length, digest) => {
      const row = blobs.get(versionId)
      if (row === undefined) return "gone"
      if (find(row.companyId, row.blobId) !== null) return "exists"
      Object.assign(row, { length, digest })
      return "finished"
    },
    discard: async (versionId) => {
      if (blobs.get(versionId)?.digest === null) remove(versionId)
    },
    find: async (companyId, blobId) => find(companyId, blobId),
    findCompanies: async (blobId) =>
      [...blobs.values()].flatMap((row) =>
        row.blobId === blobId && row.digest !== null ? row.companyId : [],
      ),
    findChunk: async (versionId, index) => chunks.get(versionId)?.get(index) ?? null,
    delete: async (companyId, blobId) => {
      const row = find(companyId, blobId)
      if (row !== null) remove(row.versionId)
      return row !== null
    },
    deleteHalfWritten: async () => {
      const before = now() - HALF_WRITTEN_TTL_MS
      const abandoned = [...blobs].filter(
        ([, { digest, startedAt }]) => digest === null && startedAt < before,
      )
      for (const [versionId] of abandoned) remove(versionId)
      return abandoned.length
    },
  }
}

/** Opens blobs in the memory of this process, for tests. Throws the port's errors. */
export function openMemoryBlobs(sealing: Sealing, rows: BlobRows = memoryBlobRows()): Blobs {
  return openSealedBlobs(rows, sealing)
}
