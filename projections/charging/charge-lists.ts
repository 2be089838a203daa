/** What operators ask of the read model `charges`. */
import type { Kysely } from "kysely"
import type { ChargeId, CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type { ChargeRow } from "./charge-lines.ts"
import type { ChargeTables } from "./charges.ts"

/** Which charges are asked for; null wherever it does not matter. */
export interface ChargesAsked {
  readonly companyId: CompanyId
  /** Decided from the first of these instants on, and before the second. */
  readonly within: readonly [Date, Date] | null
  readonly keyId: KeyId | null
  readonly personId: PersonId | null
  readonly item: string | null
  /** Only those before this revision of the ledger. */
  readonly before: number | null
  readonly limit: number
}

/** The charges of a company, newest first. */
export async function listCharges(
  db: Kysely<ChargeTables>,
  { companyId, within, keyId, personId, item, before, limit }: ChargesAsked,
): Promise<readonly ChargeRow[]> {
  let rows = db
    .selectFrom("charges")
    .selectAll()
    .where("company_id", "=", companyId)
    .where("charge_id", "is not", null)
  if (within !== null) rows = rows.where("at", ">=", within[0]).where("at", "<", within[1])
  if (keyId !== null) rows = rows.where("key_id", "=", keyId)
  if (personId !== null) rows = rows.where("person_id", "=", personId)
  if (item !== null) rows = rows.where("item", "=", item)
  if (before !== null) rows = rows.where("revision", "<", before)
  return rows.orderBy("revision", "desc").limit(limit).execute()
}

/** Whether a company was ever charged for an item of exactly this name. */
export async function wasCharged(
  db: Kysely<ChargeTables>,
  companyId: CompanyId,
  item: string,
): Promise<boolean> {
  const row = await db
    .selectFrom("charges")
    .select("revision")
    .where("company_id", "=", companyId)
    .where("charge_id", "is not", null)
    .where("item", "=", item)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** The items that a company was charged for, at most so many. */
export async function chargedItems(
  db: Kysely<ChargeTables>,
  companyId: CompanyId,
  limit: number,
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom("charges")
    .select("item")
    .distinct()
    .where("company_id", "=", companyId)
    .where("charge_id", "is not", null)
    .where("item", "is not", null)
    .orderBy("item")
    .limit(limit)
    .execute()
  return rows.flatMap(({ item }) => item ?? [])
}

/** How much was added to a company's funds under a reference; null where none was. */
export async function addedAs(
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
export async function giveBacksOf(
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
