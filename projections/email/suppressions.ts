/** Read model `suppressions`: the recipients that companies must not write to. */
import type { Kysely, Transaction } from "kysely"
import type { AddressTag } from "../../domain/email/ids.ts"
import type { SuppressionFact } from "../../domain/email/suppressions.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { companyFacts, defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import {
  instantColumn,
  tablesOf,
  nullableColumn,
  defineTable,
  textColumn,
} from "../kernel/table.ts"

const SUPPRESSIONS = defineTable(
  "suppressions",
  {
    company_id: textColumn<CompanyId>(),
    tag: textColumn<AddressTag>(),
    /** Empty for all sending domains of the company. */
    sending_domain_id: textColumn(),
    recipient: nullableColumn(textColumn()),
    why: textColumn<SuppressionFact<"RecipientSuppressed">["reason"]>(),
    since: instantColumn(),
  },
  ["company_id", "tag", "sending_domain_id"],
)

/** A suppressed recipient; `recipient` is null once erased. */
export type SuppressionRow = RowOf<typeof SUPPRESSIONS>

type Tables = RowsOf<typeof SUPPRESSIONS>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof SUPPRESSIONS> {}
}

/** The read model `suppressions`. */
export const suppressionsReadModel = defineReadModel({
  name: "suppressions",
  version: 1,
  on: ["RecipientSuppressed", "SuppressionLifted"],
  ...tablesOf(SUPPRESSIONS),
  erased: { suppressions: ["recipient"] },
  apply: async (tx: Transaction<Tables>, facts, opener) => {
    for (const { fact, companyId } of companyFacts(facts)) {
      if (fact.type === "RecipientSuppressed") {
        const { tag, reason, at: since, sendingDomainId } = fact
        const recipient = await opener.unseal(companyId, fact.to)
        const row = { companyId, tag, why: reason, since, recipient }
        const from = { sendingDomainId: sendingDomainId ?? "" }
        await SUPPRESSIONS.insert(tx, [SUPPRESSIONS.rowOf({ ...row, ...from })])
      }
      if (fact.type === "SuppressionLifted") {
        await tx
          .deleteFrom("suppressions")
          .where("company_id", "=", companyId)
          .where("tag", "=", fact.tag)
          .execute()
      }
    }
  },
})

/** Lists a company's suppressed recipients, newest first. */
export async function listSuppressions(
  db: Kysely<Tables>,
  companyId: CompanyId,
  limit: number,
): Promise<readonly SuppressionRow[]> {
  return db
    .selectFrom("suppressions")
    .selectAll()
    .where("company_id", "=", companyId)
    .orderBy("since", "desc")
    .orderBy("tag")
    .limit(limit)
    .execute()
}
