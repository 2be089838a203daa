/** The lines of bills, read page by page from the read model `charges`. */
import type { Kysely } from "kysely"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type { ChargeRow, BillLineKind } from "./charge-lines.ts"
import type { ChargeTables } from "./charges.ts"

/** A line of a bill. Text is empty if the line has none. */
export interface BillLine {
  /** The revision of its event in the ledger, which orders the bill. */
  readonly revision: number
  readonly kind: BillLineKind
  readonly chargeId: string
  /** The charge that a refund corrects. */
  readonly corrects: string
  /** When that charge was decided, UTC milliseconds; null if unknown. */
  readonly correctedAt: number | null
  readonly at: number
  /** When the service started, UTC milliseconds; null if it is the time of the decision. */
  readonly servedFrom: number | null
  readonly item: string
  /** An integer in decimal. */
  readonly quantity: string
  readonly unitPriceMicros: string
  /** The change of the funds; negative for charges. */
  readonly amountMicros: Micros
  readonly personId: string
  readonly keyId: string
  readonly class: string
  readonly resource: string
  readonly priceVersion: string
  /** A reference of added funds, the reason of a refund or correction, or the id of a payment. */
  readonly description: string
}

/** A page of lines: revisions above `after` and at most `upTo`. */
export interface BillPageQuery {
  readonly companyId: CompanyId
  readonly after: number
  readonly upTo: number
  readonly limit: number
}

/**
 * Returns the revision after which the lines later than an instant start; lines are ordered by time. Null if there
 * is no later line.
 */
export async function revisionBeforeInstant(
  db: Kysely<ChargeTables>,
  companyId: CompanyId,
  since: Date,
): Promise<number | null> {
  const row = await db
    .selectFrom("charges")
    .select("revision")
    .where("company_id", "=", companyId)
    .where("at", ">", since)
    .orderBy("at")
    .orderBy("revision")
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? null : row.revision - 1
}

/**
 * Lists the next lines of a bill in the order they were decided.
 *
 * @param db reads as the owner, or as the company whose bill it is
 */
export async function listBillLines(
  db: Kysely<ChargeTables>,
  { companyId, after, upTo, limit }: BillPageQuery,
): Promise<readonly BillLine[]> {
  const rows = await db
    .selectFrom("charges")
    .selectAll()
    .where("company_id", "=", companyId)
    .where("revision", ">", after)
    .where("revision", "<=", upTo)
    .orderBy("revision")
    .limit(limit)
    .execute()
  return rows.map((row) => billLineOf(row))
}

/** Converts a row to a line of a bill; a refund includes the time of the charge that it corrects. */
export function billLineOf(row: ChargeRow, correctedAt: number | null = null): BillLine {
  return {
    revision: row.revision,
    kind: row.kind,
    chargeId: row.charge_id ?? "",
    corrects: row.corrects ?? "",
    correctedAt,
    at: row.at.getTime(),
    servedFrom: row.served_from?.getTime() ?? null,
    item: row.item ?? "",
    quantity: String(row.quantity ?? ""),
    unitPriceMicros: String(row.unit_price_micros ?? ""),
    amountMicros: row.amount_micros,
    personId: row.person_id ?? "",
    keyId: row.key_id ?? "",
    class: row.class ?? "",
    resource: row.resource ?? "",
    priceVersion: String(row.price_version ?? ""),
    description: row.note ?? "",
  }
}
