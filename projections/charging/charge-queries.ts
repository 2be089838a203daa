/** What operators ask of the read model `charges`. */
import type { Kysely } from "kysely"
import { sql } from "kysely"
import type { ChargeId, CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import { revisionBeforeInstant } from "./billing-lines.ts"
import type { ChargeRow } from "./charge-lines.ts"
import type { ChargeTables } from "./charges.ts"
import { selectChargeRows } from "./charges.ts"

/** Which charges are asked for; null wherever it does not matter. */
export interface ChargesQuery {
  readonly companyId: CompanyId
  /** Decided from the first of these instants on, and before the second. */
  readonly within: readonly [Date, Date] | null
  readonly keyId: KeyId | null
  readonly personId: PersonId | null
  readonly item: string | null
  /** The id of what was paid for, wherever that is found. */
  readonly resource: string | null
  /** Only those before this revision of the ledger. */
  readonly before: number | null
  readonly limit: number
}

/** The charges of a company, newest first. */
export async function listCharges(
  db: Kysely<ChargeTables>,
  { companyId, within, keyId, personId, item, resource, before, limit }: ChargesQuery,
): Promise<readonly ChargeRow[]> {
  let rows = selectChargeRows(db)
    .where("company_id", "=", companyId)
    .where("charge_id", "is not", null)
  if (within !== null) {
    // By revisions, so that what narrows the list is read in the order in which it is shown.
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

/** The first condition is that of the index; the second one is what is meant. */
function isOfResource(id: string) {
  return sql<boolean>`split_part(resource, '@', 1) = split_part(${id}, '@', 1)
    and (resource = ${id} or starts_with(resource, ${`${id}@`}))`
}

/** The revision of the last line before an instant; null where there is none from it on. */
function lastBefore(db: Kysely<ChargeTables>, companyId: CompanyId, at: Date) {
  return revisionBeforeInstant(db, companyId, new Date(at.getTime() - 1))
}

/** How much was added to a company's funds under a reference; null where none was. */
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

/** The lines that gave something of a charge back, in their order. @param revision the charge's own */
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
