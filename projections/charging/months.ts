/** Read model `months`: the closed months of each company, whose bills never change again. */
import type { Kysely, Transaction } from "kysely"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import { ofType, readModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import { bigint, instant, text, madeOf, table } from "../kernel/table.ts"

const MONTHS = table(
  "months",
  {
    company_id: text<CompanyId>(),
    /** `YYYY-MM`. */
    month: text(),
    opening_micros: bigint<Micros>(),
    added_micros: bigint<Micros>(),
    purchased_micros: bigint<Micros>(),
    corrected_micros: bigint<Micros>(),
    charged_micros: bigint<Micros>(),
    reduced_micros: bigint<Micros>(),
    funds_micros: bigint<Micros>(),
    /** How many charges there were. */
    charges: bigint(),
    /** The last fact before the closing: its revision and hash. */
    head_revision: bigint(),
    head_hash: text(),
    closed_at: instant(),
  },
  ["company_id", "month"],
)

/** A closed month: what it began with, what moved the funds in it, and what it left. */
export type MonthRow = RowOf<typeof MONTHS>

type Tables = RowsOf<typeof MONTHS>

declare module "../kernel/table.ts" {
  interface ReadTables extends RowsOf<typeof MONTHS> {}
}

/** The read model. */
export const months = readModel({
  name: "months",
  version: 1,
  on: ["MonthClosed"],
  ...madeOf(MONTHS),
  apply: async (tx: Transaction<Tables>, facts) => {
    const rows = ofType(facts, "MonthClosed").map(({ companyId, fact }) =>
      MONTHS.rowOf({ ...fact, companyId, closedAt: fact.at }),
    )
    await MONTHS.insert(tx, rows)
  },
})

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
