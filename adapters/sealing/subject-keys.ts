/**
 * The wrapped keys of subjects, asked for and made many at a time: a company that texts people it has
 * never texted makes a key for each, and a commit of its own for each would cost more than the text.
 */
import type { Pool } from "pg"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { together } from "../postgres/together.ts"

const MOST_AT_ONCE = 500

/** Loads the wrapped key of a subject, keeping `fresh` where there is none and `fresh` is given. */
export type SubjectKeys = (
  companyId: CompanyId,
  subject: string,
  fresh: Buffer | null,
) => Promise<Buffer | null>

interface Asked {
  readonly companyId: CompanyId
  readonly subject: string
  readonly fresh: Buffer | null
}

interface Row {
  readonly company_id: string
  readonly subject: string
  readonly wrapped: Buffer
}

/** Wrapped keys in the table `ledger.subject_keys`. What is given was committed. */
export function openSubjectKeys(pool: Pool): SubjectKeys {
  const ask = together<Asked, Buffer | null>(MOST_AT_ONCE, (batch) => answer(pool, batch))
  return (companyId, subject, fresh) => ask({ companyId, subject, fresh })
}

async function answer(pool: Pool, batch: readonly Asked[]): Promise<readonly (Buffer | null)[]> {
  const found = new Map<string, Buffer>()
  const ask = async (name: string, text: string, values: unknown[]): Promise<void> => {
    const { rows } = await pool.query<Row>({ name, text, values })
    for (const row of rows) found.set(placeOf(row.company_id, row.subject), row.wrapped)
  }
  const fresh = batch.filter((asked) => asked.fresh !== null)
  if (fresh.length > 0) await ask("make-subject-keys", INSERT, columnsOf(fresh, true))
  const rest = batch.filter(({ companyId, subject }) => !found.has(placeOf(companyId, subject)))
  if (rest.length > 0) await ask("find-subject-keys", SELECT, columnsOf(rest, false))
  return batch.map(({ companyId, subject }) => found.get(placeOf(companyId, subject)) ?? null)
}

/** The first key of a subject stays, and is answered: whoever comes second gets it from a select. */
const INSERT = `
  insert into ledger.subject_keys (company_id, subject, wrapped)
  select * from unnest($1::text[], $2::text[], $3::bytea[])
  on conflict do nothing
  returning company_id, subject, wrapped`

const SELECT = `
  select company_id, subject, wrapped from ledger.subject_keys
  join unnest($1::text[], $2::text[]) as asked (company_id, subject) using (company_id, subject)`

function columnsOf(batch: readonly Asked[], withKeys: boolean): unknown[] {
  const names = [batch.map((asked) => asked.companyId), batch.map((asked) => asked.subject)]
  return withKeys ? [...names, batch.map((asked) => asked.fresh)] : names
}

function placeOf(companyId: string, subject: string): string {
  return `${companyId}/${subject}`
}
