/** Read model `repositories`: the companies that have a repository, according to the events. */
import type { Kysely, Transaction } from "kysely"
import { sql } from "kysely"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import { instantColumn, tablesOf, defineTable, textColumn } from "../kernel/table.ts"

const REPOSITORIES = defineTable(
  "repositories",
  { company_id: textColumn<CompanyId>(), made_at: instantColumn() },
  ["company_id"],
)

type RepositoryRow = RowOf<typeof REPOSITORIES>
type Tables = RowsOf<typeof REPOSITORIES>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof REPOSITORIES> {}
}

/** The read model `repositories`. */
export const repositoriesReadModel = defineReadModel({
  name: "repositories",
  version: 1,
  on: ["RepositoryErased", "RepositoryCreated"],
  ...tablesOf(REPOSITORIES),
  personalTables: [],
  apply: async (tx: Transaction<Tables>, facts) => {
    for (const { fact, companyId } of facts) {
      if (companyId === null) continue
      if (fact.type === "RepositoryErased") {
        await sql`delete from repositories where company_id = ${companyId}`.execute(tx)
      }
      if (fact.type !== "RepositoryCreated") continue
      await REPOSITORIES.insert(tx, [REPOSITORIES.rowOf({ companyId, madeAt: fact.at })])
    }
  },
})

/** Lists the companies that have a repository, by id. */
export async function listCompaniesWithRepository(
  db: Kysely<Tables>,
): Promise<readonly CompanyId[]> {
  const rows: readonly RepositoryRow[] = await db
    .selectFrom("repositories")
    .selectAll()
    .orderBy("company_id")
    .execute()
  return rows.map((row) => row.company_id)
}
