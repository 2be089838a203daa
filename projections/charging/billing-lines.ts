/** The lines of bills, and those of the read model `charges` page by page. */
import type { Kysely } from "kysely"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type { ChargeRow, BillLineKind } from "./charge-lines.ts"
import type { ChargeTables } from "./charges.ts"

/** A line of a bill. Texts are empty where the line has none. */
export interface BillLine {
  /** The revision of its fact in the company's ledger: the order of the bill. */
  readonly revision: number
  readonly kind: BillLineKind
  readonly chargeId: string
  /** The charge that a give-back corrects. */
  readonly corrects: string
  /** When that charge was decided, UTC milliseconds; null where it is not known. */
  readonly correctedAt: number | null
  /** When it was decided, UTC milliseconds. */
  readonly at: number
  /** When the service began, UTC milliseconds; null where it is the time of the decision. */
  readonly servedFrom: number | null
  readonly item: string
  /** A whole number in decimal. */
  readonly quantity: string
  readonly unitPriceMicros: string
  /** The change of the funds: charges are negative. */
  readonly amountMicros: Micros
  readonly personId: string
  readonly keyId: string
  readonly class: string
  readonly resource: string
  readonly priceVersion: string
  /** What the money was for: an adder's reference, why it came back or was corrected, a payment's id. */
  readonly description: string
}

/** Which lines: those whose revision is above `after` and at most `upTo`. */
export interface BillPageQuery {
  readonly companyId: CompanyId
  readonly after: number
  readonly upTo: number
  /** At most so many. */
  readonly limit: number
}

/**
 * The revision behind which the lines after an instant begin: lines are decided in the order of
 * their times. Null where there is no line after it.
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
 * The next lines of a bill in the order they were decided.
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

/** A row as a line of a bill; of a give-back with the time of the charge that it corrects. */
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
