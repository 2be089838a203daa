/** The bill, read from the read model `charges` page by page and up to a revision that stands still. */
import type { Kysely } from "kysely"
import { sql } from "kysely"
import type { CompanyId } from "../domain/kernel/ids.ts"
import type { Micros } from "../domain/kernel/money.ts"
import type { ChargeRow, ChargeTables } from "./charges.ts"

/** The revision of the last line before an instant; -1 where there is none. */
export async function lastLineBefore(
  db: Kysely<ChargeTables>,
  companyId: CompanyId,
  until: Date,
): Promise<number> {
  const row = await db
    .selectFrom("charges")
    .select("revision")
    .where("company_id", "=", companyId)
    .where("at", "<", until)
    .orderBy("revision", "desc")
    .limit(1)
    .executeTakeFirst()
  return row?.revision ?? -1
}

/**
 * The next lines of a bill in the order they were decided: those of `from` ≤ at whose revision is
 * above `after` and at most `upTo`; at most `limit` of them.
 */
export async function billingLines(
  db: Kysely<ChargeTables>,
  query: {
    readonly companyId: CompanyId
    readonly from: Date
    readonly after: number
    readonly upTo: number
    readonly limit: number
  },
): Promise<readonly ChargeRow[]> {
  return db
    .selectFrom("charges")
    .selectAll()
    .where("company_id", "=", query.companyId)
    .where("at", ">=", query.from)
    .where("revision", ">", query.after)
    .where("revision", "<=", query.upTo)
    .orderBy("revision")
    .limit(query.limit)
    .execute()
}

/** The funds as the lines up to a revision sum them; with `before`, only those before an instant. */
export async function fundsOfLines(
  db: Kysely<ChargeTables>,
  companyId: CompanyId,
  upTo: number,
  before?: Date,
): Promise<Micros> {
  const lines = db
    .selectFrom("charges")
    .select(sql<number>`coalesce(sum(amount_micros), 0)::bigint`.as("funds"))
    .where("company_id", "=", companyId)
    .where("revision", "<=", upTo)
  const wanted = before === undefined ? lines : lines.where("at", "<", before)
  return (await wanted.executeTakeFirstOrThrow()).funds
}
