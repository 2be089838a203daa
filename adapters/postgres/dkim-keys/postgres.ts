import type { Pool } from "pg"
import type { Sealing } from "../../sealing/port.ts"
import type { DkimRow, DkimRows } from "./kept.ts"
import { openSealedDkimKeys } from "./kept.ts"
import type { DkimKeys } from "./port.ts"

/** What they work with. */
export interface DkimKeysPorts {
  readonly pool: Pool
  readonly sealing: Sealing
}

/** Keys in the table `ledger.dkim_keys`. Their errors are those of the port. */
export function openPostgresDkimKeys({ pool, sealing }: DkimKeysPorts): DkimKeys {
  return openSealedDkimKeys(rowsIn(pool), sealing)
}

interface Row {
  readonly selector: string
  readonly public_key: string
  readonly private_key: Buffer
}

function rowsIn(pool: Pool): DkimRows {
  return {
    find: async ({ companyId, sendingDomainId }): Promise<DkimRow | null> => {
      const { rows } = await pool.query<Row>(
        `select selector, public_key, private_key from ledger.dkim_keys
         where company_id = $1 and sending_domain_id = $2`,
        [companyId, sendingDomainId],
      )
      const [row] = rows
      if (row === undefined) return null
      const { selector, public_key: publicKey, private_key: sealed } = row
      return { selector, publicKey, sealed }
    },
    add: async ({ companyId, sendingDomainId }, { selector, publicKey, sealed }) => {
      await pool.query(
        `insert into ledger.dkim_keys
           (company_id, sending_domain_id, selector, public_key, private_key)
         values ($1, $2, $3, $4, $5) on conflict do nothing`,
        [companyId, sendingDomainId, selector, publicKey, sealed],
      )
    },
    remove: async ({ companyId, sendingDomainId }) => {
      await pool.query(
        "delete from ledger.dkim_keys where company_id = $1 and sending_domain_id = $2",
        [companyId, sendingDomainId],
      )
    },
  }
}
