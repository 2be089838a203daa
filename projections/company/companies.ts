/** Read model `companies`: the names of companies, for operators. */
import type { Kysely, Transaction } from "kysely"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import {
  instantColumn,
  nullableColumn,
  textColumn,
  tablesOf,
  defineTable,
} from "../kernel/table.ts"

const COMPANIES = defineTable(
  "companies",
  {
    company_id: textColumn<CompanyId>(),
    name: nullableColumn(textColumn()),
    registered_at: instantColumn(),
  },
  ["company_id"],
)

/** A company; `name` is null once erased. */
export type CompanyRow = RowOf<typeof COMPANIES>

type Tables = RowsOf<typeof COMPANIES>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof COMPANIES> {}
}

/** The read model `companies`. */
export const companiesReadModel = defineReadModel({
  name: "companies",
  version: 2,
  on: ["CompanyRegistered"],
  ...tablesOf(COMPANIES),
  erased: { companies: ["name"] },
  apply: async (tx: Transaction<Tables>, facts, opener) => {
    for (const { fact } of facts) {
      const name = await opener.unseal(fact.companyId, fact.name)
      await COMPANIES.insert(tx, [COMPANIES.rowOf({ ...fact, name, registeredAt: fact.at })])
    }
  },
})

/** Lists all companies, oldest first. */
export async function listCompanies(db: Kysely<Tables>): Promise<readonly CompanyRow[]> {
  return db
    .selectFrom("companies")
    .selectAll()
    .orderBy("registered_at")
    .orderBy("company_id")
    .execute()
}
