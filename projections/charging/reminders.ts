/** Read model `reminders`: the amounts of limits that spending reached, each once per window. */
import type { Kysely, Transaction } from "kysely"
import type { Holder, SpendingClass } from "../../domain/charging/limits.ts"
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type { Period } from "../../domain/kernel/window.ts"
import type { CompanyRecorded, Projection } from "../kernel/projection.ts"
import { SPENDING_FACTS, ofCompanies } from "../kernel/projection.ts"
import type { RowOf } from "../kernel/table.ts"
import { bigint, instant, orNull, text, table } from "../kernel/table.ts"

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
  create: REMINDERS.create,
  apply: async (tx: Transaction<Tables>, facts) => {
    await REMINDERS.insert(
      tx,
      ofCompanies(facts)
        .map(rowOf)
        .filter((row) => row !== null),
    )
  },
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
