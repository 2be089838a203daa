/**
 * Read model `charges`: the lines of bills. One row per event that changed the funds, in the order of decisions; a
 * charge's row includes its state and refunds.
 */
import type { Kysely, Transaction } from "kysely"
import { sql } from "kysely"
import type { ChargeId, CompanyId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type { ChargeRow, ChargeState } from "./charge-lines.ts"
import {
  CHARGES_TABLE,
  BILLED_FACT_TYPES,
  OPEN_CHARGES_TABLE,
  chargeRowOf,
} from "./charge-lines.ts"
import { unnestRows } from "../kernel/columns.ts"
import type { CompanyFact } from "../kernel/projection.ts"
import { companyFacts, defineReadModel } from "../kernel/projection.ts"
import type { RowsOf } from "../kernel/table.ts"
import { tablesOf } from "../kernel/table.ts"

export type { ChargeRow } from "./charge-lines.ts"
export { refundableChargeOf } from "./charge-lines.ts"

export type ChargeTables = RowsOf<typeof CHARGES_TABLE | typeof OPEN_CHARGES_TABLE>

/** The read model `charges`. */
export const chargesReadModel = defineReadModel({
  name: "charges",
  version: 6,
  on: ["ChargesSettled", ...BILLED_FACT_TYPES],
  ...tablesOf(CHARGES_TABLE, OPEN_CHARGES_TABLE),
  apply: async (tx: Transaction<ChargeTables>, facts) => {
    const lines: ChargeRow[] = []
    /** Indexes into `lines` of the newest charge of each id in this batch. */
    const indexes = new Map<string, number>()
    const endings: ChargeEnding[] = []
    for (const recorded of companyFacts(facts)) {
      const line = chargeRowOf(recorded)
      if (line !== null) lines.push(line)
      if (line !== null && line.charge_id !== null) indexes.set(chargeKey(line), lines.length - 1)
      for (const ending of endingsOf(recorded)) {
        const index = indexes.get(chargeKey(ending))
        // A charge that starts and ends in one batch is written once.
        if (index === undefined) endings.push(ending)
        else lines[index] = settledLine(lines[index] as ChargeRow, ending)
      }
    }
    const isOpen = ({ state }: ChargeRow) => state === "open"
    await CHARGES_TABLE.insert(
      tx,
      lines.map((line) => (isOpen(line) ? { ...line, state: "final" } : line)),
    )
    if (endings.length > 0) await endCharges(tx, endings)
    await OPEN_CHARGES_TABLE.insert(tx, lines.filter(isOpen).map(openOf))
  },
})

/** @throws RangeError if the line is not a charge */
function openOf({ company_id, charge_id, revision }: ChargeRow) {
  if (charge_id === null) throw new RangeError(`line ${revision} of ${company_id} is not a charge`)
  return { company_id, charge_id, revision }
}

const chargeKey = ({
  company_id,
  charge_id,
}: Pick<ChargeRow, "company_id" | "charge_id">): string => `${company_id} ${charge_id}`

function settledLine(line: ChargeRow, { given_back }: ChargeEnding): ChargeRow {
  if (given_back === null) return { ...line, state: "final" }
  const given_back_micros = line.given_back_micros + given_back
  const isFullyRefunded = given_back_micros === 0 - line.amount_micros
  return { ...line, given_back_micros, state: isFullyRefunded ? "given_back" : "final" }
}

/** The end of a charge: it was settled, or refunded at least in part. */
interface ChargeEnding {
  readonly company_id: CompanyId
  readonly charge_id: ChargeId
  readonly revision: number
  /** Null if it was settled. */
  readonly given_back: Micros | null
}

function endingsOf({
  fact,
  companyId: company_id,
  revision,
}: CompanyFact): readonly ChargeEnding[] {
  if (fact.type === "ChargesSettled") {
    return fact.chargeIds.map((charge_id) => ({
      company_id,
      charge_id,
      revision,
      given_back: null,
    }))
  }
  if (fact.type === "ChargeReduced") {
    const { chargeId: charge_id, amountMicros: given_back } = fact
    return [{ company_id, charge_id, revision, given_back }]
  }
  return []
}

/**
 * Applies ends to the newest earlier charge of each id, because an id may be used again after its charge has ended.
 * A partly refunded charge is settled.
 */
async function endCharges(
  tx: Transaction<ChargeTables>,
  endings: readonly ChargeEnding[],
): Promise<void> {
  await sql`
    delete from open_charges using ${asRows(endings)}
    where open_charges.company_id = ending.company_id
      and open_charges.charge_id = ending.charge_id
      and open_charges.revision < ending.revision`.execute(tx)
  const refunds = endings.filter(({ given_back }) => given_back !== null)
  if (refunds.length === 0) return
  await sql`
    update charges
    set given_back_micros = charges.given_back_micros + ended.micros,
        state = case when charges.given_back_micros + ended.micros = -charges.amount_micros
                     then 'given_back' else 'final' end
    from (
      select line.company_id, line.revision, sum(given_back)::bigint as micros
      from ${asRows(refunds)}
      cross join lateral (
        select company_id, revision from charges
        where charges.company_id = ending.company_id and charges.charge_id = ending.charge_id
          and charges.revision < ending.revision
        order by charges.revision desc limit 1
      ) as line
      group by line.company_id, line.revision
    ) as ended
    where charges.company_id = ended.company_id and charges.revision = ended.revision`.execute(tx)
}

const asRows = (endings: readonly ChargeEnding[]) =>
  unnestRows<ChargeEnding>(
    { company_id: "text", charge_id: "text", revision: "bigint", given_back: "bigint" },
    endings,
    "ending",
  )

/** All columns except for the state. */
const STORED = Object.keys(CHARGES_TABLE.columns).filter((name) => name !== "state") as Exclude<
  keyof ChargeRow,
  "state"
>[]

/** Selects the lines with their current states. */
export function selectChargeRows(db: Kysely<ChargeTables>) {
  const state = sql<ChargeState | null>`
    case when exists (
      select from open_charges as open
      where open.company_id = charges.company_id and open.charge_id = charges.charge_id
        and open.revision = charges.revision
    ) then 'open' else charges.state end`
  return db.selectFrom("charges").select(STORED).select(state.as("state"))
}

/** Finds the newest charge with this id; null if there is none. */
export async function findCharge(
  db: Kysely<ChargeTables>,
  companyId: CompanyId,
  chargeId: ChargeId,
): Promise<ChargeRow | null> {
  const row = await selectChargeRows(db)
    .where("company_id", "=", companyId)
    .where("charge_id", "=", chargeId)
    .orderBy("revision", "desc")
    .limit(1)
    .executeTakeFirst()
  return row ?? null
}

/** Returns the first two companies that have a charge with this id. */
export async function companiesOfCharge(
  db: Kysely<ChargeTables>,
  chargeId: ChargeId,
): Promise<readonly CompanyId[]> {
  const rows = await db
    .selectFrom("charges")
    .select("company_id")
    .distinct()
    .where("charge_id", "=", chargeId)
    .limit(2)
    .execute()
  return rows.map((row) => row.company_id)
}

/** Lists the pending charges of a company, or of all (null), oldest first. */
export async function listPendingCharges(
  db: Kysely<ChargeTables>,
  companyId: CompanyId | null,
): Promise<readonly ChargeRow[]> {
  const open = db
    .selectFrom("charges")
    .innerJoin("open_charges as open", (join) =>
      join
        .onRef("open.company_id", "=", "charges.company_id")
        .onRef("open.revision", "=", "charges.revision"),
    )
    .selectAll("charges")
  const rows = await (companyId === null ? open : open.where("charges.company_id", "=", companyId))
    .orderBy("charges.at")
    .orderBy("charges.company_id")
    .orderBy("charges.revision")
    .execute()
  return rows.map((row) => ({ ...row, state: "open" }))
}
