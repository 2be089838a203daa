import type { Pool } from "pg"
import type {
  ActivityEntry,
  ActivityLog,
  ActivityLogKind,
  ActivityLogs,
  ActivityEntryId,
} from "./port.ts"

const OF_SUBJECT = "company_id = $1 and slice = $2 and kind = $3 and subject = $4"
const NEWEST_FIRST = "order by at desc, entry_id desc"
/**
 * A statement does not see its own rows, so surplus entries are deleted by the next addition. It
 * skips rows that another statement is deleting, so that the two do not wait for each other. It
 * uses arrays because a join may be planned as a scan of the table.
 */
const ADD = `
  with added as (
    insert into ledger.activity_log (company_id, slice, kind, subject, at, content)
    values ($1, $2, $3, $4, $6, $7::jsonb)
    returning entry_id),
  surplus as (
    delete from ledger.activity_log where entry_id = any (array(
      select entry_id from ledger.activity_log where entry_id = any (array(
        select entry_id from ledger.activity_log where ${OF_SUBJECT} ${NEWEST_FIRST} offset $5))
      for update skip locked)))
  select entry_id::text as "entryId" from added`
const UPDATE = `
  update ledger.activity_log set content = $5::jsonb
  where company_id = $1 and slice = $2 and kind = $3 and entry_id = $4::bigint`
const NEWEST = `
  select at, content from ledger.activity_log where ${OF_SUBJECT} ${NEWEST_FIRST} limit $5`
const CLEAR = `delete from ledger.activity_log where ${OF_SUBJECT}`

interface Row<T> {
  readonly at: Date
  readonly content: T
}

/** Opens activity logs in the table `ledger.activity_log`. */
export function openPostgresActivityLogs(pool: Pick<Pool, "query">): ActivityLogs {
  return { of: (kind) => openActivityLog(pool, kind) }
}

function openActivityLog<T extends object>(
  pool: Pick<Pool, "query">,
  { slice, kind, maxEntries }: ActivityLogKind,
): ActivityLog<T> {
  return {
    add: async (companyId, subject, { at, content }) => {
      const entry = [new Date(at), JSON.stringify(content)]
      const values = [companyId, slice, kind, subject, maxEntries, ...entry]
      const { rows } = await pool.query<{ entryId: ActivityEntryId }>({
        name: "activity-log-add",
        text: ADD,
        values,
      })
      const [row] = rows
      if (row === undefined) throw new Error("The insert returned no entry id")
      return row.entryId
    },
    update: async (companyId, entryId, content) => {
      const values = [companyId, slice, kind, entryId, JSON.stringify(content)]
      await pool.query({ name: "activity-log-update", text: UPDATE, values })
    },
    newest: async (companyId, subject, limit) => {
      const values = [companyId, slice, kind, subject, Math.min(limit, maxEntries)]
      const { rows } = await pool.query<Row<T>>({
        name: "activity-log-newest",
        text: NEWEST,
        values,
      })
      return rows.map(({ at, content }): ActivityEntry<T> => ({ at: at.getTime(), content }))
    },
    clear: async (companyId, subject) => {
      await pool.query(CLEAR, [companyId, slice, kind, subject])
    },
  }
}
