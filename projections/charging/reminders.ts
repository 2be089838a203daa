/** Read model `reminders`: the amounts of limits that spending reached, each once per window. */
import type { Kysely, Transaction } from "kysely"
import type { Holder, SpendingClass } from "../../domain/charging/limits.ts"
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type { Period } from "../../domain/kernel/window.ts"
import type { Columns } from "../kernel/columns.ts"
import { insertRows } from "../kernel/columns.ts"
import type { CompanyRecorded, Projection } from "../kernel/projection.ts"
import { SPENDING_FACTS, ofCompanies } from "../kernel/projection.ts"

/** A reminder that was reached. */
export interface ReminderRow {
  readonly company_id: CompanyId
  /** Of its fact in the company's ledger. */
  readonly revision: number
  readonly at: Date
  readonly holder: Holder
  /** The person or key; null for the company's own limit. */
  readonly holder_id: PersonId | KeyId | null
  readonly class: SpendingClass | "all"
  readonly period: Period
  /** What the limit allowed then. */
  readonly limit_micros: Micros
  /** The amount that was reached. */
  readonly reminder_micros: Micros
  readonly used_micros: Micros
  readonly window_start: Date
  readonly resets_at: Date
}

interface Tables {
  reminders: ReminderRow
}

/** The read model. */
export const reminders: Projection = {
  name: "reminders",
  version: 1,
  categories: ["ledger"],
  ignores: SPENDING_FACTS,
  tables: ["reminders"],
  create: `
    create table reminders (
      company_id text not null,
      revision bigint not null,
      at timestamptz not null,
      holder text not null,
      holder_id text,
      class text not null,
      period text not null,
      limit_micros bigint not null,
      reminder_micros bigint not null,
      used_micros bigint not null,
      window_start timestamptz not null,
      resets_at timestamptz not null,
      primary key (company_id, revision)
    )`,
  apply: async (tx: Transaction<Tables>, facts) => {
    await insertRows(
      tx,
      "reminders",
      COLUMNS,
      ofCompanies(facts)
        .map(rowOf)
        .filter((row) => row !== null),
    )
  },
}

const COLUMNS: Columns<ReminderRow> = {
  company_id: "text",
  revision: "bigint",
  at: "timestamptz",
  holder: "text",
  holder_id: "text",
  class: "text",
  period: "text",
  limit_micros: "bigint",
  reminder_micros: "bigint",
  used_micros: "bigint",
  window_start: "timestamptz",
  resets_at: "timestamptz",
}

function rowOf({ fact, companyId, revision }: CompanyRecorded): ReminderRow | null {
  if (fact.type !== "ReminderReached") return null
  return {
    company_id: companyId,
    revision,
    at: new Date(fact.at),
    holder: fact.holder,
    holder_id: fact.holderId,
    class: fact.class,
    period: fact.period,
    limit_micros: fact.limitMicros,
    reminder_micros: fact.reminderMicros,
    used_micros: fact.usedMicros,
    window_start: new Date(fact.windowStart),
    resets_at: new Date(fact.resetsAt),
  }
}

/** The reminders of a company that were reached, newest first, at most `limit`. */
export async function listReminders(
  db: Kysely<Tables>,
  companyId: CompanyId,
  limit: number,
): Promise<readonly ReminderRow[]> {
  return db
    .selectFrom("reminders")
    .selectAll()
    .where("company_id", "=", companyId)
    .orderBy("revision", "desc")
    .limit(limit)
    .execute()
}
