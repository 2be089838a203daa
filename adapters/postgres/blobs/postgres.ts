import type { Pool } from "pg"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { parseCompanyId, parseStored } from "../../../domain/kernel/ids.ts"
import type { Sealing } from "../../sealing/port.ts"
import type { Blobs, NewBlob } from "./port.ts"
import { HALF_WRITTEN_TTL_MS } from "./port.ts"
import type { BlobRow, BlobRows } from "./sealed-blobs.ts"
import { openSealedBlobs } from "./sealed-blobs.ts"

/** PostgreSQL's names for what can happen to a row. */
const EXISTS = "23505"
const NO_SUCH_BLOB = "23503"

/** What blobs in PostgreSQL work with. */
interface BlobPorts {
  readonly pool: Pool
  /** Connections whose commits do not wait for the disk. */
  readonly writeBehindPool: Pool
  readonly sealing: Sealing
}

/**
 * Blobs in the tables `ledger.blobs` and `ledger.blob_chunks`. Their errors are those of the port.
 *
 * A chunk is a commit of its own, so that nothing is held while a source or a reader is slow. None of
 * them waits for the disk: the one that makes the blob whole does, and the write-ahead log is on the disk
 * up to there or not at all.
 */
export function openPostgresBlobs({ pool, writeBehindPool, sealing }: BlobPorts): Blobs {
  return openSealedBlobs(openBlobRows(pool, writeBehindPool), sealing)
}

function openBlobRows(pool: Pool, behind: Pool): BlobRows {
  const count = async (text: string, values: unknown[]): Promise<number> =>
    (await pool.query(text, values)).rowCount ?? 0
  return {
    begin: async (edition, { companyId, subject, blobId }) => {
      await behind.query(BEGIN, [edition, companyId, subject, blobId])
    },
    addChunk: async (edition, index, sealed) => {
      const values = [edition, index, sealed]
      try {
        await behind.query({ name: "blob-add-chunk", text: ADD_CHUNK, values })
        return true
      } catch (error) {
        if (errorCodeOf(error) === NO_SUCH_BLOB) return false
        throw error
      }
    },
    finish: async (edition, length, mark) => {
      try {
        const finished = await count(FINISH, [edition, length, mark])
        return finished === 1 ? "finished" : "gone"
      } catch (error) {
        if (errorCodeOf(error) === EXISTS) return "exists"
        throw error
      }
    },
    discard: async (edition) => {
      await behind.query("delete from ledger.blobs where version_id = $1 and digest is null", [
        edition,
      ])
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
    findChunk: async (edition, index) => {
      const query = { name: "blob-chunk", text: CHUNK, values: [edition, index] }
      const { rows } = await pool.query<{ sealed: string }>(query)
      return rows[0] === undefined ? null : Buffer.from(rows[0].sealed, "base64")
    },
    delete: async (companyId, blobId) => (await count(DELETE, [companyId, blobId])) > 0,
    // A database's own time: nobody sets that forward.
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
/** The protocol gives bytes as text; this form of it is the shorter and the quicker one to read. */
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

/** A blob's row in memory; a half-written one has no mark. */
interface MemoryRow extends NewBlob {
  length: number | null
  digest: Buffer | null
  readonly startedAt: number
}

/** The rows of blobs in this process's memory. */
export interface MemoryBlobRows extends BlobRows {
  /** By edition. */
  readonly blobs: Map<string, MemoryRow>
  /** By edition, then by index. */
  readonly chunks: Map<string, Map<number, Buffer>>
}

/** Makes rows. @param now UTC milliseconds */
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
  const remove = (edition: string) => {
    blobs.delete(edition)
    chunks.delete(edition)
  }
  return {
    blobs,
    chunks,
    begin: async (edition, { companyId, subject, blobId }) => {
      const row = { companyId, subject, blobId, length: null, digest: null, startedAt: now() }
      blobs.set(edition, row)
      chunks.set(edition, new Map())
    },
    addChunk: async (edition, index, sealed) => {
      chunks.get(edition)?.set(index, sealed)
      return chunks.has(edition)
    },
    finish: async (edition, length, mark) => {
      const row = blobs.get(edition)
      if (row === undefined) return "gone"
      if (find(row.companyId, row.blobId) !== null) return "exists"
      Object.assign(row, { length, digest: mark })
      return "finished"
    },
    discard: async (edition) => {
      if (blobs.get(edition)?.digest === null) remove(edition)
    },
    find: async (companyId, blobId) => find(companyId, blobId),
    findCompanies: async (blobId) =>
      [...blobs.values()].flatMap((row) =>
        row.blobId === blobId && row.digest !== null ? row.companyId : [],
      ),
    findChunk: async (edition, index) => chunks.get(edition)?.get(index) ?? null,
    delete: async (companyId, blobId) => {
      const row = find(companyId, blobId)
      if (row !== null) remove(row.versionId)
      return row !== null
    },
    deleteHalfWritten: async () => {
      const before = now() - HALF_WRITTEN_TTL_MS
      const left = [...blobs].filter(
        ([, { digest, startedAt }]) => digest === null && startedAt < before,
      )
      for (const [edition] of left) remove(edition)
      return left.length
    },
  }
}

/** Blobs in this process's memory: the memory twin, for tests. Their errors are those of the port. */
export function openMemoryBlobs(sealing: Sealing, rows: BlobRows = memoryBlobRows()): Blobs {
  return openSealedBlobs(rows, sealing)
}
