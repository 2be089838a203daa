/** Read model `companies`: each company's name, for operators who call it by name. */
import type { Kysely, Transaction } from "kysely"
import { sql } from "kysely"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Projection } from "../kernel/projection.ts"
import type { RowOf } from "../kernel/table.ts"
import { instant, orNull, text, table } from "../kernel/table.ts"

const COMPANIES = table(
  "companies",
  {
    company_id: text<CompanyId>(),
    name: orNull(text()),
    registered_at: instant(),
  },
  ["company_id"],
)

/** A company; `name` is null once it was erased. */
export type CompanyRow = RowOf<typeof COMPANIES>

interface Tables {
  companies: CompanyRow
}

/** The read model. */
export const companies: Projection = {
  name: "companies",
  version: 2,
  categories: ["companies"],
  tables: ["companies"],
  personal: ["companies"],
  create: COMPANIES.create,
  apply: async (tx: Transaction<Tables>, facts, opener) => {
    for (const { fact } of facts) {
      if (fact.type === "CompanyErased") {
        await sql`update companies set name = null where company_id = ${fact.companyId}`.execute(tx)
      }
      if (fact.type !== "CompanyRegistered") continue
      const { companyId: company_id, name, at } = fact
      const row = { company_id, name: await opener.open(company_id, name) }
      await tx
        .insertInto("companies")
        .values({ ...row, registered_at: new Date(at) })
        .execute()
    }
  },
}

/** All companies in the order they came. */
export async function listCompanies(db: Kysely<Tables>): Promise<readonly CompanyRow[]> {
  return db
    .selectFrom("companies")
    .selectAll()
    .orderBy("registered_at")
    .orderBy("company_id")
    .execute()
}
