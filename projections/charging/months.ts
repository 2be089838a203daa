/** Read model `months`: the closed months of each company, whose bills never change again. */
import type { Kysely, Transaction } from "kysely"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type { Columns } from "../kernel/columns.ts"
import { insertRows } from "../kernel/columns.ts"
import type { CompanyRecorded, Projection } from "../kernel/projection.ts"
import { SPENDING_FACTS, ofCompanies } from "../kernel/projection.ts"

/** A closed month: what it began with, what moved the funds in it, and what it left. */
export interface MonthRow {
  readonly company_id: CompanyId
  /** `YYYY-MM`. */
  readonly month: string
  readonly opening_micros: Micros
  readonly added_micros: Micros
  readonly purchased_micros: Micros
  readonly corrected_micros: Micros
  readonly charged_micros: Micros
  readonly given_back_micros: Micros
  readonly funds_micros: Micros
  /** How many charges there were. */
  readonly charges: number
  /** The last fact before the closing: its revision and hash. */
  readonly head_revision: number
  readonly head_hash: string
  readonly closed_at: Date
}

interface Tables {
  months: MonthRow
}

/** The read model. */
export const months: Projection = {
  name: "months",
  version: 1,
  categories: ["ledger"],
  ignores: SPENDING_FACTS,
  tables: ["months"],
  create: `
    create table months (
      company_id text not null,
      month text not null,
      opening_micros bigint not null,
      added_micros bigint not null,
      purchased_micros bigint not null,
      corrected_micros bigint not null,
      charged_micros bigint not null,
      given_back_micros bigint not null,
      funds_micros bigint not null,
      charges bigint not null,
      head_revision bigint not null,
      head_hash text not null,
      closed_at timestamptz not null,
      primary key (company_id, month)
    )`,
  apply: async (tx: Transaction<Tables>, facts) => {
    await insertRows(
      tx,
      "months",
      COLUMNS,
      ofCompanies(facts)
        .map(rowOf)
        .filter((row) => row !== null),
    )
  },
}

const COLUMNS: Columns<MonthRow> = {
  company_id: "text",
  month: "text",
  opening_micros: "bigint",
  added_micros: "bigint",
  purchased_micros: "bigint",
  corrected_micros: "bigint",
  charged_micros: "bigint",
  given_back_micros: "bigint",
  funds_micros: "bigint",
  charges: "bigint",
  head_revision: "bigint",
  head_hash: "text",
  closed_at: "timestamptz",
}

function rowOf({ fact, companyId }: CompanyRecorded): MonthRow | null {
  if (fact.type !== "MonthClosed") return null
  return {
    company_id: companyId,
    month: fact.month,
    opening_micros: fact.openingMicros,
    added_micros: fact.addedMicros,
    purchased_micros: fact.purchasedMicros,
    corrected_micros: fact.correctedMicros,
    charged_micros: fact.chargedMicros,
    given_back_micros: fact.givenBackMicros,
    funds_micros: fact.fundsMicros,
    charges: fact.charges,
    head_revision: fact.headRevision,
    head_hash: fact.headHash,
    closed_at: new Date(fact.at),
  }
}

/** The closed months of a company, oldest first. */
export async function closedMonths(
  db: Kysely<Tables>,
  companyId: CompanyId,
): Promise<readonly MonthRow[]> {
  return db
    .selectFrom("months")
    .selectAll()
    .where("company_id", "=", companyId)
    .orderBy("month")
    .execute()
}
