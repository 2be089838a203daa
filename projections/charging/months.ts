/** Read model `months`: the closed months of each company, whose bills never change again. */
import type { Kysely, Transaction } from "kysely"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import { companyFactsOfType, defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import { bigintColumn, instantColumn, textColumn, tablesOf, defineTable } from "../kernel/table.ts"

const MONTHS = defineTable(
  "months",
  {
    company_id: textColumn<CompanyId>(),
    /** `YYYY-MM`. */
    month: textColumn(),
    opening_micros: bigintColumn<Micros>(),
    added_micros: bigintColumn<Micros>(),
    purchased_micros: bigintColumn<Micros>(),
    corrected_micros: bigintColumn<Micros>(),
    charged_micros: bigintColumn<Micros>(),
    reduced_micros: bigintColumn<Micros>(),
    funds_micros: bigintColumn<Micros>(),
    charges: bigintColumn(),
    /** Revision and hash of the last event before the closing. */
    head_revision: bigintColumn(),
    head_hash: textColumn(),
    closed_at: instantColumn(),
  },
  ["company_id", "month"],
)

/** A closed month: its opening funds, the sums that changed them, and its closing funds. */
export type MonthRow = RowOf<typeof MONTHS>

type Tables = RowsOf<typeof MONTHS>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof MONTHS> {}
}

/** The read model `months`. */
export const monthsReadModel = defineReadModel({
  name: "months",
  version: 1,
  on: ["MonthClosed"],
  ...tablesOf(MONTHS),
  apply: async (tx: Transaction<Tables>, facts) => {
    const rows = companyFactsOfType(facts, "MonthClosed").map(({ companyId, fact }) =>
      MONTHS.rowOf({ ...fact, companyId, closedAt: fact.at }),
    )
    await MONTHS.insert(tx, rows)
  },
})

/** Lists a company's closed months, oldest first. */
export async function listClosedMonths(
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
