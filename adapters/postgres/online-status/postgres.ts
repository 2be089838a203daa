import type { Pool } from "pg"
import { parsePersonId, parsed } from "../../../domain/kernel/ids.ts"
import type { Place, Presence } from "./port.ts"

interface Row {
  readonly person_id: string
  readonly place: Place
  readonly seen_at: Date
}

/** Presence in the unlogged table `ledger.online_status`. */
export function openPostgresPresence(pool: Pool): Presence {
  return {
    seen: async (companyId, { personId, place, seenAt }) => {
      await pool.query(
        `insert into ledger.online_status (company_id, person_id, client, seen_at)
         values ($1, $2, $3, $4)
         on conflict (company_id, person_id, client)
         do update set seen_at = greatest(online_status.seen_at, excluded.seen_at)`,
        [companyId, personId, place, new Date(seenAt)],
      )
    },
    of: async (companyId) => {
      const { rows } = await pool.query<Row>(
        `select person_id, client as place, seen_at from ledger.online_status
         where company_id = $1 order by seen_at desc, client`,
        [companyId],
      )
      return rows.map(({ person_id, place, seen_at }) => {
        const personId = parsed(parsePersonId, person_id)
        return { personId, place, seenAt: seen_at.getTime() }
      })
    },
  }
}
