/** Rows in the tables of the read models, for tests that look at who may see them. */
import type pg from "pg"
import type { CompanyId } from "../../domain/kernel/ids.ts"

/** A value of each type that columns have; a text names its company, so that keys differ. */
const VALUES: Readonly<Record<string, (companyId: CompanyId) => unknown>> = {
  text: (companyId) => `of ${companyId}`,
  bigint: () => 1,
  integer: () => 1,
  boolean: () => false,
  "timestamp with time zone": () => new Date(0),
  date: () => "2026-11-01",
  jsonb: () => "{}",
  "text[]": () => [],
  "bigint[]": () => [],
}

/**
 * Puts a row of a company's into every table of the read models, made of its columns alone.
 *
 * @throws Error where a column is of a type that no value is known of
 */
export async function fillEveryTable(owner: pg.Pool, companyId: CompanyId): Promise<void> {
  const { rows } = await owner.query<{ name: string; columns: string[]; types: string[] }>(
    `select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns,
       array_agg(format_type(a.atttypid, null) order by a.attnum) as types
     from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'read'::regnamespace and c.relkind in ('r', 'p')
       and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
     group by c.relname order by c.relname`,
  )
  for (const { name, columns, types } of rows) {
    const values = columns.map((column, i) => {
      const valueOf = VALUES[types[i] ?? ""]
      if (valueOf === undefined) {
        throw new Error(`read.${name}.${column} is a ${types[i]}: say a value of it in VALUES`)
      }
      return column === "company_id" ? companyId : valueOf(companyId)
    })
    const places = values.map((_value, i) => `$${i + 1}`).join(", ")
    const named = columns.map((column) => `"${column}"`).join(", ")
    await owner.query(
      `insert into read."${name}" (${named}) values (${places}) on conflict do nothing`,
      values,
    )
  }
}
