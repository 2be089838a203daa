/**
 * Read model `limits`: the limits, and spending by holder, class and window. As in the ledger, spending is summed
 * with or without a limit.
 */
import type { Kysely, QueryExecutorProvider, Transaction } from "kysely"
import { sql } from "kysely"
import type { LedgerFact } from "../../domain/charging/ledger-events.ts"
import type { LimitHolder, LimitReading, SpendingClass } from "../../domain/charging/limits.ts"
import type { CompanyId, KeyId, PersonId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type { Period } from "../../domain/kernel/window.ts"
import { windowEnd, windowsAt } from "../../domain/kernel/window.ts"
import type { ColumnTypes } from "../kernel/columns.ts"
import { columnList, unnestRows } from "../kernel/columns.ts"
import { companyFacts, defineReadModel } from "../kernel/projection.ts"
import type { SpendingSum } from "./spending.ts"
import { SPENDING_TABLE, addSpending, spendingIn, writeSpending } from "./spending.ts"
import type { RowOf, RowsOf } from "../kernel/table.ts"
import {
  bigintColumn,
  bigintArrayColumn,
  booleanColumn,
  textColumn,
  tablesOf,
  defineTable,
} from "../kernel/table.ts"

const LIMITS = defineTable(
  "limits",
  {
    company_id: textColumn<CompanyId>(),
    holder: textColumn<LimitHolder>(),
    holder_id: textColumn<PersonId | KeyId | "">(),
    class: textColumn<SpendingClass | "all">(),
    period: textColumn<Period>(),
    amount_micros: bigintColumn<Micros>(),
    reminders_micros: bigintArrayColumn(),
    leave_keys_out: booleanColumn(),
  },
  ["company_id", "holder", "holder_id", "class"],
)

/** A limit. `holder_id` is empty for the company's own. */
export type LimitRow = RowOf<typeof LIMITS>

type Tables = RowsOf<typeof LIMITS | typeof SPENDING_TABLE>

declare module "../kernel/table.ts" {
  interface ReadModelTables extends RowsOf<typeof LIMITS> {}
}

/** The read model `limits`. */
export const limitsReadModel = defineReadModel({
  name: "limits",
  version: 2,
  on: ["Charged", "ChargeReduced", "ApiCallsCounted", "LimitSet", "LimitRemoved"],
  ...tablesOf(LIMITS, SPENDING_TABLE),
  apply: async (tx: Transaction<Tables>, facts) => {
    const changed = new Map<string, LimitChange>()
    const spent = new Map<string, SpendingSum>()
    for (const { fact, companyId: company } of companyFacts(facts)) {
      if (fact.type === "LimitSet" || fact.type === "LimitRemoved") {
        const change = limitChange(company, fact)
        changed.set(`${company} ${change.holder} ${change.holder_id} ${change.class}`, change)
        continue
      }
      for (const spending of spendingIn(fact)) {
        addSpending(spent, company, fact.at, spending)
      }
    }
    await writeLimits(tx, [...changed.values()])
    await writeSpending(tx, [...spent.values()])
  },
})

type LimitChange = Omit<LimitRow, "reminders_micros" | "period"> & {
  readonly period: Period | null
  /** PostgreSQL's text of an array: an unnested column cannot be an array itself. */
  readonly reminders_micros: string
}

const LIMIT_COLUMNS: ColumnTypes<LimitChange> = { ...LIMITS.columns, reminders_micros: "text" }

function limitChange(
  company_id: CompanyId,
  fact: LedgerFact<"LimitSet" | "LimitRemoved">,
): LimitChange {
  const { holder, holderId, class: limited } = fact
  const name = { company_id, holder, holder_id: holderId ?? ("" as const), class: limited }
  if (fact.type === "LimitRemoved") {
    const nothing = { amount_micros: 0, reminders_micros: "{}", leave_keys_out: false }
    return { ...name, period: null, ...nothing }
  }
  return {
    ...name,
    period: fact.period,
    amount_micros: fact.amountMicros,
    reminders_micros: `{${fact.remindersMicros.join(",")}}`,
    leave_keys_out: fact.leaveKeysOut,
  }
}

/** Deletes all limits that a batch changes and inserts the remaining ones. */
async function writeLimits(
  tx: QueryExecutorProvider,
  changes: readonly LimitChange[],
): Promise<void> {
  if (changes.length === 0) return
  const given = unnestRows(LIMIT_COLUMNS, changes, "change")
  await sql`
    delete from limits using ${given}
    where limits.company_id = change.company_id and limits.holder = change.holder
      and limits.holder_id = change.holder_id and limits.class = change.class`.execute(tx)
  await sql`
    insert into limits (${columnList(Object.keys(LIMIT_COLUMNS))})
    select company_id, holder, holder_id, class, period, amount_micros,
           reminders_micros::bigint[], leave_keys_out
    from ${given}
    where period is not null`.execute(tx)
}

/** A limit with its usage in the windows around an instant. */
export type LimitStatus = Omit<LimitReading, "askedMicros" | "unrecordedMicros"> & {
  readonly leaveKeysOut: boolean
  readonly remindersMicros: readonly Micros[]
}

/** Lists all limits of a company at `at` (UTC milliseconds), in the order company, people, keys. */
export async function listLimitStatuses(
  db: Kysely<Tables>,
  companyId: CompanyId,
  at: number,
): Promise<readonly LimitStatus[]> {
  const rows = await db
    .selectFrom("limits")
    .leftJoin("spending", (join) =>
      join
        .onRef("spending.company_id", "=", "limits.company_id")
        .onRef("spending.holder", "=", "limits.holder")
        .onRef("spending.holder_id", "=", "limits.holder_id")
        .onRef("spending.class", "=", "limits.class")
        .onRef("spending.keys_out", "=", "limits.leave_keys_out")
        .onRef("spending.period", "=", "limits.period"),
    )
    .selectAll("limits")
    .select(["spending.window_start", "spending.spent_micros"])
    .where("limits.company_id", "=", companyId)
    .orderBy(sql`array_position(array['company', 'person', 'key'], limits.holder)`)
    .orderBy("limits.holder_id")
    .orderBy("limits.class")
    .execute()
  const windows = windowsAt(at)
  return rows.map((row) => {
    const isCurrent = row.window_start === windows[row.period]
    const usedMicros = isCurrent ? (row.spent_micros ?? 0) : 0
    return {
      holder: row.holder,
      holderId: row.holder_id === "" ? null : row.holder_id,
      class: row.class,
      period: row.period,
      amountMicros: row.amount_micros,
      usedMicros,
      remainingMicros: Math.max(0, row.amount_micros - usedMicros),
      windowStart: windows[row.period],
      resetsAt: windowEnd(windows, row.period),
      leaveKeysOut: row.leave_keys_out,
      remindersMicros: row.reminders_micros.map(Number),
    }
  })
}
