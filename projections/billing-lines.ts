/**
 * The bill, read from the read model `charges` page by page and up to a revision that stands still.
 *
 * A bill may have a million lines, so a page comes as one text a column and not as rows: PostgreSQL
 * joins the values, and cutting them apart again takes a fraction of what a driver needs for rows.
 */
import type { Kysely } from "kysely"
import { sql } from "kysely"
import type { CompanyId } from "../domain/kernel/ids.ts"
import type { Micros } from "../domain/kernel/money.ts"
import type { LineKind } from "./charge-lines.ts"
import type { ChargeTables } from "./charges.ts"

/** A line of a bill. Texts are empty where the line has none. */
export interface BillLine {
  /** The revision of its fact in the company's ledger: the order of the bill. */
  readonly revision: number
  readonly kind: LineKind
  readonly chargeId: string
  /** The charge that a give-back corrects. */
  readonly corrects: string
  /** When that charge was decided, UTC milliseconds; null on other lines. */
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
}

/** Which lines: those whose revision is above `after` and at most `upTo`. */
export interface BillPageAsked {
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
export async function revisionAt(
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

/** What stands between two values of a column. */
const SEPARATOR = "\u0001"

/**
 * The next lines of a bill in the order they were decided.
 *
 * @param db reads as the owner, or as the company whose bill it is
 */
export async function billPage(
  db: Kysely<ChargeTables>,
  asked: BillPageAsked,
): Promise<readonly BillLine[]> {
  const joined = COLUMNS.map((column, i) => {
    return sql`string_agg(coalesce((${column})::text, ''), ${SEPARATOR}) as ${sql.id(`c${i}`)}`
  })
  const { rows } = await sql<Readonly<Record<string, string | null>>>`
    select ${sql.join(joined)}
    from (select * from charges ${linesOf(asked)}) as charges`.execute(db)
  const [texts = {}] = rows
  const columns = COLUMNS.map((_column, i) => texts[`c${i}`]?.split(SEPARATOR) ?? [])
  return isWhole(columns) ? linesOfColumns(columns) : lineByLine(db, asked)
}

/**
 * Whether columns were cut where they were joined, and in order. A separator in a text only ever
 * makes more values of it, and revisions and amounts have none.
 */
function isWhole(columns: readonly (readonly string[])[]): boolean {
  const [revisions = []] = columns
  if (columns.some((values) => values.length !== revisions.length)) return false
  return revisions.every((revision, i) => i === 0 || Number(revisions[i - 1]) < Number(revision))
}

/** The same page as rows: slower, and right whatever stands in a text. */
async function lineByLine(
  db: Kysely<ChargeTables>,
  asked: BillPageAsked,
): Promise<readonly BillLine[]> {
  const cells = COLUMNS.map((column) => sql`coalesce((${column})::text, '')`)
  const { rows } = await sql<{ readonly cells: readonly string[] }>`
    select array[${sql.join(cells)}] as cells from charges ${linesOf(asked)}`.execute(db)
  return linesOfColumns(COLUMNS.map((_column, i) => rows.map((row) => row.cells[i] ?? "")))
}

function linesOf({ companyId, after, upTo, limit }: BillPageAsked) {
  return sql`
    where company_id = ${companyId} and revision > ${after} and revision <= ${upTo}
    order by revision limit ${limit}`
}

/** When the newest charge that a give-back can mean was decided. */
const CORRECTED_AT = sql`
  case when kind = 'give_back' then (
    select (date_part('epoch', charge.at) * 1000)::bigint from charges as charge
    where charge.company_id = charges.company_id and charge.charge_id = charges.corrects
      and charge.revision < charges.revision
    order by charge.revision desc limit 1) end`

/** Every column, in the order in which `linesOfColumns` takes them. */
const COLUMNS = [
  sql`revision`,
  sql`kind`,
  sql`charge_id`,
  sql`corrects`,
  CORRECTED_AT,
  sql`(date_part('epoch', at) * 1000)::bigint`,
  sql`(date_part('epoch', served_from) * 1000)::bigint`,
  sql`item`,
  sql`quantity`,
  sql`unit_price_micros`,
  sql`amount_micros`,
  sql`person_id`,
  sql`key_id`,
  sql`class`,
  sql`resource`,
  sql`price_version`,
]

function linesOfColumns(columns: readonly (readonly string[])[]): readonly BillLine[] {
  const [revisions = [], kinds = [], charges = [], corrected = [], correctedAts = []] = columns
  const [ats = [], servedFroms = [], items = [], quantities = [], prices = []] = columns.slice(5)
  const [amounts = [], people = [], keys = [], classes = []] = columns.slice(10)
  const [resources = [], versions = []] = columns.slice(14)
  return revisions.map((revision, i) => ({
    revision: Number(revision),
    kind: kinds[i] as LineKind,
    chargeId: charges[i] ?? "",
    corrects: corrected[i] ?? "",
    correctedAt: instantOf(correctedAts[i]),
    at: Number(ats[i]),
    servedFrom: instantOf(servedFroms[i]),
    item: items[i] ?? "",
    quantity: quantities[i] ?? "",
    unitPriceMicros: prices[i] ?? "",
    amountMicros: Number(amounts[i]),
    personId: people[i] ?? "",
    keyId: keys[i] ?? "",
    class: classes[i] ?? "",
    resource: resources[i] ?? "",
    priceVersion: versions[i] ?? "",
  }))
}

function instantOf(text: string | undefined): number | null {
  return text === undefined || text === "" ? null : Number(text)
}
