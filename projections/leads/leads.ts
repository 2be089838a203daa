/**
 * Read model `leads`: the leads that a company's forms received, as callers list them.
 *
 * `created_at` is assigned here in global order: the event's time, or 1 ms after the company's newest lead if that
 * is later. So a reader who asks for rows after the newest seen one never misses any, and a rebuild gives the same
 * times (docs/decisions/api.md).
 */
import type { Kysely, Transaction } from "kysely"
import { sql } from "kysely"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { LeadFact, FormId, LeadId } from "../../domain/leads/lead-events.ts"
import { sqlArray } from "../kernel/columns.ts"
import type { FormTables } from "./forms.ts"
import type { CompanyFact, Unsealer } from "../kernel/projection.ts"
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

const LEADS = defineTable(
  "leads",
  {
    company_id: textColumn<CompanyId>(),
    lead_id: textColumn<LeadId>(),
    form_id: textColumn<FormId>(),
    content: nullableColumn(textColumn()),
    sms_consent: booleanColumn(),
    email_consent: booleanColumn(),
    created_at: instantColumn(),
    collected_at: nullableColumn(instantColumn()),
  },
  ["company_id", "lead_id"],
  "unique (company_id, created_at)",
)

/** A lead; `content` is JSON, null once erased. */
export type LeadRow = RowOf<typeof LEADS>

/** A lead in a list, with its form's name; null once erased. */
export interface ListedLead extends LeadRow {
  readonly form_name: string | null
}

type Tables = RowsOf<typeof LEADS>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof LEADS> {}
}

type Received = CompanyFact & { readonly fact: LeadFact<"LeadReceived"> }

/** The read model `leads`. */
export const leadsReadModel = defineReadModel({
  name: "leads",
  version: 1,
  on: ["LeadReceived", "CompanyErased", "LeadErased", "LeadsCollected"],
  ...tablesOf(LEADS),
  personalTables: ["leads"],
  apply: async (tx: Transaction<Tables>, facts, opener) => {
    let received: Received[] = []
    // The next event only applies to leads written before it.
    const write = async () => {
      await insertLeads(tx, received, opener)
      received = []
    }
    for (const recorded of facts) {
      const { fact, companyId } = recorded
      if (fact.type === "LeadReceived") {
        received.push(recorded as Received)
        continue
      }
      await write()
      if (fact.type === "CompanyErased") await blank(tx, fact.companyId, null)
      else if (companyId === null) continue
      else if (fact.type === "LeadErased") await blank(tx, companyId, fact.leadId)
      else if (fact.type === "LeadsCollected") {
        await sql`
          update leads set collected_at = ${new Date(fact.at)}
          where company_id = ${companyId} and lead_id = any(${sqlArray("text", fact.leadIds)})
            and collected_at is null`.execute(tx)
      }
    }
    await write()
  },
})

async function blank(
  tx: Transaction<Tables>,
  companyId: CompanyId,
  leadId: LeadId | null,
): Promise<void> {
  const ofLead = leadId === null ? sql`` : sql`and lead_id = ${leadId}`
  await sql`
    update leads set content = null, sms_consent = false, email_consent = false
    where company_id = ${companyId} ${ofLead}`.execute(tx)
}

async function insertLeads(
  tx: Transaction<Tables>,
  received: readonly Received[],
  opener: Unsealer,
): Promise<void> {
  if (received.length === 0) return
  const newest = await newestLeads(tx, [...new Set(received.map(({ companyId }) => companyId))])
  const rows = received.map(async ({ companyId, fact }): Promise<LeadRow> => {
    // `createdAt` is assigned in event order, before the first await.
    const createdAt = Math.max(fact.at, (newest.get(companyId) ?? 0) + 1)
    newest.set(companyId, createdAt)
    const content = await opener.unseal(companyId, fact.content)
    // A lead whose key is destroyed is stored as `blank` would leave it.
    const hasContent = content !== null
    return LEADS.rowOf({
      companyId,
      leadId: fact.leadId,
      formId: fact.formId,
      content,
      createdAt,
      smsConsent: hasContent && fact.smsConsent,
      emailConsent: hasContent && fact.emailConsent,
    })
  })
  await LEADS.insert(tx, await Promise.all(rows))
}

/** The times of each company's newest lead, UTC milliseconds. */
async function newestLeads(
  tx: Transaction<Tables>,
  companies: readonly CompanyId[],
): Promise<Map<CompanyId, number>> {
  const { rows } = await sql<Pick<LeadRow, "company_id" | "created_at">>`
    select newest.company_id, newest.created_at
    from unnest(${sqlArray("text", companies)}) as asked (company_id)
    cross join lateral (
      select company_id, created_at from leads
      where leads.company_id = asked.company_id order by created_at desc limit 1
    ) as newest`.execute(tx)
  return new Map(rows.map(({ company_id, created_at }) => [company_id, created_at.getTime()]))
}

/** Lists a company's leads after an instant, oldest first, joined with the read model `forms`. */
export async function listLeads(
  db: Kysely<Tables & FormTables>,
  companyId: CompanyId,
  after: Date | null,
  limit: number,
): Promise<readonly ListedLead[]> {
  const rows = db
    .selectFrom("leads")
    .leftJoin("forms", (join) =>
      join
        .onRef("forms.company_id", "=", "leads.company_id")
        .onRef("forms.form_id", "=", "leads.form_id"),
    )
    .selectAll("leads")
    .select("forms.name as form_name")
    .where("leads.company_id", "=", companyId)
    .orderBy("created_at")
    .limit(limit)
  return (after === null ? rows : rows.where("created_at", ">", after)).execute()
}

/** Returns the company of a lead; null if there is none. */
export async function companyOfLead(db: Kysely<Tables>, leadId: LeadId): Promise<CompanyId | null> {
  const found = db.selectFrom("leads").select("company_id").where("lead_id", "=", leadId)
  return (await found.executeTakeFirst())?.company_id ?? null
}
