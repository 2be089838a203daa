import type { Pool } from "pg"
import { parseCompanyId, parsed } from "../../../domain/kernel/ids.ts"
import type { Sealing } from "../../sealing/port.ts"
import type { Blobs } from "./port.ts"
import { HALF_WRITTEN_KEPT_MS } from "./port.ts"
import type { BlobRow, BlobRows } from "./sealed.ts"
import { openSealedBlobs } from "./sealed.ts"

/** PostgreSQL's names for what can happen to a row. */
const EXISTS = "23505"
const NO_SUCH_BLOB = "23503"

/** What blobs in PostgreSQL work with. */
export interface BlobPorts {
  readonly pool: Pool
  /** Connections whose commits do not wait for the disk. */
  readonly behind: Pool
  readonly sealing: Sealing
}

/**
 * Blobs in the tables `ledger.blobs` and `ledger.blob_chunks`. Their errors are those of the port.
 *
 * A chunk is a commit of its own, so that nothing is held while a source or a reader is slow. None of
 * them waits for the disk: the one that makes the blob whole does, and the write-ahead log is on the disk
 * up to there or not at all.
 */
export function openPostgresBlobs({ pool, behind, sealing }: BlobPorts): Blobs {
  return openSealedBlobs(rowsIn(pool, behind), sealing)
}

function rowsIn(pool: Pool, behind: Pool): BlobRows {
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
        if (codeOf(error) === NO_SUCH_BLOB) return false
        throw error
      }
    },
    finish: async (edition, length, mark) => {
      try {
        const finished = await count(FINISH, [edition, length, mark])
        return finished === 1 ? "finished" : "gone"
      } catch (error) {
        if (codeOf(error) === EXISTS) return "exists"
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
      return rows[0] === undefined ? null : rowOf(rows[0])
    },
    companiesWith: async (blobId) => {
      const query = { name: "blob-companies", text: COMPANIES, values: [blobId] }
      const { rows } = await pool.query<Pick<Row, "company_id">>(query)
      return rows.map((row) => parsed(parseCompanyId, row.company_id))
    },
    chunk: async (edition, index) => {
      const query = { name: "blob-chunk", text: CHUNK, values: [edition, index] }
      const { rows } = await pool.query<{ sealed: string }>(query)
      return rows[0] === undefined ? null : Buffer.from(rows[0].sealed, "base64")
    },
    delete: async (companyId, blobId) => (await count(DELETE, [companyId, blobId])) > 0,
    // A database's own time: nobody sets that forward.
    sweep: () => count(SWEEP, [HALF_WRITTEN_KEPT_MS]),
  }
}

interface Row {
  readonly edition: string
  readonly company_id: string
  readonly subject: string
  readonly blob_id: string
  readonly length: number
  readonly mark: Buffer
}

const BEGIN = `
  insert into ledger.blobs (version_id, company_id, subject, blob_id) values ($1, $2, $3, $4)`
const ADD_CHUNK = `
  insert into ledger.blob_chunks (version_id, index, sealed) values ($1, $2, $3)`
const FINISH = `
  update ledger.blobs set length = $2, digest = $3 where version_id = $1 and digest is null`
const FIND = `
  select version_id as edition, company_id, subject, blob_id, length, digest as mark from ledger.blobs
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

function rowOf({ company_id, blob_id: blobId, ...row }: Row): BlobRow {
  return { ...row, companyId: parsed(parseCompanyId, company_id), blobId }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined
}
