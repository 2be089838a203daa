/** Read model `opt-ins`: who agreed to be texted, how and where, one row a form that was sent. */
import type { Kysely, Transaction } from "kysely"
import { sql } from "kysely"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { OptInMethod } from "../../domain/phone/recipient-events.ts"
import type { Projection } from "../kernel/projection.ts"
import { ofCompanies } from "../kernel/projection.ts"

/** An opt-in; `phone` and `first_name` are null once erased. */
export interface OptInRow {
  readonly company_id: CompanyId
  readonly opt_in_id: string
  readonly phone: string | null
  readonly first_name: string | null
  readonly service: string
  readonly offers: boolean
  readonly method: OptInMethod
  readonly source_url: string | null
  readonly opted_in_at: Date
}

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
  create: `
    create table opt_ins (
      company_id text not null,
      opt_in_id text not null,
      phone text,
      first_name text,
      service text not null,
      offers boolean not null,
      method text not null,
      source_url text,
      opted_in_at timestamptz not null,
      primary key (company_id, opt_in_id)
    );
    create index on opt_ins (company_id, opted_in_at)`,
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
