/** Operators' queries of the read model `charges`. */
import type { Kysely } from "kysely"
import { sql } from "kysely"
import type { ChargeId, CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import { revisionBeforeInstant } from "./billing-lines.ts"
import type { ChargeRow } from "./charge-lines.ts"
import type { ChargeTables } from "./charges.ts"
import { selectChargeRows } from "./charges.ts"

/** Selects charges; a null field selects everything. */
export interface ChargesQuery {
  readonly companyId: CompanyId
  /** Start, inclusive, and end, exclusive. */
  readonly within: readonly [Date, Date] | null
  readonly keyId: KeyId | null
  readonly personId: PersonId | null
  readonly item: string | null
  /** The resource's id, with or without its location. */
  readonly resource: string | null
  readonly before: number | null
  readonly limit: number
}

/** Lists the charges of a company, newest first. */
export async function listCharges(
  db: Kysely<ChargeTables>,
  { companyId, within, keyId, personId, item, resource, before, limit }: ChargesQuery,
): Promise<readonly ChargeRow[]> {
  let rows = selectChargeRows(db)
    .where("company_id", "=", companyId)
    .where("charge_id", "is not", null)
  if (within !== null) {
    // Filtering by revision keeps the index order of the other filters.
    const [after, upTo] = await Promise.all(within.map((at) => lastBefore(db, companyId, at)))
    if (after === undefined || after === null) return []
    rows = rows.where("revision", ">", after)
    if (upTo !== undefined && upTo !== null) rows = rows.where("revision", "<=", upTo)
  }
  if (keyId !== null) rows = rows.where("key_id", "=", keyId)
  if (personId !== null) rows = rows.where("person_id", "=", personId)
  if (item !== null) rows = rows.where("item", "=", item)
  if (resource !== null) rows = rows.where(isOfResource(resource))
  if (before !== null) rows = rows.where("revision", "<", before)
  return rows.orderBy("revision", "desc").limit(limit).execute()
}

/** The first condition uses the index, the second is exact. */
function isOfResource(id: string) {
  return sql<boolean>`split_part(resource, '@', 1) = split_part(${id}, '@', 1)
    and (resource = ${id} or starts_with(resource, ${`${id}@`}))`
}

/** The revision of the last line before an instant; null if no line is at or after it. */
function lastBefore(db: Kysely<ChargeTables>, companyId: CompanyId, at: Date) {
  return revisionBeforeInstant(db, companyId, new Date(at.getTime() - 1))
}

/** Returns the amount added under a reference; null if there is none. */
export async function fundsAddedByReference(
  db: Kysely<ChargeTables>,
  companyId: CompanyId,
  reference: string,
): Promise<Micros | null> {
  const row = await db
    .selectFrom("charges")
    .select("amount_micros")
    .where("company_id", "=", companyId)
    .where("kind", "=", "funds_added")
    .where("note", "=", reference)
    .limit(1)
    .executeTakeFirst()
  return row?.amount_micros ?? null
}

/** Lists the refunds of a charge, oldest first. @param revision the charge's own */
export async function listRefundsOf(
  db: Kysely<ChargeTables>,
  companyId: CompanyId,
  chargeId: ChargeId,
  revision: number,
): Promise<readonly ChargeRow[]> {
  return db
    .selectFrom("charges")
    .selectAll()
    .where("company_id", "=", companyId)
    .where("corrects", "=", chargeId)
    .where("revision", ">", revision)
    .orderBy("revision")
    .execute()
}
