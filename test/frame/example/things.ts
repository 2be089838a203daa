/** Read model `things`: the things that a company ordered, one row each. */
import type { Kysely, Transaction } from "kysely"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { companyFacts, defineReadModel } from "../../../projections/kernel/projection.ts"
import type { RowOf, RowsOf } from "../../../projections/kernel/table.ts"
import {
  instantColumn,
  tablesOf,
  nullableColumn,
  defineTable,
  textColumn,
} from "../../../projections/kernel/table.ts"
import type { ThingId, ThingOutcome } from "./thing.ts"

const THINGS = defineTable(
  "things",
  {
    company_id: textColumn<CompanyId>(),
    thing_id: textColumn<ThingId>(),
    name: textColumn(),
    outcome: nullableColumn(textColumn<ThingOutcome>()),
    ordered_at: instantColumn(),
  },
  ["company_id", "thing_id"],
  "(company_id, ordered_at)",
)

type Tables = RowsOf<typeof THINGS>

declare module "../../../projections/kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof THINGS> {}
}

/** The read model. */
export const thingsReadModel = defineReadModel({
  name: "things",
  version: 1,
  on: ["ThingOrdered", "ThingEnded"],
  ...tablesOf(THINGS),
  apply: async (tx: Transaction<Tables>, facts) => {
    for (const { fact, companyId } of companyFacts(facts)) {
      if (fact.type === "ThingOrdered") {
        const row = { ...fact, companyId, orderedAt: fact.at }
        await THINGS.insert(tx, [THINGS.rowOf(row)])
      } else if (fact.outcome !== "abandoned") {
        const { thingId: thing_id, outcome } = fact
        await THINGS.update(tx, ["outcome"], [{ company_id: companyId, thing_id, outcome }])
      }
    }
  },
})

/** Lists the things of a company, newest first. */
export async function selectThings(
  db: Kysely<Tables>,
  companyId: CompanyId,
  limit: number,
): Promise<readonly RowOf<typeof THINGS>[]> {
  return db
    .selectFrom("things")
    .selectAll()
    .where("company_id", "=", companyId)
    .orderBy("ordered_at", "desc")
    .orderBy("thing_id", "desc")
    .limit(limit)
    .execute()
}
