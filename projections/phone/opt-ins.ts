/** Read model `opt-ins`: who agreed to be texted, how and where, one row a form that was sent. */
import type { Kysely, Transaction } from "kysely"
import { sql } from "kysely"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { OptInMethod } from "../../domain/phone/recipient-events.ts"
import type { Projection } from "../kernel/projection.ts"
import { ofCompanies } from "../kernel/projection.ts"
import type { RowOf } from "../kernel/table.ts"
import { flag, instant, orNull, text, table } from "../kernel/table.ts"

const OPT_INS = table(
  "opt_ins",
  {
    company_id: text<CompanyId>(),
    opt_in_id: text(),
    phone: orNull(text()),
    first_name: orNull(text()),
    service: text(),
    offers: flag(),
    method: text<OptInMethod>(),
    source_url: orNull(text()),
    opted_in_at: instant(),
  },
  ["company_id", "opt_in_id"],
  "(company_id, opted_in_at)",
)

/** An opt-in; `phone` and `first_name` are null once erased. */
export type OptInRow = RowOf<typeof OPT_INS>

interface Tables {
  opt_ins: OptInRow
}

/** The read model. */
export const optIns: Projection = {
  name: "opt-ins",
  version: 1,
  categories: ["companies", "recipient"],
  ignores: [
    ...["OptOutAdded", "OptOutRemoved", "OptedInByText", "OptedOutByText", "TextReceived"],
    ...["TextAbandoned", "TextAccepted", "TextDelivered", "TextQueued", "TextRejected"],
    "TextUndelivered",
  ],
  tables: ["opt_ins"],
  personal: ["opt_ins"],
  create: OPT_INS.create,
  apply: async (tx: Transaction<Tables>, facts, opener) => {
    for (const { fact } of facts) {
      if (fact.type !== "CompanyErased") continue
      await sql`
        update opt_ins set phone = null, first_name = null, source_url = null
        where company_id = ${fact.companyId}`.execute(tx)
    }
    for (const { fact, companyId } of ofCompanies(facts)) {
      if (fact.type !== "OptedInByForm") continue
      const { optInId, service, offers, method, sourceUrl, at } = fact
      const row = {
        ...{ company_id: companyId, opt_in_id: optInId, service, offers, method },
        phone: await opener.open(companyId, fact.phone),
        first_name: await opener.open(companyId, fact.firstName),
        ...{ source_url: sourceUrl, opted_in_at: new Date(at) },
      }
      await tx.insertInto("opt_ins").values(row).execute()
    }
  },
}

/** The opt-ins of a company, newest first. Runs as the API: one company is seen. */
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
