/** Read model `things`: what a company ordered, one row a thing. */
import type { Kysely, Transaction } from "kysely"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { ofCompanies, readModel } from "../../../projections/kernel/projection.ts"
import type { RowOf, RowsOf } from "../../../projections/kernel/table.ts"
import { instant, madeOf, orNull, table, text } from "../../../projections/kernel/table.ts"
import type { ThingId, ThingOutcome } from "./thing.ts"

const THINGS = table(
  "things",
  {
    company_id: text<CompanyId>(),
    thing_id: text<ThingId>(),
    name: text(),
    outcome: orNull(text<ThingOutcome>()),
    ordered_at: instant(),
  },
  ["company_id", "thing_id"],
  "(company_id, ordered_at)",
)

type Tables = RowsOf<typeof THINGS>

declare module "../../../projections/kernel/table.ts" {
  interface ReadTables extends RowsOf<typeof THINGS> {}
}

/** The read model. */
export const shownThings = readModel({
  name: "things",
  version: 1,
  on: ["ThingOrdered", "ThingEnded"],
  ...madeOf(THINGS),
  apply: async (tx: Transaction<Tables>, facts) => {
    for (const { fact, companyId } of ofCompanies(facts)) {
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
export async function listThings(
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
