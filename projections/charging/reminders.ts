/** Read model `reminders`: the reminder amounts that spending reached, each once per window. */
import type { Kysely, Transaction } from "kysely"
import type { LimitHolder, SpendingClass } from "../../domain/charging/limits.ts"
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type { Period } from "../../domain/kernel/window.ts"
import { companyFactsOfType, defineReadModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import {
  bigintColumn,
  instantColumn,
  nullableColumn,
  textColumn,
  tablesOf,
  defineTable,
} from "../kernel/table.ts"

const REMINDERS = defineTable(
  "reminders",
  {
    company_id: textColumn<CompanyId>(),
    revision: bigintColumn(),
    at: instantColumn(),
    holder: textColumn<LimitHolder>(),
    /** The person or key; null for the company's own limit. */
    holder_id: nullableColumn(textColumn<PersonId | KeyId>()),
    class: textColumn<SpendingClass | "all">(),
    period: textColumn<Period>(),
    limit_micros: bigintColumn<Micros>(),
    reminder_micros: bigintColumn<Micros>(),
    used_micros: bigintColumn<Micros>(),
    window_start: instantColumn(),
    resets_at: instantColumn(),
  },
  ["company_id", "revision"],
)

export type ReminderRow = RowOf<typeof REMINDERS>

type Tables = RowsOf<typeof REMINDERS>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof REMINDERS> {}
}

/** The read model `reminders`. */
export const remindersReadModel = defineReadModel({
  name: "reminders",
  version: 1,
  on: ["ReminderReached"],
  ...tablesOf(REMINDERS),
  apply: async (tx: Transaction<Tables>, facts) => {
    const rows = companyFactsOfType(facts, "ReminderReached").map(({ companyId, revision, fact }) =>
      REMINDERS.rowOf({ ...fact, companyId, revision }),
    )
    await REMINDERS.insert(tx, rows)
  },
})

/** Lists the reached reminders of a company, newest first. */
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
