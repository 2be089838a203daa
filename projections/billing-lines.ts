/**
 * The bill, read from the read model `charges` page by page and up to a revision that stands still.
 *
 * A bill may have a million lines, so a page comes as one text and not as rows: PostgreSQL joins the
 * cells, and cutting them apart again takes a fraction of what a driver needs to make objects.
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

/** What stands between two cells and between two lines. A text with one of these is read again. */
const CELL = "\u0001"
const LINE = "\u0002"
const CELLS = 16

/**
 * The next lines of a bill in the order they were decided.
 *
 * @param db reads as the owner, or as the company whose bill it is
 */
export async function billPage(
  db: Kysely<ChargeTables>,
  asked: BillPageAsked,
): Promise<readonly BillLine[]> {
  const cells = sql`concat_ws(${CELL}::text, ${sql.join(cellsOf((cell) => sql`coalesce(${cell}::text, '')`))})`
  const { rows } = await sql<{ readonly text: string | null; readonly lines: number }>`
    select string_agg(line.cells, ${LINE}::text order by line.revision) as text,
           count(*)::integer as lines
    from (select revision, ${cells} as cells ${linesOf(asked)}) as line`.execute(db)
  const { text = null, lines = 0 } = rows[0] ?? {}
  if (text === null) return []
  const cut = text.split(LINE).map((line) => line.split(CELL))
  // Separators inside a cell only ever make more of them.
  const isExact = cut.length === lines && cut.every((line) => line.length === CELLS)
  return (isExact ? cut : await cutExactly(db, asked)).map(lineOf)
}

/** The cells of the same page where a text has a separator in it: slower, and right in any case. */
async function cutExactly(
  db: Kysely<ChargeTables>,
  asked: BillPageAsked,
): Promise<readonly (readonly string[])[]> {
  const cells = sql`array[${sql.join(cellsOf((cell) => sql`coalesce(${cell}::text, '')`))}]`
  const { rows } = await sql<{ readonly cells: readonly string[] }>`
    select line.cells from (select revision, ${cells} as cells ${linesOf(asked)}) as line
    order by line.revision`.execute(db)
  return rows.map((row) => row.cells)
}

function linesOf({ companyId, after, upTo, limit }: BillPageAsked) {
  return sql`
    from charges
    where company_id = ${companyId} and revision > ${after} and revision <= ${upTo}
    order by revision limit ${limit}`
}

/** Every cell as SQL, in the order in which `lineOf` takes them. */
function cellsOf(wrapped: (cell: ReturnType<typeof sql>) => ReturnType<typeof sql>) {
  const correctedAt = sql`
    case when kind = 'give_back' then (
      select (date_part('epoch', charge.at) * 1000)::bigint from charges as charge
      where charge.company_id = charges.company_id and charge.charge_id = charges.corrects
        and charge.revision < charges.revision
      order by charge.revision desc limit 1) end`
  return [
    sql`revision`,
    sql`kind`,
    sql`charge_id`,
    sql`corrects`,
    correctedAt,
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
  ].map(wrapped)
}

function lineOf(cells: readonly string[]): BillLine {
  const cell = (index: number) => cells[index] ?? ""
  const instant = (text: string) => (text === "" ? null : Number(text))
  return {
    revision: Number(cell(0)),
    kind: cell(1) as LineKind,
    chargeId: cell(2),
    corrects: cell(3),
    correctedAt: instant(cell(4)),
    at: Number(cell(5)),
    servedFrom: instant(cell(6)),
    item: cell(7),
    quantity: cell(8),
    unitPriceMicros: cell(9),
    amountMicros: Number(cell(10)),
    personId: cell(11),
    keyId: cell(12),
    class: cell(13),
    resource: cell(14),
    priceVersion: cell(15),
  }
}
