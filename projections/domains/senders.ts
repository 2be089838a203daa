/** Read model `senders`: the sender addresses of a company's mails, and when each was last used. */
import type { Kysely, Transaction } from "kysely"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { companyFactsOfType, defineReadModel } from "../kernel/projection.ts"
import type { RowsOf } from "../kernel/table.ts"
import { instantColumn, tablesOf, defineTable, textColumn } from "../kernel/table.ts"

const SENDERS = defineTable(
  "senders",
  {
    company_id: textColumn<CompanyId>(),
    sender: textColumn(),
    last_sent_at: instantColumn(),
  },
  ["company_id", "sender"],
)

type Tables = RowsOf<typeof SENDERS>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof SENDERS> {}
}

/** The read model `senders`. */
export const sendersReadModel = defineReadModel({
  name: "senders",
  version: 1,
  on: ["MailAccepted"],
  ...tablesOf(SENDERS),
  erased: { senders: "rows" },
  apply: async (tx: Transaction<Tables>, facts, opener) => {
    for (const { fact, companyId } of companyFactsOfType(facts, "MailAccepted")) {
      const sender = await opener.unseal(companyId, fact.from)
      // The company was erased since.
      if (sender === null) continue
      await SENDERS.upsert(tx, [SENDERS.rowOf({ companyId, sender, lastSentAt: fact.at })])
    }
  },
})

/** Lists the sender addresses that a company used since a time, last used first. */
export async function listSenders(
  db: Kysely<Tables>,
  companyId: CompanyId,
  since: Date,
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom("senders")
    .select("sender")
    .where("company_id", "=", companyId)
    .where("last_sent_at", ">=", since)
    .orderBy("last_sent_at", "desc")
    .orderBy("sender")
    .execute()
  return rows.map(({ sender }) => sender)
}
