/** Read model `forms`: the company and title of each form, and the hosts that may send it. */
import type { Kysely, Transaction } from "kysely"
import { sql } from "kysely"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { FormId } from "../../domain/leads/lead-events.ts"
import { defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import {
  booleanColumn,
  instantColumn,
  tablesOf,
  nullableColumn,
  defineTable,
  textColumn,
} from "../kernel/table.ts"

const FORMS = defineTable(
  "forms",
  {
    company_id: textColumn<CompanyId>(),
    form_id: textColumn<FormId>(),
    name: nullableColumn(textColumn()),
    hostnames: nullableColumn(textColumn()),
    refuse_links: booleanColumn(),
    opened_at: instantColumn(),
    closed_at: nullableColumn(instantColumn()),
  },
  ["company_id", "form_id"],
  "(form_id)",
)

/** A form; its host names are separated by spaces. `name` and `hostnames` are null once erased. */
export type FormRow = RowOf<typeof FORMS>

/** The read model's table, for queries that join it. */
export type FormTables = RowsOf<typeof FORMS>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof FORMS> {}
}

/** The read model `forms`. */
export const formsReadModel = defineReadModel({
  name: "forms",
  version: 1,
  on: ["FormClosed", "FormOpened"],
  ...tablesOf(FORMS),
  erased: { forms: ["name", "hostnames"] },
  apply: async (tx: Transaction<FormTables>, facts, opener) => {
    for (const { fact, companyId } of facts) {
      if (companyId === null) continue
      if (fact.type === "FormClosed") {
        await sql`
          update forms set closed_at = ${new Date(fact.at)}
          where company_id = ${companyId} and form_id = ${fact.formId}`.execute(tx)
      } else {
        const open = (sealed: (typeof fact)["name"]) => opener.unseal(companyId, sealed)
        const hostnames = await Promise.all(fact.hostnames.map(open))
        const row = { ...fact, companyId, name: await open(fact.name), openedAt: fact.at }
        await FORMS.insert(tx, [
          FORMS.rowOf({ ...row, hostnames: hostnames.includes(null) ? null : hostnames.join(" ") }),
        ])
      }
    }
  },
})

/** Finds a form by id; null if there is none. Runs for all companies, because the form determines the company. */
export async function findForm(db: Kysely<FormTables>, formId: FormId): Promise<FormRow | null> {
  const found = db.selectFrom("forms").selectAll().where("form_id", "=", formId)
  return (await found.executeTakeFirst()) ?? null
}

/** Lists a company's forms, oldest first. */
export async function listForms(
  db: Kysely<FormTables>,
  companyId: CompanyId,
): Promise<readonly FormRow[]> {
  return db
    .selectFrom("forms")
    .selectAll()
    .where("company_id", "=", companyId)
    .orderBy("opened_at")
    .orderBy("form_id")
    .execute()
}
