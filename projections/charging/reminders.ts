/** Read model `reminders`: the amounts of limits that spending reached, each once per window. */
import type { Kysely, Transaction } from "kysely"
import type { Holder, SpendingClass } from "../../domain/charging/limits.ts"
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type { Period } from "../../domain/kernel/window.ts"
import { ofType, readModel } from "../kernel/projection.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import { bigint, instant, orNull, text, madeOf, table } from "../kernel/table.ts"

const REMINDERS = table(
  "reminders",
  {
    company_id: text<CompanyId>(),
    /** Of its fact in the company's ledger. */
    revision: bigint(),
    at: instant(),
    holder: text<Holder>(),
    /** The person or key; null for the company's own limit. */
    holder_id: orNull(text<PersonId | KeyId>()),
    class: text<SpendingClass | "all">(),
    period: text<Period>(),
    /** What the limit allowed then. */
    limit_micros: bigint<Micros>(),
    /** The amount that was reached. */
    reminder_micros: bigint<Micros>(),
    used_micros: bigint<Micros>(),
    window_start: instant(),
    resets_at: instant(),
  },
  ["company_id", "revision"],
)

/** A reminder that was reached. */
export type ReminderRow = RowOf<typeof REMINDERS>

type Tables = RowsOf<typeof REMINDERS>

declare module "../kernel/table.ts" {
  interface ReadTables extends RowsOf<typeof REMINDERS> {}
}

/** The read model. */
export const reminders = readModel({
  name: "reminders",
  version: 1,
  on: ["ReminderReached"],
  ...madeOf(REMINDERS),
  apply: async (tx: Transaction<Tables>, facts) => {
    const rows = ofType(facts, "ReminderReached").map(({ companyId, revision, fact }) =>
      REMINDERS.rowOf({ ...fact, companyId, revision }),
    )
    await REMINDERS.insert(tx, rows)
  },
})

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
