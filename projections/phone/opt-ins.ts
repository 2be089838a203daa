/** Read model `opt-ins`: consents to texts, one row per submitted form. */
import type { Kysely, Transaction } from "kysely"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { OptInMethod } from "../../domain/phone/recipient-events.ts"
import { companyFactsOfType, defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import {
  booleanColumn,
  instantColumn,
  nullableColumn,
  textColumn,
  tablesOf,
  defineTable,
} from "../kernel/table.ts"

const OPT_INS = defineTable(
  "opt_ins",
  {
    company_id: textColumn<CompanyId>(),
    opt_in_id: textColumn(),
    phone: nullableColumn(textColumn()),
    first_name: nullableColumn(textColumn()),
    service: booleanColumn(),
    offers: booleanColumn(),
    method: textColumn<OptInMethod>(),
    source_url: nullableColumn(textColumn()),
    opted_in_at: instantColumn(),
  },
  ["company_id", "opt_in_id"],
  "(company_id, opted_in_at)",
)

/** An opt-in; `phone` and `first_name` are null once erased. */
export type OptInRow = RowOf<typeof OPT_INS>

type Tables = RowsOf<typeof OPT_INS>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof OPT_INS> {}
}

/** The read model `opt-ins`. */
export const optInsReadModel = defineReadModel({
  name: "opt-ins",
  version: 2,
  on: ["OptedInByForm"],
  ...tablesOf(OPT_INS),
  erased: { opt_ins: ["phone", "first_name", "source_url"] },
  apply: async (tx: Transaction<Tables>, facts, opener) => {
    for (const { fact, companyId } of companyFactsOfType(facts, "OptedInByForm")) {
      const phone = await opener.unseal(companyId, fact.phone)
      // Empty if the form had none.
      const firstName = (await opener.unseal(companyId, fact.firstName)) || null
      const row = { ...fact, companyId, phone, firstName, optedInAt: fact.at }
      await OPT_INS.insert(tx, [OPT_INS.rowOf(row)])
    }
  },
})

/** Lists a company's opt-ins, newest first. Runs as the API, which sees only its own company. */
export async function listOptIns(
  db: Kysely<Tables>,
  companyId: CompanyId,
  limit: number,
): Promise<readonly OptInRow[]> {
  return db
    .selectFrom("opt_ins")
    .selectAll()
    .where("company_id", "=", companyId)
    .orderBy("opted_in_at", "desc")
    .orderBy("opt_in_id", "desc")
    .limit(limit)
    .execute()
}
