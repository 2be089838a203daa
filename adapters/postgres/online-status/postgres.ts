import type { Pool } from "pg"
import { parsePersonId, parseStored } from "../../../domain/kernel/ids.ts"
import type { ClientKind, OnlineStatus } from "./port.ts"

interface Row {
  readonly person_id: string
  readonly client: ClientKind
  readonly seen_at: Date
}

/** Opens the online status in the unlogged table `ledger.online_status`. */
export function openPostgresOnlineStatus(pool: Pool): OnlineStatus {
  return {
    noteSeen: async (companyId, { personId, client, seenAt }) => {
      await pool.query(
        `insert into ledger.online_status (company_id, person_id, client, seen_at)
         values ($1, $2, $3, $4)
         on conflict (company_id, person_id, client)
         do update set seen_at = greatest(online_status.seen_at, excluded.seen_at)`,
        [companyId, personId, client, new Date(seenAt)],
      )
    },
    list: async (companyId) => {
      const { rows } = await pool.query<Row>(
        `select person_id, client, seen_at from ledger.online_status
         where company_id = $1 order by seen_at desc, client`,
        [companyId],
      )
      return rows.map(({ person_id, client, seen_at }) => {
        const personId = parseStored(parsePersonId, person_id)
        return { personId, client, seenAt: seen_at.getTime() }
      })
    },
  }
}
