import type { Pool } from "pg"
import { parseCompanyId, parsePersonId, parsed } from "../../domain/kernel/ids.ts"
import type { Approval, ConnectCodes, ConnectRequest } from "./port.ts"

interface Row {
  readonly code_tag: string
  readonly company_tag: string | null
  readonly install_id: string | null
  readonly version: string
  readonly expires_at: Date
  readonly company_id: string | null
  readonly person_id: string | null
}

/** Requests in the unlogged table `ledger.connect_codes`. */
export function openPostgresConnectCodes(pool: Pool): ConnectCodes {
  return {
    add: async ({ codeTag, companyTag, installId, version, expiresAt }, now) => {
      await pool.query("delete from ledger.connect_codes where expires_at <= $1", [new Date(now)])
      await pool.query(
        `insert into ledger.connect_codes (code_tag, company_tag, install_id, version, expires_at)
         values ($1, $2, $3, $4, $5)`,
        [codeTag, companyTag, installId, version, new Date(expiresAt)],
      )
    },
    find: async (codeTag, now) => {
      const { rows } = await pool.query<Row>(
        "select * from ledger.connect_codes where code_tag = $1 and expires_at > $2",
        [codeTag, new Date(now)],
      )
      const [row] = rows
      return row === undefined ? null : { ...requestOf(row), approval: approvalOf(row) }
    },
    approve: async (codeTag, now, { companyId, personId }) => {
      const { rows } = await pool.query<Row>(
        `update ledger.connect_codes
         set company_id = coalesce(company_id, $3), person_id = coalesce(person_id, $4)
         where code_tag = $1 and expires_at > $2 returning *`,
        [codeTag, new Date(now), companyId, personId],
      )
      return rows[0] === undefined ? null : approvalOf(rows[0])
    },
  }
}

function requestOf(row: Row): ConnectRequest {
  return {
    codeTag: row.code_tag,
    companyTag: row.company_tag,
    installId: row.install_id,
    version: row.version,
    expiresAt: row.expires_at.getTime(),
  }
}

function approvalOf({ company_id: company, person_id: person }: Row): Approval | null {
  if (company === null || person === null) return null
  return { companyId: parsed(parseCompanyId, company), personId: parsed(parsePersonId, person) }
}
